static char help[] = "MatSeqAIJGetArray() and its relatives, MatSeqAIJGetCSRAndMemType(): what the host reads and writes and what operations see.\n\n";

#include "testmat.h"
#include <petscdevice.h>
#include "../../../../src/petsc/sys.h"
#include <petscdevice_cuda.h>

static PetscErrorCode Length(Mat A, PetscInt *nz)
{
  MatInfo info;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  *nz = (PetscInt)info.nz_used;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reads what an operation wrote. */
static PetscErrorCode Read(Mat a, Mat b)
{
  PetscInt           nz;
  const PetscScalar *x, *y;

  PetscFunctionBegin;
  PetscCall(Length(a, &nz));
  PetscCall(MatSeqAIJGetArrayRead(a, &x));
  PetscCall(MatSeqAIJGetArrayRead(b, &y));
  for (PetscInt k = 0; k < nz; k++)
    PetscCheck(PetscAbsScalar(x[k] - y[k]) < 1e-5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatSeqAIJGetArrayRead: entry %" PetscInt_FMT " is %g and should be %g", k, (double)PetscRealPart(y[k]),
               (double)PetscRealPart(x[k]));
  PetscCall(MatSeqAIJRestoreArrayRead(a, &x));
  PetscCall(MatSeqAIJRestoreArrayRead(b, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Write(Mat a, PetscBool over)
{
  PetscInt     nz;
  PetscScalar *x;

  PetscFunctionBegin;
  PetscCall(Length(a, &nz));
  PetscCall(over ? MatSeqAIJGetArrayWrite(a, &x) : MatSeqAIJGetArray(a, &x));
  for (PetscInt k = 0; k < nz; k++) x[k] = over ? (PetscScalar)(k % 7) : x[k] + (PetscScalar)(k % 5);
  PetscCall(over ? MatSeqAIJRestoreArrayWrite(a, &x) : MatSeqAIJRestoreArray(a, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pointers must stay valid and describe the same matrix, also after values changed. */
static PetscErrorCode CSR(Mat a, Mat b)
{
  const PetscInt *ia, *ja, *ib, *jb;
  PetscInt        n, *i, *j;
  PetscScalar    *va, *vb, *v;
  PetscMemType    type;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(a, &n, NULL));
  PetscCall(MatSeqAIJGetCSRAndMemType(a, &ia, &ja, &va, NULL));
  PetscCall(MatSeqAIJGetCSRAndMemType(b, &ib, &jb, &vb, &type));
  PetscCall(PetscMalloc3(n + 1, &i, ia[n], &j, ia[n], &v));
  if (PetscMemTypeDevice(type)) {
    PetscCallCUDA(cudaDeviceSynchronize()); /* PETSc's stream may be one that others do not wait for */
    PetscCallCUDA(cudaMemcpy(i, ib, (size_t)((size_t)n + 1) * sizeof(*i), cudaMemcpyDeviceToHost));
    if (ia[n]) PetscCallCUDA(cudaMemcpy(j, jb, (size_t)((size_t)ia[n]) * sizeof(*j), cudaMemcpyDeviceToHost));
    if (ia[n]) PetscCallCUDA(cudaMemcpy(v, vb, (size_t)((size_t)ia[n]) * sizeof(*v), cudaMemcpyDeviceToHost));
  } else {
    PetscCall(PetscArraycpy(i, ib, n + 1));
    PetscCall(PetscArraycpy(j, jb, ia[n]));
    PetscCall(PetscArraycpy(v, vb, ia[n]));
  }
  for (PetscInt k = 0; k <= n; k++)
    PetscCheck(i[k] == ia[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatSeqAIJGetCSRAndMemType: row offset %" PetscInt_FMT " is %" PetscInt_FMT " and should be %" PetscInt_FMT, k, i[k], ia[k]);
  for (PetscInt k = 0; k < ia[n]; k++)
    PetscCheck(j[k] == ja[k] && PetscAbsScalar(v[k] - va[k]) < 1e-5, PETSC_COMM_SELF, PETSC_ERR_PLIB, "MatSeqAIJGetCSRAndMemType: entry %" PetscInt_FMT " differs", k);
  PetscCall(PetscFree3(i, j, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char            *type;
  PetscInt         n;
  PetscObjectState before, after;
  Mat              A, B, a[2], b[2];

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (TestLayout layout = TEST_EVEN; layout <= TEST_EVERY_OTHER; layout++) {
    PetscCall(TestCreatePair(type, 33, 33, layout, 4, 1, &A, &B));
    for (int bound = 0; bound < 2; bound++) {
      PetscCall(MatBindToCPU(B, (PetscBool)bound));
      PetscCall(TestBlocks(A, &n, a));
      PetscCall(TestBlocks(B, &n, b));
      for (PetscInt k = 0; k < n; k++) {
        PetscCall(CSR(a[k], b[k]));
        PetscCall(MatScale(a[k], 2));
        PetscCall(MatScale(b[k], 2));
        PetscCall(CSR(a[k], b[k]));
        PetscCall(Read(a[k], b[k]));
        PetscCall(MatScale(a[k], 2));
        PetscCall(MatScale(b[k], 2));
        PetscCall(Read(a[k], b[k]));
        for (int over = 0; over < 2; over++) {
          PetscCall(PetscObjectStateGet((PetscObject)b[k], &before));
          PetscCall(Write(a[k], (PetscBool)over));
          PetscCall(Write(b[k], (PetscBool)over));
          PetscCall(PetscObjectStateGet((PetscObject)b[k], &after));
          PetscCheck(after > before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "writing to the array of a matrix does not change its state");
          PetscCall(TestCompareProducts(A, B, "a product after the host wrote"));
          PetscCall(CSR(a[k], b[k]));
        }
        PetscCall(Read(a[k], b[k])); /* reading twice in between must not undo anything */
        PetscCall(TestCompare(A, B, "after the host read"));
      }
    }
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: auto
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1

TEST*/
