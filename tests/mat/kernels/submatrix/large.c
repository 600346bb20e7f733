static char help[] = "The last rows of a matrix with 2^31 - 1 nonzeros: loops over them step beyond the last one.\n\n";

#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/submatrix.h>

#define ROW_LENGTH 4000 /* what a group of lanes reads alone */
#define LONG_ROW   9000 /* what a thread block reads together */
#define NUM_LAST   3

/* Structure alone: LONG_ROW entries in the last row but one, fewer than ROW_LENGTH in the first one, ROW_LENGTH in the others, all with column 0. */
static PetscErrorCode CreateLarge(PetscCount n, cudaStream_t stream, DCSRView *A)
{
  const PetscInt rows = (PetscInt)((n - LONG_ROW) / ROW_LENGTH) + 2, first = (PetscInt)((n - LONG_ROW) % ROW_LENGTH);
  PetscInt      *offsets;
  PetscBool      wide;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(n, &wide));
  PetscCall(DCSRViewAllocateStructure(rows, LONG_ROW, n, wide, stream, A));
  PetscCallCUDA(cudaMemsetAsync(A->columns, 0, (size_t)n * sizeof(*A->columns), stream));
  PetscCall(PetscMalloc1(rows + 1, &offsets));
  offsets[0] = 0;
  for (PetscInt r = 0; r < rows; r++) offsets[r + 1] = offsets[r] + (r == 0 ? first : r == rows - 2 ? LONG_ROW : ROW_LENGTH);
  PetscCheck(offsets[rows] == n, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " nonzeros where %" PetscCount_FMT " should be", offsets[rows], n);
  PetscCall(DCSRCopyOffsetsToDevice(rows + 1, offsets, wide, A->row_offsets, stream));
  PetscCall(PetscFree(offsets));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The last rows with all of their columns. */
static PetscErrorCode TestLastRows(DCSRView A, cudaStream_t stream)
{
  const DCSRIndices rows = {NUM_LAST, NULL, A.num_rows - NUM_LAST, 1, PETSC_TRUE}, columns = {A.num_columns, NULL, 0, 1, PETSC_TRUE};
  const PetscCount  expected = (NUM_LAST - 1) * ROW_LENGTH + LONG_ROW;
  DCSRView          B;

  PetscFunctionBegin;
  PetscCall(DCSRSubmatrix(A, &rows, &columns, stream, &B));
  PetscCheck(B.num_nonzeros == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The last rows have %" PetscCount_FMT " nonzeros, and should have %" PetscCount_FMT, B.num_nonzeros, expected);
  PetscCall(DCSRViewFree(&B, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscCount n = PETSC_INT32_MAX;
  size_t           available, total;
  PetscBool        usable;
  DCSRView         A;
  cudaStream_t     stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  available = 0;
  if (usable) PetscCallCUDA(cudaMemGetInfo(&available, &total));
  if (available > (size_t)n * sizeof(int32_t) + ((size_t)1 << 30)) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(CreateLarge(n, stream, &A));
    PetscCall(TestLastRows(A, stream));
    PetscCall(DCSRViewFree(&A, stream));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
