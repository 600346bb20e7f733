/*
  Jacobians by finite differences and from automatic differentiation, with a coloring of the columns (MatFDColoring).

  MatFDColoringSetUp() notes the addresses of the entries in the host arrays. MatFDColoringApply() and MatFDColoringSetValues() write there, the latter without a word to the matrix, whose
  newest values may be on the device. So an array beside the matrix stands in the place of its values meanwhile: its addresses are noted. What tells whether an entry is written is a number
  that no computation has for its result. Both functions end with an assembly. When the first entry that the coloring writes is another number by then, the matrix takes all of them for its
  values, on the device where that has the pattern: the host array of the matrix is not touched.
*/
#include "host.h"
#include "wrappers.h"
#include "../core/core.h"
#include "../parallel/parallel.h"
#include "../../../../petsc/vec.h"
#include <petscsparsecuda/report.h>

/* Composed with a matrix, and with a coloring. */
static const char LIST_KEY[] = "MatAIJCUDA_Colorings", VALUES_KEY[] = "MatAIJCUDA_ColoringValues";

/* Where a coloring writes the entries of a matrix. */
typedef struct {
  MatFDColoring     coloring;        /* not to be used when only the matrix holds the container of this struct */
  PetscScalar      *values;          /* [num[0] + num[1]] entries in the order of the host arrays, owned */
  PetscInt          num[2];          /* entries of the matrix, or of its diagonal and its off-diagonal block */
  MatAIJCUDAPattern pattern;         /* that the coloring was set up for, owned; the matrix, or a block of it, had it */
  PetscObjectId     id[2];           /* when it was this one */
  PetscObjectState  nonzerostate[2]; /* with this nonzerostate */
  PetscCount        first;           /* position of the entry that is written first; -1: there is none */
  PetscBool         complete;        /* the coloring writes all entries */
  PetscBool         applying;        /* in MatFDColoringApply(), which counts as an access to the host arrays */
} ColoringValues;

/* What the colorings of a matrix write. */
typedef struct {
  PetscInt        n;
  PetscContainer *values; /* [n] of a ColoringValues each, owned together with the coloring */
} ColoringList;

static PetscErrorCode DestroyValues(PetscCtxRt ctx)
{
  ColoringValues *v = *(ColoringValues **)ctx;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAPatternDestroy(&v->pattern));
  PetscCall(PetscFree(v->values));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyList(PetscCtxRt ctx)
{
  ColoringList *list = *(ColoringList **)ctx;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < list->n; k++) PetscCall(PetscContainerDestroy(&list->values[k]));
  PetscCall(PetscFree(list->values));
  PetscCall(PetscFree(list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscCount NumPositions(const ColoringValues *v)
{
  return (PetscCount)v->num[0] + (PetscCount)v->num[1];
}

/* Gives entries the bits of a number that is none and that arithmetic does not give: the first one that is written, and where a coloring writes not all, every one. */
static void ClearValues(ColoringValues *v)
{
  if (!v->complete) memset(v->values, 0xFF, (size_t)NumPositions(v) * sizeof(*v->values));
  else if (v->first >= 0) memset(&v->values[v->first], 0xFF, sizeof(*v->values));
}

static PetscBool IsWritten(const PetscScalar *value)
{
  PetscScalar cleared;

  memset(&cleared, 0xFF, sizeof(cleared));
  return (PetscBool)(memcmp(value, &cleared, sizeof(cleared)) != 0);
}

/* How many entries a coloring writes here. */
static PetscCount NumEntries(MatFDColoring c)
{
  PetscCount n = 0;

  for (PetscInt k = 0; k < c->ncolors; k++) n += c->nrows[k]; // with blocks of colors those of a block, and then zeros
  return n;
}

static PetscScalar **AddressOf(MatFDColoring c, PetscCount entry)
{
  return c->matentry != NULL ? &c->matentry[entry].valaddr : &c->matentry2[entry].valaddr;
}

/* The position of an address in an array of n numbers, -1 when it is in none of them. */
static PetscCount PositionOf(const PetscScalar *address, const PetscScalar *array, PetscCount n)
{
  const uintptr_t begin = (uintptr_t)array, at = (uintptr_t)address;

  return array != NULL && at >= begin && at < begin + (size_t)n * sizeof(*array) ? (PetscCount)((at - begin) / sizeof(*array)) : -1;
}

/* Exchanges the values of the host arrays, of which nothing is read, for the array beside the matrix, and back. */
static void ExchangeValues(ColoringValues *v, const Mat blocks[2], PetscScalar *values[2])
{
  for (int k = 0; k < 2 && blocks[k] != NULL; k++) {
    Mat_SeqAIJ  *a    = (Mat_SeqAIJ *)blocks[k]->data;
    PetscScalar *mine = a->a;

    a->a      = values[k];
    values[k] = mine;
  }
}

/* Notes what a coloring that was set up writes. */
static void NoteEntries(ColoringValues *v)
{
  const PetscCount n = NumEntries(v->coloring);

  v->first    = n > 0 ? PositionOf(*AddressOf(v->coloring, 0), v->values, NumPositions(v)) : -1;
  v->complete = (PetscBool)(n == NumPositions(v));
}

/* A coloring writes into the host arrays again, for a matrix that becomes one of another type. */
static void RedirectBack(ColoringValues *v, const Mat blocks[2])
{
  const PetscCount n = NumEntries(v->coloring);

  for (PetscCount entry = 0; entry < n; entry++) {
    PetscScalar    **address  = AddressOf(v->coloring, entry);
    const PetscCount position = PositionOf(*address, v->values, NumPositions(v));

    if (position < 0) continue;
    if (position < v->num[0]) *address = ((Mat_SeqAIJ *)blocks[0]->data)->a + position;
    else *address = ((Mat_SeqAIJ *)blocks[1]->data)->a + (position - v->num[0]);
  }
}

/* Notes that a block of the matrix has the pattern of the coloring, as it is. */
static PetscErrorCode NotePattern(ColoringValues *v, int k, Mat block)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectGetId((PetscObject)block, &v->id[k]));
  v->nonzerostate[k] = block->nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the matrix has the nonzero pattern that it had when the coloring was set up. */
static PetscErrorCode HasPattern(Mat A, ColoringValues *v, PetscBool *has)
{
  Mat           blocks[2];
  PetscObjectId id;

  PetscFunctionBegin;
  *has = PETSC_TRUE;
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  for (int k = 0; k < 2 && blocks[k] != NULL && *has; k++) {
    PetscCall(PetscObjectGetId((PetscObject)blocks[k], &id));
    if (id == v->id[k] && blocks[k]->nonzerostate == v->nonzerostate[k]) continue;
    PetscCall(MatAIJCUDAHasPattern(A, k, v->pattern, has));
    if (*has) PetscCall(NotePattern(v, k, blocks[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The arrays of colorings that are gone leave the list of a matrix; *list is NULL when it has none. */
static PetscErrorCode GetList(Mat A, ColoringList **list)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  *list = NULL;
  PetscCall(PetscObjectContainerQuery((PetscObject)A, LIST_KEY, list));
  if (*list == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < (*list)->n; k++) {
    if (((PetscObject)(*list)->values[k])->refct > 1) (*list)->values[n++] = (*list)->values[k];
    else PetscCall(PetscContainerDestroy(&(*list)->values[k]));
  }
  (*list)->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix holds the array of a coloring, too. */
static PetscErrorCode AddToList(Mat A, PetscContainer values)
{
  PetscContainer *longer;
  ColoringList   *list;

  PetscFunctionBegin;
  PetscCall(GetList(A, &list));
  if (list == NULL) {
    PetscCall(PetscNew(&list));
    PetscCall(PetscSparseCUDACompose((PetscObject)A, LIST_KEY, list, DestroyList));
  }
  PetscCall(PetscMalloc1(list->n + 1, &longer));
  PetscCall(PetscArraycpy(longer, list->values, list->n));
  PetscCall(PetscFree(list->values));
  list->values            = longer;
  list->values[list->n++] = values;
  PetscCall(PetscObjectReference((PetscObject)values));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The array beside the matrix, whose host structure is current, for a coloring that is about to be set up; the coloring owns it. */
static PetscErrorCode CreateValues(MatFDColoring c, Mat A, const Mat blocks[2], ColoringValues **values)
{
  ColoringValues *v;

  PetscFunctionBegin;
  PetscCall(PetscNew(&v));
  PetscCall(PetscSparseCUDACompose((PetscObject)c, VALUES_KEY, v, DestroyValues));
  v->coloring = c;
  v->first    = -1;
  PetscCall(MatAIJCUDAPatternCreate(A, NULL, &v->pattern));
  for (int k = 0; k < 2 && blocks[k] != NULL; k++) {
    v->num[k] = ((Mat_SeqAIJ *)blocks[k]->data)->nz;
    PetscCall(NotePattern(v, k, blocks[k]));
  }
  PetscCall(PetscMalloc1(NumPositions(v), &v->values));
  PetscCall(PetscSparseCUDAAdviseHost(v->values, (size_t)NumPositions(v) * sizeof(*v->values)));
  *values = v;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ParentSetUp(Mat A, ISColoring coloring, MatFDColoring c)
{
  PetscBool parallel;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &parallel));
  if (parallel) PetscCall((*MatMPIAIJCUDAGet(A)->parent.fdcoloringsetup)(A, coloring, c));
  else PetscCall((*MatSeqAIJCUDAGet(A)->parent.fdcoloringsetup)(A, coloring, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes a coloring write beside the matrix, whose host arrays are shown. */
static PetscErrorCode SetUpBeside(Mat A, ISColoring coloring, MatFDColoring c)
{
  ColoringValues *v = NULL;
  PetscContainer  container;
  Mat             blocks[2];
  PetscScalar    *values[2];
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  PetscCallGoto(ierr, failed, CreateValues(c, A, blocks, &v));
  PetscCallGoto(ierr, failed, PetscObjectQuery((PetscObject)c, VALUES_KEY, (PetscObject *)&container));
  PetscCallGoto(ierr, failed, AddToList(A, container)); // nothing can fail once the coloring has addresses in the array
  values[0] = v->values;
  values[1] = v->values + v->num[0];
  ExchangeValues(v, blocks, values);
  ierr = ParentSetUp(A, coloring, c);
  ExchangeValues(v, blocks, values);
  PetscCallGoto(ierr, failed, ierr);
  NoteEntries(v);
  ClearValues(v);
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscObjectCompose((PetscObject)c, VALUES_KEY, NULL));
  PetscFunctionReturn(ierr);
}

/* MatFDColoringUseDM() has put another function there. */
static PetscErrorCode InstallApply(Mat A, PetscBool parallel)
{
  struct _MatOps *parent    = parallel ? &MatMPIAIJCUDAGet(A)->parent : &MatSeqAIJCUDAGet(A)->parent;
  struct _MatOps *installed = parallel ? &MatMPIAIJCUDAGet(A)->installed : &MatSeqAIJCUDAGet(A)->installed;

  PetscFunctionBegin;
  INSTALL_WRAPPER(A->ops, parent, installed, MatHost_AIJCUDA_, fdcoloringapply);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUp(Mat A, ISColoring coloring, MatFDColoring c)
{
  PetscBool parallel, no_device;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &parallel));
  PetscCall(InstallApply(A, parallel));
  no_device = parallel ? MatMPIAIJCUDAGet(A)->no_device : MatSeqAIJCUDAGet(A)->no_device;
  if (no_device) PetscCall(ParentSetUp(A, coloring, c));
  else PetscCall(SetUpBeside(A, coloring, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatHost_AIJCUDA_fdcoloringsetup - MatFDColoringSetUp(), which reads the pattern and no values */
PetscErrorCode MatHost_AIJCUDA_fdcoloringsetup(Mat A, ISColoring coloring, MatFDColoring c)
{
  PetscBool      parallel;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &parallel));
  if (parallel) PetscCall(MatMPIAIJCUDAUseCurrentStream(A));
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ_STRUCTURE));
  ierr = SetUp(A, coloring, c);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ_STRUCTURE, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the values of a block, of which all are new, can go to its device copy at once. */
static PetscBool TakesOnDevice(Mat block, const ColoringValues *v, PetscInt n)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(block);

  if (d->no_device || block->boundtocpu || block->structure_only || block->hash_active || d->host.active > (v->applying ? 1 : 0)) return PETSC_FALSE;
  return (PetscBool)(MatSeqAIJCUDADeviceHasStructure(block) && d->device.view.row_offsets != NULL && d->device.view.num_nonzeros == n);
}

static PetscErrorCode TakeOnDevice(Mat block, const PetscScalar values[], PetscInt n)
{
  Mat_SeqAIJCUDA *d     = MatSeqAIJCUDAGet(block);
  const size_t    bytes = (size_t)n * sizeof(*values);
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallReported(REPORT_VALUES, NULL, PetscSparseCUDACopyToDevice(d->device.view.values, values, bytes, stream));
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)bytes));
  PetscCall(MatSeqAIJCUDADeviceChanged(block));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a coloring has written for one block; the others of its entries stay what they are. */
static PetscErrorCode TakeBlock(Mat block, const ColoringValues *v, const PetscScalar values[], PetscInt n)
{
  PetscScalar *a;

  PetscFunctionBegin;
  if (n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (v->complete && TakesOnDevice(block, v, n)) {
    PetscCallLogged(PETSCSPARSECUDA_CopyToDevice, block, TakeOnDevice(block, values, n));
  } else if (v->complete) {
    PetscCall(MatSeqAIJGetArrayWrite(block, &a));
    PetscCall(PetscArraycpy(a, values, n));
    PetscCall(MatSeqAIJRestoreArrayWrite(block, &a));
  } else {
    PetscCall(MatSeqAIJGetArray(block, &a));
    for (PetscInt k = 0; k < n; k++)
      if (IsWritten(&values[k])) a[k] = values[k];
    PetscCall(MatSeqAIJRestoreArray(block, &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TakeValues(Mat A, ColoringValues *v)
{
  Mat            blocks[2];
  PetscBool      has;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  PetscCall(HasPattern(A, v, &has));
  if (!has) {
    ClearValues(v);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The nonzero pattern of the matrix has changed since MatFDColoringSetUp(): make a new MatFDColoring");
  }
  ierr = TakeBlock(blocks[0], v, v->values, v->num[0]);
  if (ierr == PETSC_SUCCESS && blocks[1] != NULL) ierr = TakeBlock(blocks[1], v, v->values + v->num[0], v->num[1]);
  ClearValues(v);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDATakeColoringValues - At an assembly: what a coloring has written becomes the values of A.

  PETSC_ERR_ARG_WRONGSTATE: the nonzero pattern is another one than that of the coloring; the matrix is as it was.
  Costs a search among the composed objects; values that a coloring has written are copied to the device, or on the host where the device has no current pattern or not all are new.
*/
PetscErrorCode MatAIJCUDATakeColoringValues(Mat A)
{
  ColoringList *list;

  PetscFunctionBegin;
  PetscCall(GetList(A, &list));
  for (PetscInt k = 0; list != NULL && k < list->n; k++) {
    ColoringValues *v;

    PetscCall(PetscContainerGetPointer(list->values[k], &v));
    if (v->first >= 0 && IsWritten(&v->values[v->first])) PetscCall(TakeValues(A, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PETSc's MatFDColoringApply(). Function values that MatFDColoringSetF() has copied are brought to the host: MatFDColoringCreate() has bound their vector to the CPU, and VecCopy() writes device
  memory there in some versions, and returns before it is done in others.
*/
static PetscErrorCode Apply(Mat A, MatFDColoring c, Vec x, void *ctx)
{
  PetscBool parallel, bound;

  PetscFunctionBegin;
  PetscCall(VecBoundToCPU(c->w1, &bound));
  if (bound) {
    PetscCall(VecCopyWait());
    PetscCall(MatAIJCUDABindVec(c->w1));
  }
  PetscCall(MatIsMPIAIJCUDA(A, &parallel));
  if (parallel) PetscCall((*MatMPIAIJCUDAGet(A)->parent.fdcoloringapply)(A, c, x, ctx));
  else PetscCall((*MatSeqAIJCUDAGet(A)->parent.fdcoloringapply)(A, c, x, ctx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All entries are written beside the matrix, whose values are not brought to the host. PETSc marks them as written there before it begins; after an error they are where they were. */
static PetscErrorCode ApplyBeside(Mat A, MatFDColoring c, ColoringValues *v, Vec x, void *ctx)
{
  Mat              blocks[2];
  PetscOffloadMask masks[2] = {PETSC_OFFLOAD_UNALLOCATED, PETSC_OFFLOAD_UNALLOCATED};
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAHostBegin(A, HOST_READ_STRUCTURE));
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  for (int k = 0; k < 2 && blocks[k] != NULL; k++) masks[k] = blocks[k]->offloadmask;
  v->applying = PETSC_TRUE;
  ierr        = Apply(A, c, x, ctx);
  v->applying = PETSC_FALSE;
  if (ierr != PETSC_SUCCESS) {
    for (int k = 0; k < 2 && blocks[k] != NULL; k++) MatSeqAIJCUDAUnnoteValues(blocks[k], masks[k]);
    ClearValues(v); // the next assembly must not take a part of them
  }
  PetscCall(MatAIJCUDAHostFinish(A, HOST_READ_STRUCTURE, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatHost_AIJCUDA_fdcoloringapply - MatFDColoringApply() */
PetscErrorCode MatHost_AIJCUDA_fdcoloringapply(Mat A, MatFDColoring c, Vec x, void *ctx)
{
  ColoringValues *v = NULL;
  PetscBool       parallel;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(MatIsMPIAIJCUDA(A, &parallel));
  if (parallel) PetscCall(MatMPIAIJCUDAUseCurrentStream(A));
  PetscCall(PetscObjectContainerQuery((PetscObject)c, VALUES_KEY, &v));
  if (v != NULL && v->complete) {
    PetscCall(ApplyBeside(A, c, v, x, ctx));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAIJCUDAHostBegin(A, HOST_WRITE));
  ierr = Apply(A, c, x, ctx);
  PetscCall(MatAIJCUDAHostFinish(A, HOST_WRITE, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatAIJCUDAReturnColorings - Colorings of a matrix that becomes MATAIJ write into its host arrays again.

  A is a matrix of ours, whose host arrays are shown and current, or what has just been made of it.
*/
PetscErrorCode MatAIJCUDAReturnColorings(Mat A)
{
  ColoringList *list;
  Mat           blocks[2];
  PetscBool     has;

  PetscFunctionBegin;
  PetscCall(GetList(A, &list));
  if (list == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAGetBlocks(A, blocks));
  for (PetscInt k = 0; k < list->n; k++) {
    ColoringValues *v;

    PetscCall(PetscContainerGetPointer(list->values[k], &v));
    PetscCall(HasPattern(A, v, &has));
    if (has) RedirectBack(v, blocks);
  }
  PetscCall(PetscObjectCompose((PetscObject)A, LIST_KEY, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}
