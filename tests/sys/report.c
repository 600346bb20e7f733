static char help[] = "-mat_dcsr_report: copies are counted by cause and by who asked, processes are summed, lines are counted, and the next PetscInitialize() begins anew.\n\n";

#include "../lib/sys.h"
#include <petscsparsecuda/report.h>
#include <petscksp.h>
#include <petscsparsecuda.h>

/* A copy for a function, in the middle of one for another cause. */
static PetscErrorCode CopyInside(void)
{
  PetscFunctionBegin;
  PetscSparseCUDAReportCopy(PETSC_TRUE, 1000, 0.25);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(PetscMPIInt rank)
{
  PetscFunctionBegin;
  PetscSparseCUDAReportCopy(PETSC_FALSE, 8, 0);
  PetscCallReported(REPORT_STRUCTURE, "MatHost_SeqAIJCUDA_sor", CopyInside());
  PetscCallReported(REPORT_OTHER, "MatHost_MPIAIJCUDA_sor", PetscSparseCUDAReportEnter(REPORT_VALUES, NULL).who != NULL ? CopyInside() : PETSC_ERR_PLIB);
  if (rank == 1) PetscCallReported(REPORT_VECTOR, NULL, CopyInside());
  PetscSparseCUDAReportCopy(PETSC_FALSE, 8, 0);
  for (PetscMPIInt k = 0; k <= rank; k++) PetscCall(PetscSparseCUDAReportLine("%s of rank %d", "a line", 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Expect(PetscSparseCUDACause cause, PetscBool to_host, PetscInt64 count, PetscLogDouble bytes)
{
  PetscInt64     got_count;
  PetscLogDouble got_bytes;

  PetscFunctionBegin;
  PetscSparseCUDATestGetReport(cause, to_host, &got_count, &got_bytes);
  PetscCheck(got_count == count && got_bytes == bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Cause %d: %" PetscInt64_FMT " copies of %g bytes, not %" PetscInt64_FMT " of %g", (int)cause, got_count,
             got_bytes, count, bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More rows and lines than there is room for: what does not fit is counted under its cause. */
static PetscErrorCode Overflow(void)
{
  static char names[100][16];

  PetscFunctionBegin;
  for (int k = 0; k < 100; k++) {
    PetscCall(PetscSNPrintf(names[k], sizeof(names[k]), "function%d", k));
    PetscCallReported(REPORT_VALUES, names[k], CopyInside());
    PetscCall(PetscSparseCUDAReportLine("line %d", k));
  }
  PetscCall(Expect(REPORT_VALUES, PETSC_TRUE, 100, 100000));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What MatMult() with host vectors and MatSOR() on the host copy. */
static PetscErrorCode OnDevice(void)
{
  Mat            A;
  Vec            x, y;
  const PetscInt n = 1000;
  PetscInt64     count;
  PetscLogDouble bytes;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, n, n, n, n));
  PetscCall(MatSetType(A, MATDCSRCUDA));
  for (PetscInt i = 0; i < n; i++) PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscSparseCUDATestGetReport(REPORT_INSERTION, PETSC_FALSE, &count, &bytes);
  PetscCheck(count > 0 && bytes >= (PetscLogDouble)n * sizeof(PetscScalar), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt64_FMT " copies of entries with %g bytes", count, bytes);
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecSet(x, 1));
  for (int k = 0; k < 60; k++) PetscCall(MatMult(A, x, y));
  PetscCall(Expect(REPORT_VECTOR, PETSC_FALSE, 60, 60.0 * n * sizeof(PetscScalar)));
  PetscCall(Expect(REPORT_VECTOR, PETSC_TRUE, 60, 60.0 * n * sizeof(PetscScalar)));
  PetscCall(Expect(REPORT_VALUES, PETSC_TRUE, 0, 0));
  PetscCall(MatSOR(A, x, 1, SOR_FORWARD_SWEEP, 0, 1, 1, y));
  PetscCall(Expect(REPORT_VALUES, PETSC_TRUE, 1, (PetscLogDouble)n * sizeof(PetscScalar)));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCGAMG says for each level where it was set up. */
static PetscErrorCode Levels(void)
{
  Mat            A;
  Vec            x, b;
  KSP            ksp;
  PC             pc;
  const PetscInt n = 300;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_SELF, &A));
  PetscCall(MatSetSizes(A, n, n, n, n));
  PetscCall(MatSetType(A, MATDCSRCUDA));
  for (PetscInt i = 0; i < n; i++) {
    for (PetscInt j = PetscMax(i - 1, 0); j < PetscMin(i + 2, n); j++) PetscCall(MatSetValue(A, i, j, i == j ? 2 : -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetOptionsPrefix(ksp, "my_"));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPReset(ksp)); // a second setup is counted, not told again
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool   device = PETSC_FALSE, overflow = PETSC_FALSE, levels = PETSC_FALSE, again = PETSC_FALSE, often;
  PetscMPIInt rank;

  PetscCallMPI(MPI_Init(&argc, &argv)); // so that PETSc may begin again
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscInitialize(&argc, &argv, NULL, help));
    PetscCall(PetscSparseCUDAInitialize());
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-on_device", &device, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-overflow", &overflow, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-levels", &levels, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-again", &again, NULL));
    PetscCall(Expect(REPORT_OTHER, PETSC_FALSE, 0, 0));
    if (device) PetscCall(OnDevice());
    else if (levels) PetscCall(Levels());
    else if (overflow) PetscCall(Overflow());
    else {
      PetscCall(Copy(rank));
      PetscCall(Expect(REPORT_OTHER, PETSC_FALSE, PetscSparseCUDAReportActive() ? 2 : 0, PetscSparseCUDAReportActive() ? 16 : 0));
    }
    for (int n = 1; !device && !levels && n < 102; n++) {
      PetscCall(PetscSparseCUDAReportHostVector(&often));
      PetscCheck(often == (n == 100), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The vector %d on the host is%s told of", n, often ? "" : " not");
    }
    PetscCall(PetscFinalize());
    if (!again) break;
  }
  return MPI_Finalize() != MPI_SUCCESS;
}

/*TEST

  testset:
    args: -device_enable none -mat_dcsr_report
    test:
      suffix: host
      nsize: 2
      args: -again
    test:
      suffix: overflow
      args: -overflow
      filter: grep -c .
    test:
      suffix: levels
      args: -levels
  test:
    suffix: silent
    output_file: output/empty.out
    args: -device_enable none
  test:
    suffix: device
    requires: cuda
    args: -on_device -mat_dcsr_report
    filter: grep -E "vectors|operation sor" | tr -s " " | sed -e "s/ [0-9.]* [0-9.]*$//" | sort
  test:
    suffix: device_levels
    requires: cuda
    args: -levels -mat_dcsr_report
    filter: grep -c "set up on the device, independent set of .* (2 times)"

TEST*/
