/*
  Aggregates across processes. Owners of roots learn which vertices elsewhere belong to these, and tell their coarse numbers. Later rows of the near null space travel to the owners, and rows of Q or
  the sizes of the aggregates come back, in one message between two processes.
*/
#include "prolongator.h"
#include <petscsparsecuda/convert.h>

/* The vertices with roots elsewhere, by position; all owned. */
typedef struct {
  int32_t  *device[3]; /* vertices, roots and groups */
  PetscInt *host[3];   /* the same; vertices and groups when members are wanted */
  PetscInt *wanted;    /* rows of the roots, as they travel */
  PetscInt *sent;      /* pairs of global number and group, as they travel; NULL unless members are wanted */
  PetscInt *pairs;     /* the same of foreign members, by slot */
} ForeignLists;

static PetscErrorCode ListsDestroy(ForeignLists *l, cudaStream_t stream)
{
  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(PetscSparseCUDAFree(&l->device[k], stream));
    PetscCall(PetscFree(l->host[k]));
  }
  PetscCall(PetscFree(l->wanted));
  PetscCall(PetscFree(l->sent));
  PetscCall(PetscFree(l->pairs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The order in which they travel. */
static PetscErrorCode SortByOwner(PetscLayout rows, PetscInt row_block, PetscInt n, const PetscInt roots[], PetscInt order[])
{
  PetscMPIInt size, *owners, owner = 0;
  PetscInt   *next;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(rows->comm, &size));
  PetscCall(PetscMalloc2(n, &owners, size + 1, &next));
  PetscCall(PetscArrayzero(next, size + 1));
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt row = roots[k] * row_block;

    if (row < rows->range[owner] || row >= rows->range[owner + 1]) PetscCall(PetscLayoutFindOwner(rows, row, &owner));
    owners[k] = owner;
    next[owner + 1]++;
  }
  for (PetscMPIInt r = 0; r < size; r++) next[r + 1] += next[r];
  for (PetscInt k = 0; k < n; k++) order[next[owners[k]]++] = k;
  PetscCall(PetscFree2(owners, next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lists the vertices with roots elsewhere, and how they travel. */
static PetscErrorCode ListForeign(PetscLayout rows, PetscInt row_block, DCSRAggregation a, PetscBool members, cudaStream_t stream, ForeignMembers *f, ForeignLists *l)
{
  const PetscInt n = f->num;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((size_t)a.num_vertices + 1, "positions of vertices with roots on other processes", stream, &f->positions));
  PetscCall(PetscSparseCUDAMalloc(n, "coarse numbers on other processes", stream, &f->numbers));
  for (int k = 0; k < 3; k++) {
    PetscCall(PetscSparseCUDAMalloc(n, "vertices with roots on other processes", stream, &l->device[k]));
    PetscCall(PetscMalloc1(n, &l->host[k]));
  }
  PetscCall(DCSRAggregatesPositions(a, DCSR_ROOT_FOREIGN, f->positions, stream));
  PetscCall(DCSRAggregatesListForeign(a, f->positions, l->device[0], l->device[1], l->device[2], stream));
  for (int k = 0; k < 3; k++)
    if (k == 1 || members) PetscCall(DCSRCopyColumnsToHost(n, l->device[k], l->host[k], stream));
  PetscCall(PetscMalloc1(n, &f->order));
  PetscCall(PetscMalloc1(n, &l->wanted));
  PetscCall(SortByOwner(rows, row_block, n, l->host[1], f->order));
  for (PetscInt k = 0; k < n; k++) l->wanted[k] = l->host[1][f->order[k]] * row_block;
  if (!members) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc1(2 * n, &l->sent));
  for (PetscInt k = 0; k < n; k++) {
    l->sent[2 * k]     = a.begin + l->host[0][f->order[k]];
    l->sent[2 * k + 1] = l->host[2][f->order[k]];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse numbers of the roots that others want, for their messages; they are global ones from begin on. */
static PetscErrorCode GatherNumbers(PetscInt row_block, const int32_t numbers[], PetscInt begin, PetscBool members, cudaStream_t stream, ForeignMembers *f, ForeignLists *l)
{
  const PetscInt n     = f->messages.num_rows[0];
  PetscInt      *roots = f->messages.roots;

  PetscFunctionBegin;
  f->members.num = n;
  PetscCall(PetscMalloc1(n, &f->host[0]));
  PetscCall(PetscMalloc1(f->num, &f->host[1]));
  if (members) PetscCall(PetscMalloc1(2 * n, &l->pairs));
  for (PetscInt k = 0; k < n; k++) roots[k] /= row_block;
  PetscCall(PetscSparseCUDAMalloc(n, "aggregates with members on other processes", stream, &f->aggregates));
  PetscCall(PetscSparseCUDAMalloc(n, "roots of members on other processes", stream, &f->scratch));
  PetscCall(DCSRCopyColumnsToDevice(n, roots, f->scratch, stream));
  PetscCall(DCSRAggregatesGather(n, f->scratch, numbers, f->aggregates, stream));
  PetscCall(DCSRCopyColumnsToHost(n, f->aggregates, f->host[0], stream));
  for (PetscInt k = 0; k < n; k++) f->host[0][k] += begin;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that have come go to the device, by position. */
static PetscErrorCode PutNumbers(const ForeignMembers *f, cudaStream_t stream, int32_t device[])
{
  PetscInt *ordered;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(f->num, &ordered));
  for (PetscInt k = 0; k < f->num; k++) ordered[f->order[k]] = f->host[1][k];
  PetscCall(DCSRCopyColumnsToDevice(f->num, ordered, device, stream));
  PetscCall(PetscFree(ordered));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vertices as they travel, and where positions travel unless that is the same. */
static PetscErrorCode PutOrder(ForeignMembers *f, const ForeignLists *l, cudaStream_t stream)
{
  PetscInt *places, *vertices;
  PetscBool same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(f->num, &places, f->num, &vertices));
  for (PetscInt k = 0; k < f->num; k++) {
    places[f->order[k]] = k;
    vertices[k]         = l->host[0][f->order[k]];
    if (f->order[k] != k) same = PETSC_FALSE;
  }
  PetscCall(PetscSparseCUDAMalloc(f->num, "vertices with roots on other processes", stream, &f->vertices));
  PetscCall(DCSRCopyColumnsToDevice(f->num, vertices, f->vertices, stream));
  if (!same) {
    PetscCall(PetscSparseCUDAMalloc(f->num, "vertices with roots on other processes", stream, &f->places));
    PetscCall(DCSRCopyColumnsToDevice(f->num, places, f->places, stream));
  }
  PetscCall(PetscFree2(places, vertices));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Foreign members in the order of their numbers; local numbers of aggregates are those that were sent without first, vertices of this process begin with begin. */
static PetscErrorCode SortMembers(PetscInt first, PetscInt begin, const PetscInt pairs[], cudaStream_t stream, ForeignMembers *f)
{
  const PetscInt n = f->members.num;
  PetscInt      *ids, *slots, *arrays;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &ids, n, &slots, 3 * n, &arrays));
  for (PetscInt k = 0; k < n; k++) {
    ids[k]   = pairs[2 * k];
    slots[k] = k;
  }
  PetscCall(PetscSortIntWithArray(n, ids, slots));
  for (PetscInt k = 0; k < n; k++) {
    arrays[k]         = f->host[0][slots[k]] - first;
    arrays[n + k]     = pairs[2 * slots[k] + 1];
    arrays[2 * n + k] = slots[k];
    f->members.num_below += ids[k] < begin;
  }
  PetscCall(PetscSparseCUDAMalloc(3 * (size_t)n, "members of aggregates on other processes", stream, &f->arrays));
  PetscCall(DCSRCopyColumnsToDevice(3 * (PetscCount)n, arrays, f->arrays, stream));
  f->members.numbers = f->arrays;
  f->members.groups  = PetscSafePointerPlusOffset(f->arrays, n);
  f->members.slots   = PetscSafePointerPlusOffset(f->arrays, 2 * n);
  PetscCall(PetscFree3(ids, slots, arrays));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ForeignMembersCreate - Finds the aggregates of vertices whose roots are on other processes, and the members that other processes have. Collective
  num_foreign vertices of this process have roots on others. numbers [num_vertices], device, are of DCSRAggregatesNumber(). coarse is the layout of the prolongator's columns, of which an aggregate has
  num_columns. members says whether the members are wanted, and not only how many each aggregate has.
  f is to be freed with ForeignMembersDestroy(), also after an error. Errors are the same on all processes or on none.
  Cost: proportional to the vertices with roots elsewhere, on host and device, and one pass over all vertices on the device.
*/
PetscErrorCode ForeignMembersCreate(Mat A, PetscInt row_block, DCSRAggregation a, PetscInt num_foreign, const int32_t numbers[], PetscLayout coarse, PetscInt num_columns, PetscBool members,
                                    cudaStream_t stream, ForeignMembers *f)
{
  const MPI_Comm comm  = PetscObjectComm((PetscObject)A);
  const PetscInt first = coarse->rstart / num_columns;
  ForeignLists   l     = {{NULL}};
  RowMessages    back;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(f, 1));
  f->num = num_foreign;
  ierr   = ListForeign(A->rmap, row_block, a, members, stream, f, &l);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = RowMessagesCreate(A->rmap, f->num, l.wanted, PETSC_TRUE, &f->messages);
  if (ierr == PETSC_SUCCESS) ierr = GatherNumbers(row_block, numbers, first, members, stream, f, &l);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
  PetscCallGoto(ierr, cleanup, ierr);
  PetscCallGoto(ierr, cleanup, RowMessagesExchangeHost(&f->messages, MPIU_INT, f->host[0], f->host[1]));
  if (members) {
    back = RowMessagesReversed(&f->messages);
    PetscCallGoto(ierr, cleanup, RowMessagesExchangeHost(&back, MPIU_2INT, l.sent, l.pairs));
  }
  ierr = PutNumbers(f, stream, f->numbers);
  if (ierr == PETSC_SUCCESS && members) ierr = PutOrder(f, &l, stream);
  if (ierr == PETSC_SUCCESS && members) ierr = SortMembers(first, a.begin, l.pairs, stream, f);
  PetscCall(PetscSparseCUDAAgree(comm, ierr, &ierr));
cleanup:
  PetscCall(ListsDestroy(&l, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ForeignMembersDestroy - Frees what ForeignMembersCreate() made; zero afterwards. Collective. */
PetscErrorCode ForeignMembersDestroy(ForeignMembers *f, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(RowMessagesDestroy(&f->messages));
  PetscCall(PetscFree(f->order));
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(f->host[k]));
  PetscCall(PetscSparseCUDAFree(&f->positions, stream));
  PetscCall(PetscSparseCUDAFree(&f->vertices, stream));
  PetscCall(PetscSparseCUDAFree(&f->numbers, stream));
  PetscCall(PetscSparseCUDAFree(&f->places, stream));
  PetscCall(PetscSparseCUDAFree(&f->aggregates, stream));
  PetscCall(PetscSparseCUDAFree(&f->scratch, stream));
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
  packed [num][n]: n numbers for each vertex of this process with its root elsewhere, in the order of f->vertices. received [members.num][n]: of the foreign members, by slot. Both are exportable
  device
  memory.
*/
PetscErrorCode ForeignMembersGatherData(const ForeignMembers *f, PetscInt n, const PetscReal packed[], PetscReal received[], cudaStream_t stream)
{
  const RowMessages back = RowMessagesReversed(&f->messages);
  MPI_Datatype      unit;
  PetscErrorCode    ierr;

  PetscFunctionBegin;
  PetscCall(CreateUnit(n, MPIU_REAL, &unit));
  PetscCallGoto(ierr, cleanup, RowMessagesExchange(&back, unit, packed, received, stream));
cleanup:
  PetscCallMPI(MPI_Type_free(&unit));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  ForeignMembersScatterValues - Rows of Q travel back to the processes that have the vertices; f was made with members. Collective
  sent [members.num][n]: n values for each foreign member, by slot; received [num][n] is room for what comes: both are exportable device memory. values [num][n], device: of the vertices of this
  process
  with roots elsewhere, by position.
*/
PetscErrorCode ForeignMembersScatterValues(const ForeignMembers *f, PetscInt n, const PetscScalar sent[], PetscScalar received[], PetscScalar values[], cudaStream_t stream)
{
  MPI_Datatype   unit;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateUnit(n, MPIU_SCALAR, &unit));
  PetscCallGoto(ierr, cleanup, RowMessagesExchange(&f->messages, unit, sent, received, stream));
  PetscCallGoto(ierr, cleanup, DCSRTentativePlaceRows(f->num, n, f->places, received, values, stream));
cleanup:
  PetscCallMPI(MPI_Type_free(&unit));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ForeignMembersBcastCounts - Sizes of aggregates, counts [num_roots] device, travel to the vertices with roots elsewhere, received [num] device, by position. Collective. */
PetscErrorCode ForeignMembersBcastCounts(const ForeignMembers *f, const int32_t counts[], int32_t received[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(DCSRAggregatesGather(f->members.num, f->aggregates, counts, f->scratch, stream));
  PetscCall(DCSRCopyColumnsToHost(f->members.num, f->scratch, f->host[0], stream));
  PetscCall(RowMessagesExchangeHost(&f->messages, MPIU_INT, f->host[0], f->host[1]));
  PetscCall(PutNumbers(f, stream, received));
  PetscFunctionReturn(PETSC_SUCCESS);
}
