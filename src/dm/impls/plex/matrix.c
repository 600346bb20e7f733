/*
  The nonzero pattern of DMCreateMatrix() of a DMPLEX, as PETSc's dm/impls/plex/plexpreallocate.c makes it on the host, made on the device.

  With finite elements an unknown has entries with all unknowns in the closures of the points of its star. These are the closures of the cells around it, or of whatever else has nothing above it in
  the mesh. So the pattern is the union of the dense patterns of these closures, the elements. Their unknowns are listed on the host, in one pass over the mesh; their pairs are made, sorted and joined
  on the device.
*/
#include "plex.h"
#include "../../../mat/impls/aijcuda/core/core.h"
#include "../../../mat/impls/aijcuda/insert/insert.h"
#include <petscsparsecuda/elements.h>
#include "../../../petsc/dm.h"

/* Device memory, in PetscInt, that the list of pairs takes at most for each: the pair, its key and position, and what the sort wants beside these. */
#define INTS_OF_PAIR 12

/* Lists of the unknowns of all elements, on the host. */
typedef struct {
  PetscInt    num;
  PetscCount *offsets;     /* [num + 1] where those of each element begin; owned */
  PetscCount *first_pairs; /* [num + 1] pairs of the elements before each; owned */
  PetscInt   *unknowns;    /* [offsets[num]] global numbers; owned */
} Elements;

/* The same on the device. */
typedef struct {
  PetscCount *offsets, *first_pairs;
  PetscInt   *unknowns;
  PetscInt   *i, *j; /* [first_pairs[num]] all pairs */
} Pairs;

/* Whether unknowns of all fields are neighbors in the way of finite elements. */
static PetscErrorCode HasElementAdjacency(DM dm, PetscBool *has)
{
  PetscInt  num_fields;
  PetscBool cone, closure;

  PetscFunctionBegin;
  PetscCall(DMGetBasicAdjacency(dm, &cone, &closure));
  *has = (PetscBool)(!cone && closure);
  PetscCall(DMGetNumFields(dm, &num_fields));
  for (PetscInt f = 0; f < num_fields && *has; f++) {
    PetscCall(DMGetAdjacency(dm, f, &cone, &closure));
    *has = (PetscBool)(!cone && closure);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DMPlexHasPatternOfElements - Whether the pattern of a matrix of a DMPLEX is that of elements, and the device can make it. Collective
  PETSC_FALSE, on all processes: when nothing is to be preallocated or filled, when a matrix may be bound to the CPU (-dm_bind_below), with neighbors in the way of finite volumes or of the user's
  function, with points that depend on others (hanging nodes), with periodic meshes whose points are identified by a PetscSF, and when a process has no usable device. Cost: one reduction of a flag.
*/
PetscErrorCode DMPlexHasPatternOfElements(DM dm, PetscBool *has)
{
  DM_Plex     *mesh = (DM_Plex *)dm->data;
  PetscSection anchors;

  PetscFunctionBegin;
  *has = PETSC_FALSE;
  if (dm->prealloc_skip || dm->prealloc_only || dm->structure_only || dm->bind_below > 0 || mesh->useradjacency || mesh->periodic.num_face_sfs > 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HasElementAdjacency(dm, has));
  if (!*has) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(DMPlexGetAnchors(dm, &anchors, NULL));
  if (anchors != NULL) *has = PETSC_FALSE;
  if (*has) PetscCall(PetscSparseCUDADeviceUsable(has));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, has, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)dm)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ElementsDestroy(Elements *e)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(e->offsets, e->first_pairs));
  PetscCall(PetscFree(e->unknowns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a point has nothing above it. */
static PetscErrorCode IsTop(DM dm, PetscInt point, PetscBool *top)
{
  PetscInt size;

  PetscFunctionBegin;
  PetscCall(DMPlexGetSupportSize(dm, point, &size));
  *top = (PetscBool)(size == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CountElements(DM dm, PetscInt *num)
{
  PetscInt  begin, end;
  PetscBool top = PETSC_FALSE;

  PetscFunctionBegin;
  *num = 0;
  PetscCall(DMPlexGetChart(dm, &begin, &end));
  for (PetscInt point = begin; point < end; point++) {
    PetscCall(IsTop(dm, point, &top));
    if (top) (*num)++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A pass over closures. PETSc's DMPlexGetTransitiveClosure() also finds the orientation of every point, which costs more than all else here. */
typedef struct {
  DM           dm;
  PetscSection local, global;
  PetscInt     begin, end; /* of the points of the mesh */
  PetscInt    *closure;    /* [end - begin] points of the present closure; owned */
  PetscInt    *last;       /* [end - begin] the element in whose closure a point was last, -1 for none; owned */
} Traversal;

static PetscErrorCode TraversalDestroy(Traversal *w)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(w->closure, w->last));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TraversalCreate(DM dm, Traversal *w)
{
  PetscFunctionBegin;
  w->dm = dm;
  PetscCall(DMGetLocalSection(dm, &w->local));
  PetscCall(DMGetGlobalSection(dm, &w->global));
  PetscCall(DMPlexGetChart(dm, &w->begin, &w->end));
  PetscCall(PetscMalloc2(w->end - w->begin, &w->closure, w->end - w->begin, &w->last));
  for (PetscInt k = 0; k < w->end - w->begin; k++) w->last[k] = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The closure of a point, element number element. */
static PetscErrorCode FindClosure(Traversal *w, PetscInt element, PetscInt point, PetscInt *size)
{
  PetscInt        n, cone_size;
  const PetscInt *cone;

  PetscFunctionBegin;
  w->closure[0] = point;
  n             = 1;
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(DMPlexGetConeSize(w->dm, w->closure[k], &cone_size));
    PetscCall(DMPlexGetCone(w->dm, w->closure[k], &cone));
    for (PetscInt c = 0; c < cone_size; c++) {
      if (w->last[cone[c] - w->begin] == element) continue;
      w->last[cone[c] - w->begin] = element;
      w->closure[n++]             = cone[c];
    }
  }
  *size = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Appends the unknowns of points, without those that boundary conditions determine. */
static PetscErrorCode AppendUnknowns(const Traversal *w, PetscInt size, PetscSegBuffer unknowns, PetscCount *num)
{
  PetscInt begin, end, *out;

  PetscFunctionBegin;
  *num = 0;
  PetscCall(PetscSectionGetChart(w->local, &begin, &end));
  for (PetscInt k = 0; k < size; k++) {
    const PetscInt p = w->closure[k];
    PetscInt       dof, constrained, offset;

    if (p < begin || p >= end) continue;
    PetscCall(PetscSectionGetDof(w->local, p, &dof));
    if (dof == 0) continue;
    PetscCall(PetscSectionGetConstraintDof(w->local, p, &constrained));
    PetscCall(PetscSectionGetOffset(w->global, p, &offset));
    if (offset < 0) offset = -(offset + 1); // of another process
    PetscCall(PetscSegBufferGetInts(unknowns, dof - constrained, &out));
    for (PetscInt d = 0; d < dof - constrained; d++) out[d] = offset + d;
    *num += dof - constrained;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FillElements(Traversal *w, PetscSegBuffer unknowns, Elements *e)
{
  PetscInt   element = 0, size = 0;
  PetscCount num;
  PetscBool  top = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt point = w->begin; point < w->end; point++) {
    PetscCall(IsTop(w->dm, point, &top));
    if (!top) continue;
    PetscCall(FindClosure(w, element, point, &size));
    PetscCall(AppendUnknowns(w, size, unknowns, &num));
    e->offsets[element + 1]     = e->offsets[element] + num;
    e->first_pairs[element + 1] = e->first_pairs[element] + num * num;
    element++;
  }
  PetscCall(PetscSegBufferExtractAlloc(unknowns, &e->unknowns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The elements of this process; to be destroyed, also after an error. */
static PetscErrorCode ElementsCreate(DM dm, Elements *e)
{
  Traversal      traversal = {.closure = NULL, .last = NULL};
  PetscSegBuffer unknowns;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CountElements(dm, &e->num));
  PetscCall(PetscMalloc2((size_t)e->num + 1, &e->offsets, (size_t)e->num + 1, &e->first_pairs));
  e->offsets[0]     = 0;
  e->first_pairs[0] = 0;
  PetscCall(PetscSegBufferCreate(sizeof(PetscInt), 1 << 16, &unknowns));
  ierr = TraversalCreate(dm, &traversal);
  if (ierr == PETSC_SUCCESS) ierr = FillElements(&traversal, unknowns, e);
  PetscCall(TraversalDestroy(&traversal));
  PetscCall(PetscSegBufferDestroy(&unknowns));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the device of every process has room for the pairs, beside what other processes take on the same device. */
static PetscErrorCode HaveRoom(DM dm, const Elements *e, PetscBool *room)
{
  PetscMPIInt size;
  size_t      available;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)dm), &size));
  PetscCall(PetscSparseCUDAGetMemoryAvailable(&available));
  *room = (PetscBool)((double)e->first_pairs[e->num] * INTS_OF_PAIR * sizeof(PetscInt) * size < 0.5 * (double)available);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PairsDestroy(Pairs *p, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&p->offsets, stream));
  PetscCall(PetscSparseCUDAFree(&p->first_pairs, stream));
  PetscCall(PetscSparseCUDAFree(&p->unknowns, stream));
  PetscCall(PetscSparseCUDAFree(&p->i, stream));
  PetscCall(PetscSparseCUDAFree(&p->j, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All pairs of the elements of this process; to be destroyed, also after an error. */
static PetscErrorCode PairsCreate(const Elements *e, cudaStream_t stream, Pairs *p)
{
  const size_t     num         = (size_t)e->num + 1;
  const PetscCount num_pairs   = e->first_pairs[e->num];
  const size_t     num_offsets = num * sizeof(*e->offsets), num_unknowns = (size_t)e->offsets[e->num];

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(num, "offsets of elements", stream, &p->offsets));
  PetscCall(PetscSparseCUDAMalloc(num, "first pairs of elements", stream, &p->first_pairs));
  PetscCall(PetscSparseCUDAMalloc(num_unknowns, "unknowns of elements", stream, &p->unknowns));
  PetscCall(PetscSparseCUDAMalloc(num_pairs, "rows of entries of elements", stream, &p->i));
  PetscCall(PetscSparseCUDAMalloc(num_pairs, "columns of entries of elements", stream, &p->j));
  PetscCall(PetscSparseCUDACopyToDevice(p->offsets, e->offsets, num_offsets, stream));
  PetscCall(PetscSparseCUDACopyToDevice(p->first_pairs, e->first_pairs, num_offsets, stream));
  PetscCall(PetscSparseCUDACopyToDevice(p->unknowns, e->unknowns, num_unknowns * sizeof(*e->unknowns), stream));
  PetscCall(DCSRElementsGetPairs(e->num, p->offsets, p->unknowns, num_pairs, p->first_pairs, p->i, p->j, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The structure of the pairs, as zeros; the list that MatSetValuesCOO() would need is dropped. */
static PetscErrorCode SetPattern(Mat A, const Elements *e)
{
  Pairs          pairs = {NULL, NULL, NULL, NULL, NULL};
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  ierr = PairsCreate(e, stream, &pairs);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = MatSetPreallocationCOO(A, e->first_pairs[e->num], pairs.i, pairs.j);
  PetscCall(PairsDestroy(&pairs, stream));
  PetscCall(ierr);
  PetscCall(MatCOODevice_Remove(A));
  PetscCall(PetscSparseCUDATrimMemory(PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_TRUE));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DMPlexSetMatrixPattern - Gives an empty matrix the pattern of a DMPLEX, with zero values, and assembles it. Collective
  DMPlexHasPatternOfElements() for dm. A is a matrix of ours that DMCreateMatrix() has made and not preallocated, and that inserts on the device. done = PETSC_FALSE, on all processes: a device has no
  room for the list of pairs. PETSC_ERR_MEM is on all processes when one has it.
  Cost: a pass over the closures of all cells on the host; on the device a sort of n^2 pairs of each element of n unknowns.
*/
PetscErrorCode DMPlexSetMatrixPattern(DM dm, Mat A, PetscBool *done)
{
  Elements       e = {0, NULL, NULL, NULL};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  ierr  = ElementsCreate(dm, &e);
  if (ierr == PETSC_SUCCESS) ierr = HaveRoom(dm, &e, done);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCallGoto(ierr, cleanup, ierr);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, done, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)A)));
  if (*done) PetscCallGoto(ierr, cleanup, SetPattern(A, &e));
cleanup:
  PetscCall(ElementsDestroy(&e));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
