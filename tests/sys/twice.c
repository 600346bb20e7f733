static char help[] = "PETSc begun several times in a process, with the device and without it: each time the options of that time count, and the solution is the same.\n\n";

#include <petscsparsecuda.h>
#include <petscksp.h>
#include <cuda_runtime.h>

#define TIMES 3
#define ROWS  400

/* Options that are there before PetscInitialize() looks for devices: those of the environment, and this one. */
static void ForbidDevice(const char options[], PetscBool forbidden)
{
  char all[4096];

  (void)snprintf(all, sizeof(all), "%s %s", options, forbidden ? "-device_enable none" : "");
  (void)setenv("PETSC_OPTIONS", all, 1);
}

/* On the device where there is one. */
static PetscErrorCode CheckPosition(Mat A, PetscBool forbidden)
{
  int       count = 0;
  PetscBool bound, device;

  PetscFunctionBegin;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;
  (void)cudaGetLastError();
  device = (PetscBool)(count > 0 && !forbidden);
  PetscCall(MatBoundToCPU(A, &bound));
  PetscCheck(bound == !device, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The matrix is on the %s, with %d devices and -device_enable %s", bound ? "host" : "device", count, forbidden ? "none" : "lazy");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(MatType type, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, ROWS, ROWS));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    PetscCall(MatSetValue(*A, i, i, 2.5, INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1.0, INSERT_VALUES));
    if (i < ROWS - 1) PetscCall(MatSetValue(*A, i, i + 1, -1.0, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve with PCGAMG, which uses most of what the library keeps until PetscFinalize(). */
static PetscErrorCode Solve(MatType type, PetscBool forbidden, PetscReal *norm)
{
  Mat                A;
  Vec                x, b;
  KSP                ksp;
  PC                 pc;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(type, &A));
  PetscCall(CheckPosition(A, forbidden));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1.0));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPCG));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The solve ended with %s", KSPConvergedReasons[reason]);
  PetscCall(VecNorm(x, NORM_2, norm));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Once(int argc, char **argv, PetscBool forbidden)
{
  const MatType types[] = {MATDCSRCUDA, MATHISPARSECUDA, MATAUTOCUDA};
  PetscReal     norm;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(types); k++) {
    PetscCall(Solve(types[k], forbidden, &norm));
    PetscCheck(PetscAbsReal(norm - PetscSqrtReal((PetscReal)ROWS)) < 0.01, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the solution has norm %g", types[k], (double)norm);
  }
  PetscCall(PetscFinalize());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const environment = getenv("PETSC_OPTIONS");
  char              options[2048];
  PetscBool         forbidden = PETSC_FALSE;

  if (MPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
  (void)snprintf(options, sizeof(options), "%s", environment != NULL ? environment : "");
  for (int k = 1; k < argc; k++) forbidden = (PetscBool)(forbidden || !strcmp(argv[k], "-begin_without"));
  for (int k = 0; k < TIMES; k++, forbidden = (PetscBool)!forbidden) {
    ForbidDevice(options, forbidden);
    if (Once(argc, argv, forbidden) != PETSC_SUCCESS) return 1;
  }
  return MPI_Finalize() == MPI_SUCCESS ? 0 : 1;
}

/*TEST

   testset:
      nsize: {{1 2}}
      output_file: output/empty.out
      test:
         args: -options_left no
      test:
         suffix: without
         args: -options_left no -begin_without

TEST*/
