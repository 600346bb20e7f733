/* ELLPACK behind the interface of device storage: its table, and the types that have it. */
#include <src/mat/impls/type/type.h>
#include "ell.h"

ELLCounts ell_counts;

/* The device.data of a matrix. */
typedef struct {
  ELLView   view;
  PetscInt *offsets; /* [num_rows + 1] of CSR, host */
} ELL;

static ELL *Get(Mat A)
{
  return (ELL *)MatSeqAIJCUDAGet(A)->device.data;
}

static size_t NumSlots(const ELL *ell)
{
  return (size_t)ell->view.num_rows * (size_t)ell->view.width;
}

static PetscErrorCode Free(ELL **ell, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&(*ell)->view.values, stream));
  PetscCall(PetscSparseCUDAFree(&(*ell)->view.columns, stream));
  PetscCall(PetscFree((*ell)->offsets));
  PetscCall(PetscFree(*ell));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Allocate(ELL *ell, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(NumSlots(ell), "values of ELLPACK", stream, &ell->view.values));
  PetscCall(PetscSparseCUDAMalloc(NumSlots(ell), "columns of ELLPACK", stream, &ell->view.columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes and row offsets. */
static PetscErrorCode Measure(DCSRView csr, cudaStream_t stream, ELL *ell)
{
  PetscFunctionBegin;
  ell->view.num_rows    = csr.num_rows;
  ell->view.num_columns = csr.num_columns;
  PetscCall(PetscMalloc1(csr.num_rows + 1, &ell->offsets));
  PetscCall(DCSRCopyOffsetsToHost(csr.num_rows + 1, csr.row_offsets, csr.wide, ell->offsets, stream));
  for (PetscInt row = 0; row < csr.num_rows; row++) ell->view.width = PetscMax(ell->view.width, ell->offsets[row + 1] - ell->offsets[row]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One long row makes all rows long: such matrices stay in CSR. */
static PetscErrorCode Create_ELL(PETSC_UNUSED Mat A, DCSRView csr, cudaStream_t stream, void **data)
{
  ELL           *ell;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&ell));
  PetscCallGoto(ierr, failed, Measure(csr, stream, ell));
  if (NumSlots(ell) > 8 * (size_t)csr.num_nonzeros) {
    ell_counts.declined++;
    PetscCall(Free(&ell, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallGoto(ierr, failed, Allocate(ell, stream));
  PetscCallGoto(ierr, failed, ELLFromCSR(ell->view, PETSC_TRUE, csr, stream));
  ell_counts.created++;
  *data = ell;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(Free(&ell, stream));
  PetscFunctionReturn(ierr);
}

static PetscErrorCode GetCSR_ELL(Mat A, PetscBool structure, PETSC_UNUSED PetscBool values, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (structure) PetscCall(DCSRCopyOffsetsToDevice(csr.num_rows + 1, Get(A)->offsets, csr.wide, csr.row_offsets, stream));
  PetscCall(ELLToCSR(Get(A)->view, structure, csr, stream));
  ell_counts.csr_given++;
  ell_counts.structure_given += structure;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValues_ELL(Mat A, DCSRView csr, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ELLFromCSR(Get(A)->view, PETSC_FALSE, csr, stream));
  ell_counts.values_set++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy_ELL(PETSC_UNUSED Mat A, void **data)
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(Free((ELL **)data, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Bytes_ELL(Mat A, PetscCount *bytes)
{
  PetscFunctionBegin;
  *bytes += (PetscCount)(NumSlots(Get(A)) * (sizeof(PetscScalar) + sizeof(int32_t)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View_ELL(Mat A, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "ell: %" PetscInt_FMT " slots a row\n", Get(A)->view.width));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Mult_ELL(Mat A, MultKind kind, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (kind == MULT_FORWARD) PetscCall(ELLMult(Get(A)->view, x, z, y, stream));
  else PetscCall(ELLMultTranspose(Get(A)->view, (PetscBool)(kind == MULT_HERMITIAN), x, z, y, stream));
  ell_counts.mults++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Scale_ELL(Mat A, PetscScalar s, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ELLScale(Get(A)->view, s, stream));
  ell_counts.scaled++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetDiagonal_ELL(Mat A, PetscScalar diagonal[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(ELLGetDiagonal(Get(A)->view, diagonal, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define REQUIRED \
  .name = "ell", .create = Create_ELL, .getcsr = GetCSR_ELL, .setvalues = SetValues_ELL, .destroy = Destroy_ELL, .bytes = Bytes_ELL, .view = View_ELL, .mult = Mult_ELL, .scale = Scale_ELL, \
  .getdiagonal = GetDiagonal_ELL

static const MatDeviceStorageOps ell_storage        = {REQUIRED, .replaces_csr = PETSC_TRUE};
static const MatDeviceStorageOps ell_beside_storage = {REQUIRED};

static PetscErrorCode MatCreate_SeqAIJELLCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJCUDA(A, MATSEQAIJELLCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MatCreate_SeqAIJELLBesideCUDA(Mat A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJCUDA(A, MATSEQAIJELLBESIDECUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ELLRegister(void)
{
  PetscFunctionBegin;
  PetscCall(MatDeviceStorageRegister(MATSEQAIJELLCUDA, &ell_storage, NULL));
  PetscCall(MatDeviceStorageRegister(MATSEQAIJELLBESIDECUDA, &ell_beside_storage, NULL));
  PetscCall(MatRegister(MATSEQAIJELLCUDA, MatCreate_SeqAIJELLCUDA));
  PetscCall(MatRegister(MATSEQAIJELLBESIDECUDA, MatCreate_SeqAIJELLBesideCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}
