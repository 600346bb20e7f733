/*
  Aggregates across processes. A first star forest leads from vertices to their roots on other processes and brings the coarse numbers; a second one leads to the aggregates, which are
  few, and its multi star forest has a slot at the owner for each foreign member: rows of the near null space come through it, and rows of Q go back.
*/
#include "prolongator.h"
#include <petscsparsecuda/convert.h>

/* Lists the vertices with roots elsewhere; *nodes [num], to be freed, says where their roots are. */
static PetscErrorCode LocateRoots(Mat A, PetscInt row_block, DCSRAggregation a, cudaStream_t stream, ForeignMembers *f, PetscSFNode **nodes)
{
  PetscInt      *host = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((size_t)a.num_vertices + 1, "positions of vertices with roots on other processes", stream, &f->positions));
  PetscCall(PetscSparseCUDAMalloc(f->num, "vertices with roots on other processes", stream, &f->vertices));
  PetscCall(PetscSparseCUDAMalloc(f->num, "vertices with roots on other processes", stream, &f->parents));
  PetscCall(PetscSparseCUDAMalloc(f->num, "vertices with roots on other processes", stream, &f->groups));
  PetscCall(PetscSparseCUDAMallocExportable(f->num, "vertices with roots on other processes", stream, &f->numbers));
  PetscCall(DCSRAggregatesPositions(a, DCSR_ROOT_FOREIGN, f->positions, stream));
  PetscCall(DCSRAggregatesListForeign(a, f->positions, f->vertices, f->parents, f->groups, stream));
  PetscCall(PetscMalloc1(2 * f->num, &f->sent));
  PetscCall(PetscMalloc1(f->num, nodes));
  PetscCall(PetscMalloc1(f->num, &host));
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToHost(f->num, f->vertices, host, stream));
  for (PetscInt k = 0; k < f->num; k++) f->sent[2 * k] = a.begin + host[k];
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToHost(f->num, f->groups, host, stream));
  for (PetscInt k = 0; k < f->num; k++) f->sent[2 * k + 1] = host[k];
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToHost(f->num, f->parents, host, stream));
  for (PetscInt k = 0; k < f->num; k++) {
    PetscMPIInt owner;

    PetscCallGoto(ierr, cleanup, PetscLayoutFindOwnerIndex(A->rmap, host[k] * row_block, &owner, &(*nodes)[k].index));
    (*nodes)[k].rank = owner;
    (*nodes)[k].index /= row_block;
  }
cleanup:
  PetscCall(PetscFree(host));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A star forest with leaves one after the other; nodes belong to it, also after an error. Collective. */
static PetscErrorCode CreateSF(MPI_Comm comm, PetscInt num_roots, PetscInt num_leaves, PetscSFNode **nodes, PetscSF *sf)
{
  PetscSFNode *const remote = *nodes;

  PetscFunctionBegin;
  PetscCall(PetscSFCreate(comm, sf));
  PetscCall(PetscSFSetType(*sf, PETSCSFBASIC));
  *nodes = NULL;
  PetscCall(PetscSFSetGraph(*sf, num_roots, num_leaves, NULL, PETSC_OWN_POINTER, remote, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(*sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Local coarse numbers have come from the roots: they become global ones, and *nodes [num], to be freed, says where the aggregates are. */
static PetscErrorCode LocateAggregates(PetscLayout coarse, PetscInt num_columns, cudaStream_t stream, ForeignMembers *f, PetscSFNode **nodes)
{
  const PetscSFNode *owners;
  const PetscInt    *ranges;
  PetscInt          *numbers = NULL;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  PetscCall(PetscSFGetGraph(f->roots, NULL, NULL, NULL, &owners));
  PetscCall(PetscLayoutGetRanges(coarse, &ranges));
  PetscCall(PetscMalloc1(f->num, nodes));
  PetscCall(PetscMalloc1(f->num, &numbers));
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToHost(f->num, f->numbers, numbers, stream));
  for (PetscInt k = 0; k < f->num; k++) {
    (*nodes)[k].rank  = owners[k].rank;
    (*nodes)[k].index = numbers[k];
    numbers[k] += ranges[owners[k].rank] / num_columns;
  }
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToDevice(f->num, numbers, f->numbers, stream));
cleanup:
  PetscCall(PetscFree(numbers));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Foreign members, which came in pairs [members.num], in the order of their numbers. */
static PetscErrorCode SortMembers(PetscInt num_roots, PetscInt begin, const PetscInt pairs[], cudaStream_t stream, ForeignMembers *f)
{
  const PetscInt n = f->members.num;
  PetscInt      *ids, *slots, *roots, *arrays, slot = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &ids, n, &slots, n, &roots, 3 * n, &arrays));
  for (PetscInt k = 0; k < num_roots; k++)
    for (PetscInt d = 0; d < f->degree[k]; d++) roots[slot++] = k;
  for (PetscInt k = 0; k < n; k++) {
    ids[k]   = pairs[2 * k];
    slots[k] = k;
  }
  PetscCallGoto(ierr, cleanup, PetscSortIntWithArray(n, ids, slots));
  for (PetscInt k = 0; k < n; k++) {
    arrays[k]         = roots[slots[k]];
    arrays[n + k]     = pairs[2 * slots[k] + 1];
    arrays[2 * n + k] = slots[k];
    f->members.num_below += ids[k] < begin;
  }
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(3 * (size_t)n, "members of aggregates on other processes", stream, &f->arrays));
  PetscCallGoto(ierr, cleanup, DCSRCopyColumnsToDevice(3 * (PetscCount)n, arrays, f->arrays, stream));
  f->members.numbers = f->arrays;
  f->members.groups  = PetscSafePointerPlusOffset(f->arrays, n);
  f->members.slots   = PetscSafePointerPlusOffset(f->arrays, 2 * n);
cleanup:
  PetscCall(PetscFree4(ids, slots, roots, arrays));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Owners learn which members they have on other processes. Collective. */
static PetscErrorCode GatherMembers(PetscInt num_roots, PetscInt begin, cudaStream_t stream, ForeignMembers *f)
{
  PetscInt      *pairs;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * f->members.num, &pairs));
  PetscCallGoto(ierr, cleanup, PetscSFReduceBegin(f->multi, MPIU_2INT, f->sent, pairs, MPI_REPLACE));
  PetscCallGoto(ierr, cleanup, PetscSFReduceEnd(f->multi, MPIU_2INT, f->sent, pairs, MPI_REPLACE));
  ierr = SortMembers(num_roots, begin, pairs, stream, f);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)f->multi), ierr, &ierr));
cleanup:
  PetscCall(PetscFree(pairs));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ForeignMembersCreate - Finds the aggregates of vertices whose roots are on other processes, and the members that other processes have. Collective
  num_foreign vertices of this process have roots on others. numbers [num_vertices], device and exportable, are of DCSRAggregatesNumber(). coarse is the layout of the prolongator's columns, of which
  an aggregate has num_columns. members says whether the members are wanted, and not only how many each aggregate has.
  f is to be freed with ForeignMembersDestroy(), also after an error. Errors are the same on all processes or on none.
  Cost: proportional to the vertices with roots elsewhere, on host and device, and one pass over all vertices on the device.
*/
PetscErrorCode ForeignMembersCreate(Mat A, PetscInt row_block, DCSRAggregation a, PetscInt num_foreign, const int32_t numbers[], PetscLayout coarse, PetscInt num_columns, PetscBool members,
                                    cudaStream_t stream, ForeignMembers *f)
{
  const MPI_Comm comm  = PetscObjectComm((PetscObject)A);
  PetscSFNode   *nodes = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(f, 1));
  f->num = num_foreign;
  ierr   = LocateRoots(A, row_block, a, stream, f, &nodes);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, CreateSF(comm, a.num_vertices, f->num, &nodes, &f->roots));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDASFBcast(f->roots, MPI_INT, numbers, f->numbers, stream));
  ierr = LocateAggregates(coarse, num_columns, stream, f, &nodes);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr != PETSC_SUCCESS) goto cleanup;
  PetscCallGoto(ierr, cleanup, CreateSF(comm, a.num_roots, f->num, &nodes, &f->aggregates));
  PetscCallGoto(ierr, cleanup, PetscSFComputeDegreeBegin(f->aggregates, &f->degree));
  PetscCallGoto(ierr, cleanup, PetscSFComputeDegreeEnd(f->aggregates, &f->degree));
  for (PetscInt k = 0; k < a.num_roots; k++) f->members.num += f->degree[k];
  if (members) {
    PetscCallGoto(ierr, cleanup, PetscSFGetMultiSF(f->aggregates, &f->multi));
    PetscCallGoto(ierr, cleanup, GatherMembers(a.num_roots, a.begin, stream, f));
  }
cleanup:
  PetscCall(PetscFree(nodes));
  PetscCall(PetscFree(f->sent));
  PetscCall(PetscSFDestroy(&f->roots));
  PetscCall(PetscSparseCUDAFree(&f->parents, stream));
  PetscCall(PetscSparseCUDAFree(&f->groups, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ForeignMembersDestroy - Frees what ForeignMembersCreate() made; zero afterwards. Collective. */
PetscErrorCode ForeignMembersDestroy(ForeignMembers *f, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(f->sent));
  PetscCall(PetscSFDestroy(&f->roots));
  PetscCall(PetscSFDestroy(&f->aggregates));
  PetscCall(PetscSparseCUDAFree(&f->positions, stream));
  PetscCall(PetscSparseCUDAFree(&f->vertices, stream));
  PetscCall(PetscSparseCUDAFree(&f->parents, stream));
  PetscCall(PetscSparseCUDAFree(&f->groups, stream));
  PetscCall(PetscSparseCUDAFree(&f->numbers, stream));
  PetscCall(PetscSparseCUDAFree(&f->arrays, stream));
  PetscCall(PetscArrayzero(f, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateUnit(PetscInt n, MPI_Datatype of, MPI_Datatype *unit)
{
  PetscMPIInt count;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(n, &count));
  PetscCallMPI(MPI_Type_contiguous(count, of, unit));
  PetscCallMPI(MPI_Type_commit(unit));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ForeignMembersGatherData - Rows of the near null space travel to the owners of the aggregates; f was made with members. Collective
  packed [num][n]: n numbers for each vertex of this process with its root elsewhere. received [members.num][n]: of the foreign members, by slot. Both are exportable device memory.
*/
PetscErrorCode ForeignMembersGatherData(ForeignMembers *f, PetscInt n, PetscReal packed[], PetscReal received[], cudaStream_t stream)
{
  MPI_Datatype   unit;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateUnit(n, MPIU_REAL, &unit));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDASFReduce(f->multi, unit, PETSC_MEMTYPE_CUDA, packed, PETSC_MEMTYPE_CUDA, received, stream));
cleanup:
  PetscCallMPI(MPI_Type_free(&unit));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ForeignMembersScatterValues - Rows of Q travel back to the processes that have the vertices; f was made with members. Collective
  values [members.num][n]: n values for each foreign member, by slot. received [num][n]: of the vertices of this process with roots elsewhere. Both are exportable device memory.
*/
PetscErrorCode ForeignMembersScatterValues(ForeignMembers *f, PetscInt n, PetscScalar values[], PetscScalar received[], cudaStream_t stream)
{
  MPI_Datatype   unit;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateUnit(n, MPIU_SCALAR, &unit));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDASFBcast(f->multi, unit, values, received, stream));
cleanup:
  PetscCallMPI(MPI_Type_free(&unit));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ForeignMembersBcastCounts - Sizes of aggregates, counts [num_roots] device, travel to the vertices with roots elsewhere, received [num] device, both exportable. Collective. */
PetscErrorCode ForeignMembersBcastCounts(ForeignMembers *f, int32_t counts[], int32_t received[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDASFBcast(f->aggregates, MPI_INT, counts, received, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
