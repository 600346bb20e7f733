static char help[] = "PCGAMG makes the levels that it makes of MATAIJ whatever is said of the symmetry of a matrix, and whether that is true: rows of boundary conditions are set in several ways.\n\n";

#include "samelevels.h"
#include "mat/impls/dcsr/testmat.h"

#define SIDE 26

/* What is said of the matrix. */
typedef enum {
  NOTHING,
  SPD,
  NOT_SPD,
  SYMMETRIC,
  NOT_SYMMETRIC,
  HERMITIAN,
  STRUCTURALLY,
  NOT_STRUCTURALLY,
  ETERNAL,
  TESTED, /* by MatIsSymmetric() */
  NUM_SAYINGS
} Saying;
static const char *const sayings[NUM_SAYINGS] =
  {"nothing", "SPD", "not SPD", "symmetric", "not symmetric", "Hermitian", "structurally symmetric", "not structurally symmetric", "eternally SPD", "what MatIsSymmetric() finds"};

/* Rows of the boundary. */
typedef enum {
  NONE,
  ROWS,    /* the pattern loses entries, on one side of the diagonal alone */
  KEPT,    /* zeros are stored, on one side alone */
  COLUMNS, /* on both sides */
  NUM_BOUNDARIES
} Boundary;
static const char *const boundaries[NUM_BOUNDARIES] = {"no boundary", "MatZeroRows()", "MatZeroRows(), pattern kept", "MatZeroRowsColumns()"};

static PetscErrorCode Say(Mat A, Saying saying)
{
  PetscBool symmetric;

  PetscFunctionBegin;
  if (saying == SPD || saying == NOT_SPD || saying == ETERNAL) PetscCall(MatSetOption(A, MAT_SPD, (PetscBool)(saying != NOT_SPD)));
  if (saying == ETERNAL) PetscCall(MatSetOption(A, MAT_SPD_ETERNAL, PETSC_TRUE));
  if (saying == ETERNAL) PetscCall(MatSetOption(A, MAT_SYMMETRY_ETERNAL, PETSC_TRUE));
  if (saying == SYMMETRIC || saying == NOT_SYMMETRIC) PetscCall(MatSetOption(A, MAT_SYMMETRIC, (PetscBool)(saying == SYMMETRIC)));
  if (saying == HERMITIAN) PetscCall(MatSetOption(A, MAT_HERMITIAN, PETSC_TRUE));
  if (saying == STRUCTURALLY || saying == NOT_STRUCTURALLY) PetscCall(MatSetOption(A, MAT_STRUCTURALLY_SYMMETRIC, (PetscBool)(saying == STRUCTURALLY)));
  if (saying == TESTED) PetscCall(MatIsSymmetric(A, 0, &symmetric));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetBoundary(Mat A, Boundary boundary)
{
  PetscInt begin, end, n = 0, rows[SIDE * SIDE];

  PetscFunctionBegin;
  if (boundary == NONE) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    if (i % SIDE == 0 || i / SIDE == 0 || i % 37 == 5) rows[n++] = i;
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, (PetscBool)(boundary == KEPT)));
  if (boundary == COLUMNS) PetscCall(MatZeroRowsColumns(A, n, rows, 1, NULL, NULL));
  else PetscCall(MatZeroRows(A, n, rows, 1, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* before: what is said of the matrix is said before the boundary is set. */
static PetscErrorCode Create(MatType type, Saying saying, Boundary boundary, PetscBool before, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(TestCreatePoisson(type, SIDE, A));
  if (before) PetscCall(Say(*A, saying));
  PetscCall(SetBoundary(*A, boundary));
  if (!before) PetscCall(Say(*A, saying));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is said of MATAIJ's matrix and of ours. */
static PetscErrorCode Test(MatType type, Saying theirs, Saying ours, Boundary boundary, PetscBool before)
{
  char what[256];
  Mat  A[2];
  KSP  ksp[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s is said %s, %s", sayings[ours], before ? "before" : "after", boundaries[boundary]));
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, k ? ours : theirs, boundary, before, &A[k]));
    PetscCall(LevelsCreateKSP(A[k], &ksp[k]));
    PetscCall(KSPSetUp(ksp[k]));
  }
  PetscCall(LevelsCompare(ksp[0], ksp[1], what));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether PETSc takes the graph for symmetric. */
static PetscBool IsBelieved(Saying saying)
{
  return (PetscBool)(saying == SPD || saying == SYMMETRIC || saying == HERMITIAN || saying == STRUCTURALLY || saying == ETERNAL);
}

/* On several processes PETSc 3.26 goes on for ever when that is wrong. Ours makes the graph symmetric then, as when nothing is said, which has another estimate of eigenvalues for what is SPD. */
static PetscErrorCode TestWrong(MatType type, Saying saying, Boundary boundary, PetscBool before)
{
  PetscBool device;
  Mat       A;

  PetscFunctionBegin;
  PetscCall(TestCreatePoisson(type, SIDE, &A));
  PetscCall(TestUsesDevice(A, &device));
  PetscCall(MatDestroy(&A));
  if (device && saying != SPD && saying != ETERNAL) PetscCall(Test(type, NOTHING, saying, boundary, before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char       *type;
  PetscReal   threshold = -1;
  PetscMPIInt size;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-pc_gamg_threshold", &threshold, NULL));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (Saying saying = NOTHING; saying < NUM_SAYINGS; saying++)
    for (Boundary boundary = NONE; boundary < NUM_BOUNDARIES; boundary++)
      for (PetscInt before = 0; before < 2; before++) {
        const PetscBool wrong = (PetscBool)(size > 1 && IsBelieved(saying) && (boundary == ROWS || (boundary == KEPT && threshold >= 0)));

        if (!wrong) PetscCall(Test(type, saying, saying, boundary, (PetscBool)before));
        else if (threshold < 0) PetscCall(TestWrong(type, saying, boundary, (PetscBool)before)); // with a threshold the values on both sides are added when nothing is said
      }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: samelevels.c ../../mat/impls/dcsr/testmat.c

   testset:
      nsize: {{1 2 3}}
      output_file: output/empty.out
      test:
         suffix: host
         args: -device_enable none
      test:
         suffix: 1
         requires: cuda
         args: -use_gpu_aware_mpi 0
      test:
         suffix: types
         requires: cuda
         nsize: {{1 2}}
         args: -use_gpu_aware_mpi 0 -mat_type {{hisparsecuda autocuda}}
      test:
         suffix: threshold
         requires: cuda
         args: -use_gpu_aware_mpi 0 -pc_gamg_threshold 0.05
      test:
         suffix: unsymmetrized
         requires: cuda
         nsize: 1
         args: -use_gpu_aware_mpi 0 -pc_gamg_graph_symmetrize false -pc_gamg_threshold {{-1 0.05}}
      test:
         suffix: hops
         requires: cuda
         args: -use_gpu_aware_mpi 0 -pc_gamg_aggressive_coarsening 0

TEST*/
