/*
  PCPBJACOBI and PCVPBJACOBI of PETSc with our code around them. PETSc inverts diagonal blocks on the host, and multiplies with them there unless the matrix has one of the types that it asks for by
  name. For a matrix of ours on the device both are done there, if no block has more than DCSR_POINT_BLOCK_MAX rows; in all other cases PETSc's code does it.
*/
#include "pbjacobi.h"
#include "../../../../mat/impls/aijcuda/core/core.h"
#include "../../../../petsc/ksp.h"

/* What is kept with a PC while its blocks are on the device: a container composed with it. */
#define POINT_BLOCKS "PCPointBlocks_AIJCUDA"
typedef struct {
  DCSRPointBlocks blocks;
  PetscInt       *sizes;    /* [num_blocks] owned; NULL: blocks have one size */
  PetscInt        min_size; /* of sizes */
  HostVecBuffer   x, y;     /* for vectors that live on the host */
} PointBlocks;

/* PETSc's operations of both types, static functions that are the same for all PCs. */
typedef struct {
  PetscErrorCode (*create)(PC);
  PetscErrorCode (*setup)(PC);
  PetscErrorCode (*apply)(PC, Vec, Vec);
  PetscErrorCode (*applytranspose)(PC, Vec, Vec);
  PetscErrorCode (*view)(PC, PetscViewer);
} Parent;
static Parent parents[2]; /* PCPBJACOBI, PCVPBJACOBI */

static PetscErrorCode DestroyBlocks(PetscCtxRt context)
{
  PointBlocks *own = *(PointBlocks **)context;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRPointBlocksDestroy(&own->blocks, stream));
  PetscCall(PetscSparseCUDAFree(&own->x.array, stream));
  PetscCall(PetscSparseCUDAFree(&own->y.array, stream));
  PetscCall(PetscFree(own->sizes));
  PetscCall(PetscFree(own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetBlocks(PC pc, PointBlocks **own)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectContainerQuery((PetscObject)pc, POINT_BLOCKS, own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal block of the PC's matrix on this process, when our code can take blocks out of it; NULL: it cannot. */
static PetscErrorCode GetDiagonalBlock(PC pc, Mat *A)
{
  Mat       blocks[2];
  PetscBool seq, mpi, device = PETSC_FALSE;

  PetscFunctionBegin;
  *A = NULL;
  PetscCall(MatIsSeqAIJCUDA(pc->pmat, &seq));
  PetscCall(MatIsMPIAIJCUDA(pc->pmat, &mpi));
  if (!seq && !mpi) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAGetBlocks(pc->pmat, blocks));
  if (pc->pmat->assembled && !pc->pmat->boundtocpu && blocks[0]->rmap->n == blocks[0]->cmap->n) PetscCall(MatSeqAIJCUDAUseDevice(blocks[0], &device));
  if (device) *A = blocks[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How the rows of this process are divided; *served: our code takes such blocks. sizes NULL: all have one size. */
static PetscErrorCode GetSizes(PC pc, PetscBool variable, PetscInt *num_blocks, PetscInt *size, const PetscInt *sizes[], PetscBool *served)
{
  PetscInt n, sum = 0, largest = 0;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(pc->pmat, &n, NULL));
  *sizes = NULL;
  if (variable) {
    PetscCall(MatGetVariableBlockSizes(pc->pmat, num_blocks, sizes));
    for (PetscInt b = 0; b < *num_blocks; b++) {
      sum += (*sizes)[b];
      largest = PetscMax(largest, (*sizes)[b]);
    }
    *served = (PetscBool)(sum == n && largest <= DCSR_POINT_BLOCK_MAX); // PETSc's code says what is wrong
    *size   = 0;
  } else {
    PetscCall(MatGetBlockSize(pc->pmat, size));
    *num_blocks = n / *size;
    *served     = (PetscBool)(*size <= DCSR_POINT_BLOCK_MAX);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The PC keeps the blocks that it has while they are divided alike: graphs know where they are. */
static PetscErrorCode MakeRoom(PC pc, PetscInt num_blocks, PetscInt size, const PetscInt sizes[], cudaStream_t stream, PointBlocks **own)
{
  PointBlocks   *old;
  PetscBool      same = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetBlocks(pc, &old));
  if (old != NULL) same = (PetscBool)(old->blocks.num_blocks == num_blocks && old->blocks.size == size && (old->sizes == NULL) == (sizes == NULL));
  if (same && sizes != NULL) PetscCall(PetscArraycmp(old->sizes, sizes, (size_t)num_blocks, &same));
  *own = old;
  if (same) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(own)); // the old ones stay if there is no memory for them
  if (sizes != NULL) {
    PetscCallGoto(ierr, failed, PetscMalloc1(num_blocks, &(*own)->sizes));
    PetscCallGoto(ierr, failed, PetscArraycpy((*own)->sizes, sizes, num_blocks));
    (*own)->min_size = num_blocks > 0 ? PETSC_INT_MAX : -1;
    for (PetscInt b = 0; b < num_blocks; b++) (*own)->min_size = PetscMin((*own)->min_size, sizes[b]);
  }
  PetscCallGoto(ierr, failed, DCSRPointBlocksCreate(num_blocks, size, sizes, stream, &(*own)->blocks));
  PetscCallGoto(ierr, failed, PetscSparseCUDACompose((PetscObject)pc, POINT_BLOCKS, *own, DestroyBlocks));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DestroyBlocks((PetscCtxRt)own));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The inverses of the blocks of A, a sequential matrix. A block without inverse is PETSc's failure: an error if failures are errors, else a reason. */
static PetscErrorCode InvertBlocks(PC pc, Mat A, PointBlocks *own, cudaStream_t stream)
{
  const DCSRPointBlocks *blocks = &own->blocks;
  DCSRView               view;
  PetscInt               singular, row;
  double                 flops = 0.0;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAGetCompact(A, &view));
  PetscCallGpuTime(DCSRPointBlocksInvert(view, blocks, stream, &singular));
  for (PetscInt b = 0; b < (own->sizes != NULL ? blocks->num_blocks : 0); b++) flops += 2.0 * (double)own->sizes[b] * (double)own->sizes[b] * (double)own->sizes[b];
  if (own->sizes == NULL) flops = 2.0 * (double)blocks->num_rows * (double)blocks->size * (double)blocks->size;
  PetscCall(PetscLogGpuFlops(flops));
  pc->failedreason = PC_NOERROR; // PETSc's code leaves that of values before
  if (singular == blocks->num_blocks) PetscFunctionReturn(PETSC_SUCCESS);
  row = singular * blocks->size;
  for (PetscInt b = 0; b < (own->sizes != NULL ? singular : 0); b++) row += own->sizes[b];
  PetscCheck(!pc->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT, "Zero pivot in the point block of local rows %" PetscInt_FMT " to %" PetscInt_FMT, row,
             row + (own->sizes != NULL ? own->sizes[singular] : blocks->size) - 1);
  PetscCall(PetscInfo(pc, "Zero pivot in the point block that begins in local row %" PetscInt_FMT "\n", row));
  pc->failedreason = PC_FACTOR_NUMERIC_ZEROPIVOT;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With vectors of any memory type. */
static PetscErrorCode Apply(PC pc, PetscBool transpose, Vec x, Vec y)
{
  PointBlocks   *own;
  DeviceArray    from = {0}, to = {0};
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetBlocks(pc, &own));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCallGoto(ierr, restore, GetDeviceArray(pc->pmat, x, own->blocks.num_rows, ARRAY_READ, &own->x, stream, &from));
  PetscCallGoto(ierr, restore, GetDeviceArray(pc->pmat, y, own->blocks.num_rows, ARRAY_WRITE, &own->y, stream, &to));
  PetscCallGpuTimeGoto(ierr, restore, DCSRPointBlocksApply(&own->blocks, transpose, from.device, to.device, stream));
restore:
  ierr = RestoreDeviceArray(&from, stream, ierr);
  ierr = RestoreDeviceArray(&to, stream, ierr);
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops(2.0 * (PetscLogDouble)own->blocks.num_rows * (PetscLogDouble)own->blocks.max_size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApply_PointBlocks_AIJCUDA(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Apply(pc, PETSC_FALSE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCApplyTranspose_PointBlocks_AIJCUDA(PC pc, Vec x, Vec y)
{
  PetscFunctionBegin;
  PetscCall(Apply(pc, PETSC_TRUE, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's operations in place of ours, and no blocks on the device. */
static PetscErrorCode SetUpParent(PC pc, const Parent *parent)
{
  PetscFunctionBegin;
  if (pc->ops->apply == PCApply_PointBlocks_AIJCUDA) {
    pc->ops->apply          = parent->apply;
    pc->ops->applytranspose = parent->applytranspose;
    PetscCall(PetscObjectCompose((PetscObject)pc, POINT_BLOCKS, NULL));
  }
  PetscCall((*parent->setup)(pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetUpOnProcess(PC pc, PetscBool variable)
{
  PointBlocks    *own;
  Mat             A;
  const PetscInt *sizes      = NULL;
  PetscInt        num_blocks = 0, size = 0;
  PetscBool       served = PETSC_FALSE;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(GetDiagonalBlock(pc, &A));
  if (A != NULL) PetscCall(GetSizes(pc, variable, &num_blocks, &size, &sizes, &served));
  if (!served) {
    PetscCall(SetUpParent(pc, &parents[variable]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(MakeRoom(pc, num_blocks, size, sizes, stream, &own));
  pc->ops->apply          = PCApply_PointBlocks_AIJCUDA;
  pc->ops->applytranspose = PCApplyTranspose_PointBlocks_AIJCUDA;
  PetscCall(InvertBlocks(pc, A, own, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where failures are errors, that of one process is one on all. */
static PetscErrorCode SetUp(PC pc, PetscBool variable)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = SetUpOnProcess(pc, variable);
  if (pc->erroriffailure) PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)pc), ierr, &ierr));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_PBJacobi_AIJCUDA(PC pc)
{
  PetscFunctionBegin;
  PetscCall(SetUp(pc, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCSetUp_VPBJacobi_AIJCUDA(PC pc)
{
  PetscFunctionBegin;
  PetscCall(SetUp(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's words; it takes the numbers from its own struct, which our setup leaves alone. */
static PetscErrorCode View(PC pc, PetscBool variable, PetscViewer viewer)
{
  PointBlocks *own;
  PetscBool    is_ascii;

  PetscFunctionBegin;
  PetscCall(GetBlocks(pc, &own));
  if (own == NULL) {
    PetscCall((*parents[variable].view)(pc, viewer));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &is_ascii));
  if (!is_ascii) PetscFunctionReturn(PETSC_SUCCESS);
  if (variable) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "  number of blocks: %" PetscInt_FMT "\n", own->blocks.num_blocks));
    PetscCall(PetscViewerASCIIPrintf(viewer, "  block sizes: min=%" PetscInt_FMT " max=%" PetscInt_FMT "\n", own->min_size, own->blocks.max_size));
  } else PetscCall(PetscViewerASCIIPrintf(viewer, "  point-block size %" PetscInt_FMT "\n", own->blocks.size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_PBJacobi_AIJCUDA(PC pc, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(View(pc, PETSC_FALSE, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCView_VPBJacobi_AIJCUDA(PC pc, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(View(pc, PETSC_TRUE, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ours around what PETSc's constructor has set. */
static PetscErrorCode Create(PC pc, PetscBool variable)
{
  Parent *parent = &parents[variable];

  PetscFunctionBegin;
  PetscCall(PetscObjectCompose((PetscObject)pc, POINT_BLOCKS, NULL)); // of the type that it had before
  PetscCall((*parent->create)(pc));
  parent->setup          = pc->ops->setup;
  parent->apply          = pc->ops->apply;
  parent->applytranspose = pc->ops->applytranspose;
  parent->view           = pc->ops->view;
  pc->ops->setup         = variable ? PCSetUp_VPBJacobi_AIJCUDA : PCSetUp_PBJacobi_AIJCUDA;
  pc->ops->view          = variable ? PCView_VPBJacobi_AIJCUDA : PCView_PBJacobi_AIJCUDA;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_PBJacobi_AIJCUDA(PC pc)
{
  PetscFunctionBegin;
  PetscCall(Create(pc, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PCCreate_VPBJacobi_AIJCUDA(PC pc)
{
  PetscFunctionBegin;
  PetscCall(Create(pc, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCPBJacobiGetBlocks_AIJCUDA - The inverses that an application multiplies with, if blocks have one size; sets the PC up. Collective as PCSetUp()
  blocks is borrowed, and stays where it is until the PC gets blocks that are divided otherwise; NULL: pc is no PCPBJACOBI with blocks on the device.
*/
PetscErrorCode PCPBJacobiGetBlocks_AIJCUDA(PC pc, const DCSRPointBlocks **blocks)
{
  PointBlocks *own;

  PetscFunctionBegin;
  *blocks = NULL;
  if (pc->ops->setup != PCSetUp_PBJacobi_AIJCUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCSetUp(pc));
  PetscCall(GetBlocks(pc, &own));
  if (own != NULL) *blocks = &own->blocks;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCPBJacobiStep_AIJCUDA - y = alpha M r + beta x + gamma q with a PC that has blocks: the application M and a sum in one kernel. Not Collective
  Vectors are on the device; x and q are read when their factors are not 0. y may be r or q.
*/
PetscErrorCode PCPBJacobiStep_AIJCUDA(PC pc, PetscScalar alpha, Vec r, PetscScalar beta, Vec x, PetscScalar gamma, Vec q, Vec y)
{
  const PetscBool uses_x = (PetscBool)(beta != 0.0), uses_q = (PetscBool)(gamma != 0.0 && q != y);
  PointBlocks    *own;
  DeviceArray     arrays[4] = {{0}}; /* r, x, q, y */
  PetscInt        n;
  cudaStream_t    stream;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  PetscCall(GetBlocks(pc, &own));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  n = own->blocks.num_rows;
  if (r != y) PetscCallGoto(ierr, restore, GetDeviceArray(pc->pmat, r, n, ARRAY_READ, &own->x, stream, &arrays[0]));
  if (uses_x) PetscCallGoto(ierr, restore, GetDeviceArray(pc->pmat, x, n, ARRAY_READ, &own->x, stream, &arrays[1]));
  if (uses_q) PetscCallGoto(ierr, restore, GetDeviceArray(pc->pmat, q, n, ARRAY_READ, &own->x, stream, &arrays[2]));
  PetscCallGoto(ierr, restore, GetDeviceArray(pc->pmat, y, n, r == y || (gamma != 0.0 && q == y) ? ARRAY_READ_WRITE : ARRAY_WRITE, &own->y, stream, &arrays[3]));
  PetscCallGpuTimeGoto(ierr, restore,
                       DCSRPointBlocksStep(&own->blocks, alpha, r != y ? arrays[0].device : arrays[3].device, beta, arrays[1].device, gamma, uses_q ? arrays[2].device : arrays[3].device,
                                           arrays[3].device, stream));
restore:
  for (int k = 0; k < 4; k++) ierr = RestoreDeviceArray(&arrays[k], stream, ierr);
  PetscCall(ierr);
  PetscCall(PetscLogGpuFlops((PetscLogDouble)n * (2.0 * (PetscLogDouble)own->blocks.size + (uses_x ? 2.0 : 0.0) + (gamma != 0.0 ? 2.0 : 0.0))));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  PCPBJacobiRegister_AIJCUDA - Registers PCPBJACOBI and PCVPBJACOBI again, with our code around PETSc's.
  Part of PetscSparseCUDAInitialize(), and does nothing when called once more. Nothing of PETSc's structs is read or written.
*/
PetscErrorCode PCPBJacobiRegister_AIJCUDA(void)
{
  static const PCType types[2]        = {PCPBJACOBI, PCVPBJACOBI};
  PetscErrorCode (*const ours[2])(PC) = {PCCreate_PBJacobi_AIJCUDA, PCCreate_VPBJacobi_AIJCUDA};
  PetscErrorCode (*create)(PC);

  PetscFunctionBegin;
  PetscCall(PCInitializePackage());
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscFunctionListFind(PCList, types[k], &create));
    if (create == NULL || create == ours[k]) continue;
    parents[k].create = create;
    PetscCall(PCRegister(types[k], ours[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
