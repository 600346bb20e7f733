static char help[] = "The launch rule of the transpose product: which kind is chosen on both sides of its borders.\n\n";

#include "../../../../src/mat/kernels/spmvtranspose/spmvtransposeimpl.h"

/* Rows of ROW_SIZE nonzeros. */
#define ROW_SIZE 10

/* Where the columns of a row lie. */
typedef enum {
  APART,   /* no column is in two rows */
  SHARED,  /* as many rows that follow each other have the same columns as one thread sums */
  CROWDED, /* one row more: the columns are heavy */
  POPULAR, /* as APART, but all rows have column 0, which is heavy */
  BAND     /* one somewhere, the others in a band after all of these, farther from the first columns than all windows of a tile reach */
} Columns;

#define BAND_BEGIN 3000000

/* The k-th column of row r. */
static PetscInt Column(Columns columns, PetscInt r, PetscInt k)
{
  if (columns == POPULAR && k == 0) return 0;
  if (columns == BAND) return k == 0 ? (PetscInt)(r * 7919LL % BAND_BEGIN) : BAND_BEGIN + r + k;
  return (columns == SHARED ? r / SPMVT_MAX_RUN : columns == CROWDED ? r / (SPMVT_MAX_RUN + 1) : r) * ROW_SIZE + k;
}

static PetscErrorCode CreateView(PetscInt num_rows, Columns columns, cudaStream_t stream, DCSRView *view)
{
  const PetscInt num_nonzeros = num_rows * ROW_SIZE;
  int32_t       *offsets, *cols;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc2(num_rows + 1, &offsets, num_nonzeros, &cols));
  for (PetscInt r = 0; r <= num_rows; r++) offsets[r] = (int32_t)(r * ROW_SIZE);
  for (PetscInt r = 0; r < num_rows; r++)
    for (PetscInt k = 0; k < ROW_SIZE; k++) cols[r * ROW_SIZE + k] = (int32_t)Column(columns, r, k);
  PetscCall(DCSRViewAllocateStructure(num_rows, num_nonzeros, num_nonzeros, PETSC_FALSE, stream, view));
  PetscCall(PetscSparseCUDACopyToDevice(view->row_offsets, offsets, sizeof(*offsets) * (size_t)(num_rows + 1), stream));
  PetscCall(PetscSparseCUDACopyToDevice(view->columns, cols, sizeof(*cols) * (size_t)num_nonzeros, stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscCall(PetscFree2(offsets, cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(PetscInt num_rows, Columns columns, DCSRSpMVTransposeKind expected, cudaStream_t stream)
{
  DCSRSpMVTransposePlan plan;
  DCSRSpMVTransposeKind kind;
  DCSRView              view;
  const char           *description;

  PetscFunctionBeginUser;
  PetscCall(CreateView(num_rows, columns, stream, &view));
  PetscCall(DCSRSpMVTransposePlanCreate(view, DCSR_SPMVT_AUTO, stream, &plan));
  PetscCall(DCSRSpMVTransposePlanGetInfo(plan, &kind, NULL, &description));
  if (kind != expected) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " rows of %d, columns %d: %s\n", num_rows, ROW_SIZE, (int)columns, description));
  PetscCall(DCSRSpMVTransposePlanDestroy(&plan, stream));
  // for one product alone tiles are left for later, unless columns are heavy
  PetscCall(DCSRSpMVTransposePlanCreateForOne(view, DCSR_SPMVT_AUTO, stream, &plan));
  if (DCSRSpMVTransposePlanIsComplete(plan) != (PetscBool)(expected == DCSR_SPMVT_ATOMIC || (columns != SHARED && columns != BAND)))
    PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " rows of %d, columns %d, for one product: complete or not\n", num_rows, ROW_SIZE, (int)columns));
  PetscCall(DCSRSpMVTransposePlanComplete(plan, view, stream));
  PetscCall(DCSRSpMVTransposePlanGetInfo(plan, &kind, NULL, &description));
  if (kind != expected) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%" PetscInt_FMT " rows of %d, columns %d, completed: %s\n", num_rows, ROW_SIZE, (int)columns, description));
  PetscCall(DCSRSpMVTransposePlanDestroy(&plan, stream));
  PetscCall(DCSRViewFree(&view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (Columns columns = APART; columns <= BAND; columns = (Columns)(columns + 1)) {
      const DCSRSpMVTransposeKind kind = columns == APART ? DCSR_SPMVT_ATOMIC : DCSR_SPMVT_TILE;

      PetscCall(Check(29999, columns, DCSR_SPMVT_ATOMIC, stream));
      PetscCall(Check(30000, columns, kind, stream));
      PetscCall(Check(49999, columns, kind, stream));
      PetscCall(Check(50000, columns, kind, stream));
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
