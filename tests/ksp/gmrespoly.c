static char help[] = "KSPGMRESPOLY is the polynomial of GMRES for the vector that it was made with, linear, the same for its transpose, and made again for new values.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include "../../src/ksp/ksp/impls/fused/fused.h"

static const PCType pcs[] = {PCJACOBI, PCNONE, PCBJACOBI, PCPBJACOBI}; // TestGMRES() is for the first two

/* Upwind convection and diffusion along a circle of n points with coefficients that vary, a source at every point: complex eigenvalues. shift makes other values in the same positions. */
static PetscErrorCode CreateMatrix(MatType type, PetscInt n, PetscReal shift, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscReal along = 4 + shift + i % 3;

    PetscCall(MatSetValue(*A, i, i, along + 2.5, ADD_VALUES));
    PetscCall(MatSetValue(*A, i, (i + n - 1) % n, -along - 1, ADD_VALUES));
    PetscCall(MatSetValue(*A, i, (i + 1) % n, -1, ADD_VALUES));
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(Mat A, KSPType type, PCType pc_type, PetscInt degree, const char prefix[], KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, prefix));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, pc_type));
  PetscCall(KSPSetTolerances(*ksp, 1e-30, 1e-30, PETSC_CURRENT, degree));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Relative; y may be changed. */
static PetscErrorCode Compare(Vec x, Vec y, PetscReal tolerance, const char what[], const char pc[], PetscInt degree)
{
  PetscReal norm, size;

  PetscFunctionBegin;
  PetscCall(VecNorm(x, NORM_2, &size));
  PetscCall(VecAXPY(y, -1.0, x));
  PetscCall(VecNorm(y, NORM_2, &norm));
  PetscCheck(norm <= tolerance * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s, degree %" PetscInt_FMT ": vectors differ by %g of %g", what, pc, degree, (double)norm, (double)size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetResidualNorm(KSP ksp, Vec b, Vec x, PetscReal *norm)
{
  PC  pc;
  Mat A;
  Vec r, z;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecDuplicate(b, &z));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1.0, b));
  PetscCall(PCApply(pc, r, z));
  PetscCall(VecNorm(z, NORM_2, norm));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GMRES of the same degree for the right-hand side whose preconditioned residual is the noise. */
static PetscErrorCode TestGMRES(Mat A, PCType pc_type, PetscInt degree, PetscReal tolerance)
{
  KSP       poly, gmres;
  Vec       b, x, noise;
  PetscReal norm[2];
  PetscBool jacobi;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(pc_type, PCJACOBI, &jacobi));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &noise));
  PetscCall(CreateSolver(A, KSPGMRESPOLY, pc_type, degree, NULL, &poly));
  PetscCall(CreateSolver(A, KSPGMRES, pc_type, degree, NULL, &gmres));
  PetscCall(KSPGMRESSetRestart(gmres, degree));
  PetscCall(KSPSetNoisy_Private(NULL, noise));
  if (jacobi) {
    PetscCall(MatGetDiagonal(A, b));
    PetscCall(VecPointwiseMult(b, b, noise));
  } else PetscCall(VecCopy(noise, b));
  PetscCall(KSPSolve(gmres, b, x));
  PetscCall(GetResidualNorm(gmres, b, x, &norm[0]));
  PetscCall(KSPSolve(poly, b, x));
  PetscCall(GetResidualNorm(poly, b, x, &norm[1]));
  PetscCheck(PetscAbsReal(norm[0] - norm[1]) <= tolerance * norm[0], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, degree %" PetscInt_FMT ": the residual is %g, of GMRES %g", pc_type, degree,
             (double)norm[1], (double)norm[0]);
  PetscCall(KSPDestroy(&poly));
  PetscCall(KSPDestroy(&gmres));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&noise));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* M (x + a y) = M x + a M y; a guess that is not zero; u^T M^T v = v^T M u; and the same from PETSc's operations of vectors. */
static PetscErrorCode TestLinear(Mat A, PCType pc_type, PetscInt degree, PetscReal tolerance)
{
  KSPFusedContext  *context;
  PetscBool         device, jacobi, fused;
  const PetscScalar a = 0.75;
  KSP               ksp, plain;
  PetscScalar       dots[2];
  PetscReal         sizes[2];
  Vec               v[6];

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, KSPGMRESPOLY, pc_type, degree, NULL, &ksp));
  PetscCall(CreateSolver(A, KSPGMRESPOLY, pc_type, degree, "plain_", &plain));
  for (int k = 0; k < 6; k++) PetscCall(MatCreateVecs(A, &v[k], NULL));
  PetscCall(TestFill(v[0], 1));
  PetscCall(TestFill(v[1], 2));
  PetscCall(VecWAXPY(v[2], a, v[1], v[0]));
  for (int k = 0; k < 3; k++) PetscCall(KSPSolve(ksp, v[k], v[k + 3]));
  PetscCall(PetscObjectContainerQuery((PetscObject)ksp, KSP_FUSED_CONTEXT, &context));
  PetscCall(TestUsesDevice(A, &device));
  PetscCall(PetscStrcmpAny(pc_type, &jacobi, PCJACOBI, PCPBJACOBI, ""));
  PetscCall(PetscStrcmp(context->said, KSP_FUSED, &fused));
  PetscCheck(fused == (PetscBool)(device && jacobi), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, degree %" PetscInt_FMT ": %s", pc_type, degree, context->said);
  PetscCall(VecAXPY(v[3], a, v[4]));
  PetscCall(Compare(v[5], v[3], tolerance, "linear", pc_type, degree));

  PetscCall(KSPSolve(plain, v[2], v[3]));
  PetscCall(Compare(v[5], v[3], tolerance, "without fusion", pc_type, degree));

  // x + M (b - A x)
  PetscCall(VecCopy(v[0], v[4]));
  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_TRUE));
  PetscCall(KSPSolve(ksp, v[1], v[4]));
  PetscCall(MatMult(A, v[0], v[2]));
  PetscCall(VecAYPX(v[2], -1.0, v[1]));
  PetscCall(KSPSolve(plain, v[2], v[3]));
  PetscCall(VecAXPY(v[3], 1.0, v[0]));
  PetscCall(Compare(v[4], v[3], tolerance, "guess", pc_type, degree));
  PetscCall(VecCopy(v[0], v[5]));
  PetscCall(KSPSetInitialGuessNonzero(plain, PETSC_TRUE));
  PetscCall(KSPSolve(plain, v[1], v[5]));
  PetscCall(Compare(v[4], v[5], tolerance, "guess without fusion", pc_type, degree));

  PetscCall(KSPSetInitialGuessNonzero(ksp, PETSC_FALSE));
  PetscCall(KSPSolve(ksp, v[0], v[2]));
  PetscCall(KSPSolveTranspose(ksp, v[1], v[3]));
  PetscCall(VecTDot(v[2], v[1], &dots[0]));
  PetscCall(VecTDot(v[0], v[3], &dots[1]));
  PetscCall(VecNorm(v[2], NORM_2, &sizes[0]));
  PetscCall(VecNorm(v[1], NORM_2, &sizes[1]));
  PetscCheck(PetscAbsScalar(dots[0] - dots[1]) <= tolerance * sizes[0] * sizes[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, degree %" PetscInt_FMT ": the transposed solve is not the transpose", pc_type,
             degree);

  PetscCall(VecZeroEntries(v[0]));
  PetscCall(KSPSolve(ksp, v[0], v[2]));
  PetscCall(VecNorm(v[2], NORM_2, &sizes[0]));
  PetscCheck(sizes[0] == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, degree %" PetscInt_FMT ": zero becomes %g", pc_type, degree, (double)sizes[0]);
  for (int k = 0; k < 6; k++) PetscCall(VecDestroy(&v[k]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The steps of the last setup; they belong to the KSP. */
static void GetSteps(KSP ksp, PetscInt *n, const KSPGMRESPolyStep **steps)
{
  *n     = ((const KSP_GMRESPoly *)ksp->data)->num_steps;
  *steps = ((const KSP_GMRESPoly *)ksp->data)->steps;
}

static PetscErrorCode CheckSameSteps(KSP a, KSP b, const char what[])
{
  const KSPGMRESPolyStep *steps[2];
  PetscInt                n[2];

  PetscFunctionBegin;
  GetSteps(a, &n[0], &steps[0]);
  GetSteps(b, &n[1], &steps[1]);
  PetscCheck(n[0] == n[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " and %" PetscInt_FMT " steps", what, n[0], n[1]);
  for (PetscInt k = 0; k < n[0]; k++) {
    const PetscReal scale = 1e4 * PETSC_MACHINE_EPSILON * PetscAbsScalar(steps[1][k].alpha);

    PetscCheck(PetscAbsScalar(steps[0][k].alpha - steps[1][k].alpha) <= scale && PetscAbsReal(steps[0][k].gamma - steps[1][k].gamma) <= 1e4 * PETSC_MACHINE_EPSILON, PETSC_COMM_WORLD, PETSC_ERR_PLIB,
               "%s: step %" PetscInt_FMT " differs", what, k);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values, another degree, and after KSPReset(). */
static PetscErrorCode TestRefresh(MatType type)
{
  Mat                     A, B;
  KSP                     ksp, fresh;
  Vec                     b, x;
  const KSPGMRESPolyStep *steps;
  PetscInt                n, num_complex = 0;
  PetscScalar             before;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(type, 60, 0, &A));
  PetscCall(CreateMatrix(type, 60, 0.5, &B));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CreateSolver(A, KSPGMRESPOLY, PCJACOBI, 5, NULL, &ksp));
  PetscCall(CreateSolver(B, KSPGMRESPOLY, PCJACOBI, 5, NULL, &fresh));
  PetscCall(KSPSetUp(ksp));
  PetscCall(KSPSetUp(fresh));
  GetSteps(ksp, &n, &steps);
  before = steps[0].alpha;
  for (PetscInt k = 0; k < n; k++) num_complex += steps[k].im != 0;
  PetscCheck(n == 5 && num_complex >= 2, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " roots, %" PetscInt_FMT " of them complex", n, num_complex);
  PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
  PetscCall(KSPSolve(ksp, b, x)); // KSPSetUp() is not told of new values before PETSc 3.26
  GetSteps(ksp, &n, &steps);
  PetscCheck(steps[0].alpha != before, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "New values have the old polynomial");
  PetscCall(CheckSameSteps(ksp, fresh, "new values"));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 7));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, &n));
  PetscCheck(n == 7, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%" PetscInt_FMT " iterations of 7", n);
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, B, B));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 5));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(CheckSameSteps(ksp, fresh, "reset"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(KSPDestroy(&fresh));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose polynomial ends early, after so many roots, and then solves a system that has a solution. */
typedef enum {
  DIAGONAL, /* three eigenvalues */
  NEUMANN,  /* singular, and says so */
  SINGULAR, /* singular, and does not say so */
  ZERO,
  NUM_SPECIAL
} Special;
static const char *const specials[]  = {"three eigenvalues", "null space", "singular", "zero"};
static const PetscInt    num_roots[] = {3, 5, 2, 0};

static PetscErrorCode CreateSpecial(MatType type, Special special, Mat *A)
{
  const PetscInt n = 6;
  PetscInt       begin, end;
  MatNullSpace   space;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    if (special == DIAGONAL) PetscCall(MatSetValue(*A, i, i, 1 + i % 3, ADD_VALUES));
    else if (special == SINGULAR) PetscCall(MatSetValue(*A, i, i, i % 3, ADD_VALUES));
    else if (special == ZERO) PetscCall(MatSetValue(*A, i, i, 0.0, ADD_VALUES));
    else {
      PetscCall(MatSetValue(*A, i, i, 1 + (i > 0 && i < n - 1), ADD_VALUES));
      if (i > 0) PetscCall(MatSetValue(*A, i, i - 1, -1.0, ADD_VALUES));
      if (i < n - 1) PetscCall(MatSetValue(*A, i, i + 1, -1.0, ADD_VALUES));
    }
  }
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  if (special == NEUMANN) {
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &space));
    PetscCall(MatSetNullSpace(*A, space));
    PetscCall(MatSetTransposeNullSpace(*A, space));
    PetscCall(MatNullSpaceDestroy(&space));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestSpecial(MatType type, Special special)
{
  Mat                     A;
  KSP                     ksp;
  Vec                     x, b, r;
  PetscInt                n;
  PetscReal               norm;
  KSPConvergedReason      reason;
  const KSPGMRESPolyStep *steps;

  PetscFunctionBegin;
  PetscCall(CreateSpecial(type, special, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(TestFill(x, 3));
  PetscCall(MatMult(A, x, b));
  PetscCall(CreateSolver(A, KSPGMRESPOLY, PCNONE, 9, NULL, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason == KSP_CONVERGED_ITS, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: reason %s", specials[special], KSPConvergedReasons[reason]);
  GetSteps(ksp, &n, &steps);
  PetscCheck(n == num_roots[special], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscInt_FMT " roots, not %" PetscInt_FMT, specials[special], n, num_roots[special]);
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAXPY(r, -1.0, b));
  PetscCall(VecNorm(r, NORM_2, &norm));
  PetscCheck(norm <= 1e4 * PETSC_MACHINE_EPSILON, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: a residual of %g", specials[special], (double)norm);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A view says the degree, and in detail the roots. */
static PetscErrorCode TestView(KSP ksp, PetscInt degree)
{
  FILE       *file = tmpfile();
  PetscViewer viewer;
  char        text[4096], expected[64];
  char       *found;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO_DETAIL));
  PetscCall(KSPView(ksp, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  rewind(file);
  text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
  (void)fclose(file);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank != 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSNPrintf(expected, sizeof(expected), "polynomial of degree %" PetscInt_FMT "\n", degree));
  PetscCall(PetscStrstr(text, expected, &found));
  for (PetscInt k = 0; k < degree && found != NULL; k++) PetscCall(PetscStrstr(found + 1, " root ", &found));
  PetscCheck(found != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The view does not show %" PetscInt_FMT " roots: %s", degree, text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A degree or a norm that is refused. */
static PetscErrorCode TestError(Mat A, PetscInt degree, KSPNormType norm, PetscErrorCode expected)
{
  KSP            ksp;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreateSolver(A, KSPGMRESPOLY, PCJACOBI, degree, NULL, &ksp));
  PetscCall(KSPSetNormType(ksp, norm));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = KSPSetUp(ksp);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == expected, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Degree %" PetscInt_FMT ", norm %s: error %d", degree, KSPNormTypes[norm], (int)ierr);
  PetscCall(KSPDestroy(&ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No step; errors; values that are not a number. */
static PetscErrorCode TestOutcomes(MatType type)
{
  Mat                A;
  KSP                ksp;
  Vec                x, b;
  PetscInt           begin;
  PetscReal          norm;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(CreateMatrix(type, 20, 0, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1.0));
  PetscCall(CreateSolver(A, KSPGMRESPOLY, PCJACOBI, 4, NULL, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(TestView(ksp, 4));
  PetscCall(KSPSetTolerances(ksp, PETSC_CURRENT, PETSC_CURRENT, PETSC_CURRENT, 0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(VecNorm(x, NORM_2, &norm));
  PetscCheck(norm == 0, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "No step, and a solution of norm %g", (double)norm);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(TestError(A, 64, KSP_NORM_NONE, PETSC_SUCCESS));
  PetscCall(TestError(A, 65, KSP_NORM_NONE, PETSC_ERR_ARG_OUTOFRANGE));
  PetscCall(TestError(A, 4, KSP_NORM_UNPRECONDITIONED, PETSC_ERR_SUP));

  PetscCall(MatGetOwnershipRange(A, &begin, NULL));
  PetscCall(MatSetValue(A, begin, begin, NAN, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(CreateSolver(A, KSPGMRESPOLY, PCNONE, 4, NULL, &ksp));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCheck(reason == KSP_DIVERGED_NANORINF, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "Not a number: reason %s", KSPConvergedReasons[reason]);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt degrees[] = {1, 2, 3, 5, 8, 16, 32};
  char                 *type;
  Mat                   A;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(PetscOptionsSetValue(NULL, "-plain_ksp_fused", "0"));
  PetscCall(CreateMatrix(type, 301, 0, &A));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(degrees); k++) {
    const PetscReal tolerance = (degrees[k] < 10 ? 1e4 : 1e7) * PETSC_MACHINE_EPSILON;

    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(pcs); p++) {
      if (p < 2) PetscCall(TestGMRES(A, pcs[p], degrees[k], tolerance));
      PetscCall(TestLinear(A, pcs[p], degrees[k], tolerance));
    }
  }
  PetscCall(MatDestroy(&A));
  PetscCall(TestRefresh(type));
  for (int s = 0; s < NUM_SPECIAL; s++) PetscCall(TestSpecial(type, (Special)s));
  PetscCall(TestOutcomes(type));
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
         suffix: hisparse
         args: -mat_type hisparsecuda
      test:
         suffix: host
         args: -device_enable none
      test:
         suffix: aij
         args: -mat_type aij

TEST*/
