static char help[] =
  "KSPCHEBYSHEV with matrices of our types estimates the eigenvalues that PETSc's code finds with MATAIJ, in the first setup and in later ones, and nothing of the size of a vector leaves the device.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include "../../src/ksp/ksp/impls/fused/fused.h"
#include "../../src/petsc/methods.h"

/* What is said of the matrix. */
typedef enum {
  NOTHING,
  SPD, /* and it stays so */
  SINGULAR,
  SINGULAR_SPD,
  NUM_KINDS
} Kind;
static const char *const kinds[NUM_KINDS] = {"plain", "SPD", "singular", "singular and said to be SPD"};

/* What happens between two setups. */
typedef enum {
  FIRST,
  NEW_VALUES,
  NEWER_VALUES,
  SAME_VALUES,
  OTHER_TRANSFORM,
  RIGHT_HAND_SIDE, /* in place of noise */
  NOISE,           /* again */
  FOURTH_KIND,
  GIVEN, /* the user says what they are */
  ESTIMATED,
  RESET,
  ON_THE_CPU,
  NOT_ON_THE_CPU,
  NUM_EVENTS
} Event;
static const char *const events[NUM_EVENTS] =
  {"the first setup", "new values",      "newer values", "the same values",  "another transform", "the right-hand side", "noise again", "polynomials of fourth kind",
   "given",           "estimated again", "KSPReset()",   "bound to the CPU", "no longer bound"};

static PetscBool device; /* the type is on the device */

/* A chain of blocks with jumps, other ones in each round. Without ends that are held it is singular. */
static PetscErrorCode Enter(Mat A, Kind kind, PetscInt bs, PetscInt round)
{
  const PetscBool singular = (PetscBool)(kind == SINGULAR || kind == SINGULAR_SPD);
  PetscInt        begin, end, n;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscInt  p    = i / bs;
    const PetscReal left = p == 0 ? 0 : 1 + (p * (round + 1)) % 4, right = p == n / bs - 1 ? 0 : 1 + ((p + 1) * (round + 1)) % 4;

    for (PetscInt c = 0; c < bs; c++) PetscCall(MatSetValue(A, i, p * bs + c, p * bs + c == i ? left + right + 0.125 * (bs - 1) + (singular ? 0 : 0.25) : -(PetscReal)0.125, INSERT_VALUES));
    if (p > 0) PetscCall(MatSetValue(A, i, i - bs, -left, INSERT_VALUES));
    if (p < n / bs - 1) PetscCall(MatSetValue(A, i, i + bs, -right, INSERT_VALUES));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateMatrix(MatType type, Kind kind, PetscInt n, PetscInt bs, Mat *A)
{
  MatNullSpace constants;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n * bs, n * bs));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  if (kind == SPD || kind == SINGULAR_SPD) {
    PetscCall(MatSetOption(*A, MAT_SPD, PETSC_TRUE));
    PetscCall(MatSetOption(*A, MAT_SPD_ETERNAL, PETSC_TRUE));
  }
  PetscCall(Enter(*A, kind, bs, 0));
  if (kind == SINGULAR || kind == SINGULAR_SPD) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
    PetscCall(MatSetNullSpace(*A, constants));
    PetscCall(MatNullSpaceDestroy(&constants));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSmoother(Mat A, const char pctype[], KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPCHEBYSHEV));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetNormType(*ksp, KSP_NORM_NONE));
  PetscCall(KSPSetTolerances(*ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 2));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckClose(PetscReal got, PetscReal expected, PetscReal tolerance, const char what[], const char of_what[])
{
  PetscFunctionBegin;
  PetscCheck(PetscAbsReal(got - expected) <= tolerance * PetscMax(1, PetscAbsReal(expected)), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %s is %.15g, and with MATAIJ %.15g", what, of_what, (double)got,
             (double)expected);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What smoothers have estimated, with what, and what they keep of what the user has asked for. */
static PetscErrorCode CompareEstimates(const KSP ksps[2], PetscReal tolerance, const char what[])
{
  const KSP_Chebyshev *c[2] = {(const KSP_Chebyshev *)ksps[0]->data, (const KSP_Chebyshev *)ksps[1]->data};
  PetscInt             its[2];
  PetscBool            same;

  PetscFunctionBegin;
  PetscCall(CheckClose(c[1]->emax_computed, c[0]->emax_computed, tolerance, what, "the largest eigenvalue"));
  if (!PetscDefined(USE_REAL_SINGLE)) PetscCall(CheckClose(c[1]->emin_computed, c[0]->emin_computed, tolerance, what, "the smallest eigenvalue"));
  PetscCheck(c[1]->usenoisy == c[0]->usenoisy, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: noise is %swanted", what, c[1]->usenoisy ? "" : "not ");
  PetscCheck((c[1]->kspest != NULL) == (c[0]->kspest != NULL), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: there is %s estimator", what, c[1]->kspest != NULL ? "an" : "no");
  if (c[0]->kspest == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscStrcmp(((PetscObject)c[0]->kspest)->type_name, ((PetscObject)c[1]->kspest)->type_name, &same));
  PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: estimated by %s", what, ((PetscObject)c[1]->kspest)->type_name);
  for (int k = 0; k < 2; k++) PetscCall(KSPGetIterationNumber(c[k]->kspest, &its[k]));
  PetscCheck(its[0] == its[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " steps, and %" PetscInt_FMT " with MATAIJ", what, its[1], its[0]);
  PetscCheck(ksps[1]->vec_rhs == NULL || ksps[1]->vec_rhs != ksps[1]->work[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the noise is left as a right-hand side", what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Before a setup. Raised state: PETSc sets up again, also when nothing else has happened to the matrix. */
static PetscErrorCode Happen(KSP ksp, Mat A, Kind kind, PetscInt bs, Event event)
{
  PC pc;

  PetscFunctionBegin;
  if (event == NEW_VALUES || event == NEWER_VALUES || event == NOT_ON_THE_CPU) PetscCall(Enter(A, kind, bs, (PetscInt)event));
  if (event == OTHER_TRANSFORM) PetscCall(KSPChebyshevEstEigSet(ksp, 0.25, 0.125, 0.0, 1.25));
  if (event == RIGHT_HAND_SIDE || event == NOISE) PetscCall(KSPChebyshevEstEigSetUseNoisy(ksp, (PetscBool)(event == NOISE)));
  if (event == FOURTH_KIND || event == GIVEN) PetscCall(KSPChebyshevSetKind(ksp, event == GIVEN ? KSP_CHEBYSHEV_FIRST : KSP_CHEBYSHEV_FOURTH));
  if (event == GIVEN) PetscCall(KSPChebyshevSetEigenvalues(ksp, 2.0, 0.125));
  if (event == ESTIMATED) PetscCall(KSPChebyshevSetEigenvalues(ksp, 0.0, 0.0));
  if (event == ON_THE_CPU || event == NOT_ON_THE_CPU) PetscCall(MatBindToCPU(A, (PetscBool)(event == ON_THE_CPU)));
  if (event == RESET) {
    PetscCall(KSPReset(ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCReset(pc));
    PetscCall(KSPSetOperators(ksp, A, A));
  }
  if (event != FIRST) PetscCall(PetscObjectStateIncrease((PetscObject)A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where they are does not matter, entries are compared on the host. */
static PetscErrorCode CompareSolutions(const Vec x[2], PetscReal tolerance, const char what[])
{
  const PetscScalar *arrays[2];
  PetscReal          size;
  PetscInt           n;

  PetscFunctionBegin;
  PetscCall(VecNorm(x[0], NORM_INFINITY, &size));
  PetscCall(VecGetLocalSize(x[0], &n));
  for (int k = 0; k < 2; k++) PetscCall(VecGetArrayRead(x[k], &arrays[k]));
  for (PetscInt i = 0; i < n; i++)
    PetscCheck(PetscAbsScalar(arrays[1][i] - arrays[0][i]) <= tolerance * size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " of the solution is %g, and with MATAIJ %g", what, i,
               (double)PetscRealPart(arrays[1][i]), (double)PetscRealPart(arrays[0][i]));
  for (int k = 0; k < 2; k++) PetscCall(VecRestoreArrayRead(x[k], &arrays[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve after each event, whose setup estimates. With right-hand sides and solutions where the vectors of the matrix are. */
static PetscErrorCode TestSmoother(MatType type, Kind kind, PetscInt n, PetscInt bs, const char pctype[], PetscReal tolerance)
{
  char          what[128];
  Mat           A[2];
  Vec           b[2], x[2];
  KSP           ksps[2];
  PetscObjectId before, after;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateMatrix(k ? type : MATAIJ, kind, n, bs, &A[k]));
    PetscCall(CreateSmoother(A[k], pctype, &ksps[k]));
    PetscCall(MatCreateVecs(A[k], &x[k], &b[k]));
    PetscCall(TestFill(b[k], 3));
  }
  PetscCall(TestUsesDevice(A[1], &device));
  for (int event = 0; event < NUM_EVENTS; event++) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT " blocks of %" PetscInt_FMT ", %s, %s, %s", n, bs, kinds[kind], pctype, events[event]));
    before = event == FIRST || event == RESET ? 0 : ((PetscObject)ksps[1]->work[1])->id;
    for (int k = 0; k < 2; k++) {
      PetscCall(Happen(ksps[k], A[k], kind, bs, (Event)event));
      if (event != FIRST || kind == NOTHING) PetscCall(KSPSolve(ksps[k], b[k], x[k]));
      else PetscCall(KSPSetUp(ksps[k]));
    }
    PetscCall(CompareEstimates(ksps, tolerance, what));
    PetscCall(CompareSolutions(x, 10 * tolerance, what));
    after = ((PetscObject)ksps[1]->work[1])->id;
    PetscCheck(before == 0 || before == after || (device && (event == ON_THE_CPU || event == NOT_ON_THE_CPU)), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: there are other work vectors", what);
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksps[k]));
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
    PetscCall(MatDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes that PETSc and the library have copied between host and device so far. */
static PetscLogDouble Copied(void)
{
#if PetscDefined(HAVE_DEVICE) && PetscDefined(USE_LOG)
  return petsc_ctog_sz + petsc_gtoc_sz;
#else
  return 0;
#endif
}

/* On the device KSPCG and KSPGMRES with PCJACOBI estimate without a solution, unless there is a null space. */
static PetscErrorCode CheckSolution(KSP ksp, Kind kind)
{
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(VecNorm(((const KSP_Chebyshev *)ksp->data)->kspest->vec_sol, NORM_INFINITY, &norm));
  PetscCheck((norm > 0) == (kind >= SINGULAR), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the estimate has %s solution", kinds[kind], norm > 0 ? "a" : "no");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The second setup of a solver copies no more than a fraction of a vector. */
static PetscErrorCode TestCopies(MatType type, Kind kind)
{
  const PetscInt n = 120000;
  PetscLogDouble first, later, bytes;
  PetscInt       m;
  Mat            A;
  KSP            ksp;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(type, kind, n, 1, &A));
  PetscCall(CreateSmoother(A, PCJACOBI, &ksp));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  bytes = (PetscLogDouble)m * (PetscLogDouble)sizeof(PetscScalar);
  first = Copied();
  PetscCall(KSPSetUp(ksp));
  first = Copied() - first;
  PetscCall(CheckSolution(ksp, kind));
  PetscCall(MatScale(A, 2.0));
  later = Copied();
  PetscCall(KSPSetUp(ksp));
  later = Copied() - later;
  PetscCall(CheckSolution(ksp, kind));
  PetscCheck(later < 0.25 * bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes were copied between host and device in a setup with new values; a vector has %g", kinds[kind], later, bytes);
  PetscCheck(first < 0.25 * bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g bytes were copied between host and device in the first setup; a vector has %g", kinds[kind], first, bytes);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same of PCGAMG, whose smoothers estimate in each setup but the first. */
static PetscErrorCode TestCopiesOfLevels(MatType type, Kind kind)
{
  PetscLogDouble bytes, copied;
  PetscInt       m;
  Mat            A;
  PC             pc;

  PetscFunctionBegin;
  PetscCall(TestCreatePoisson(type, 300, &A));
  if (kind == SPD) PetscCall(MatSetOption(A, MAT_SPD, PETSC_TRUE));
  if (kind == SPD) PetscCall(MatSetOption(A, MAT_SPD_ETERNAL, PETSC_TRUE));
  PetscCall(MatGetLocalSize(A, &m, NULL));
  bytes = (PetscLogDouble)m * (PetscLogDouble)sizeof(PetscScalar);
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  for (int round = 0; round < 2; round++) {
    PetscCall(MatScale(A, 2.0));
    copied = Copied();
    PetscCall(PCSetUp(pc));
    copied = Copied() - copied;
    PetscCheck(copied < 0.5 * bytes, PETSC_COMM_SELF, PETSC_ERR_PLIB, "PCGAMG, %s: %g bytes were copied between host and device in setup %d; a vector has %g", kinds[kind], copied, round + 2, bytes);
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscReal fine = PetscDefined(USE_REAL_SINGLE) ? 5e-2 : 1e-6; // rounding errors of the Arnoldi process grow by a factor a step
  char           *type;
  PetscMPIInt     size;
  PetscBool       forced; /* without norms steps go on after the end, and are made of rounding errors */
  PetscBool       wrong;  /* VecMAXPY() of vectors on the device that have fewer entries than there are vectors */

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-esteig_ksp_norm_type", &forced));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int kind = 0; kind < NUM_KINDS; kind++) {
    PetscCall(TestSmoother(type, (Kind)kind, 203, 1, PCJACOBI, fine));
    PetscCall(TestSmoother(type, (Kind)kind, 101, 3, PCJACOBI, fine));
    PetscCall(TestSmoother(type, (Kind)kind, 203, 1, PCNONE, fine));
  }
  wrong = (PetscBool)(PETSC_VERSION_LT(3, 26, 0) && device);
  for (int kind = 0; kind < SINGULAR; kind++) {
    PetscCall(TestSmoother(type, (Kind)kind, 5003, 1, PCJACOBI, fine));
    for (PetscInt n = 1; n < 4 && !forced && !wrong && !PetscDefined(USE_REAL_SINGLE); n++) PetscCall(TestSmoother(type, (Kind)kind, n, 1, PCJACOBI, fine)); // solved before the last step
  }
  if (device) {
    for (int kind = 0; kind < NUM_KINDS; kind++) PetscCall(TestCopies(type, (Kind)kind));
    for (int kind = 0; kind < SINGULAR && size == 1; kind++) PetscCall(TestCopiesOfLevels(type, (Kind)kind));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   testset:
      nsize: {{1 2 3}}
      args: -use_gpu_aware_mpi 0
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: options
         args: -ksp_chebyshev_esteig 0.1,0,0,1.3 -ksp_chebyshev_esteig_steps 6 -esteig_ksp_type {{cg gmres}} -esteig_ksp_norm_type {{none preconditioned}}
      test:
         suffix: guess
         args: -esteig_ksp_initial_guess_nonzero
      test:
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: host
         args: -device_enable none

TEST*/
