static char help[] = "-pc_gamg_level_values single: the iterations of full precision within one, solutions to the tolerance, and the matrix as it was for everybody else.\n\
  -problem, -near_null, -n: see problem.c; -type of the matrix\n\
  -more n: so many iterations more or less are allowed\n\
  -cycles_differ: on the device values in single precision make a difference to a cycle\n\n";

#include "problem.h"
#include <string.h>

static const char view_line[] = "Values of level operators and prolongators on the device: single precision", info_line[] = "values also in ";

typedef struct {
  char      type[64], values[16];
  PetscInt  more;
  PetscBool cycles_differ;
} Expected;

/* One matrix, with a solver in full precision and one whose cycles read single precision. */
typedef struct {
  Mat A;
  KSP ksp[2];
  Vec b, x[2], r;
} Case;

static PetscErrorCode CaseCreate(const ProblemOptions *o, const Expected *e, Case *c)
{
  PetscBool gmres;

  PetscFunctionBegin;
  PetscCall(ProblemCreate(o, e->type, &c->A));
  PetscCall(MatCreateVecs(c->A, &c->x[0], &c->b));
  PetscCall(VecDuplicate(c->x[0], &c->x[1]));
  PetscCall(VecDuplicate(c->b, &c->r));
  PetscCall(VecSet(c->b, 1.0));
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscOptionsSetValue(NULL, "-pc_gamg_level_values", k ? e->values : "double"));
    PetscCall(ProblemCreateKSP(o, c->A, &c->ksp[k]));
    PetscCall(KSPSetTolerances(c->ksp[k], PetscMax(1e-11, 1e3 * PETSC_MACHINE_EPSILON), PETSC_CURRENT, PETSC_CURRENT, 60));
    PetscCall(PetscObjectTypeCompare((PetscObject)c->ksp[k], KSPGMRES, &gmres));
    if (gmres) PetscCall(KSPSetPCSide(c->ksp[k], PC_RIGHT));
    PetscCall(KSPSetNormType(c->ksp[k], KSP_NORM_UNPRECONDITIONED));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&c->ksp[k]));
    PetscCall(VecDestroy(&c->x[k]));
  }
  PetscCall(VecDestroy(&c->b));
  PetscCall(VecDestroy(&c->r));
  PetscCall(MatDestroy(&c->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The largest of all processes. */
static PetscErrorCode MemoryUsed(Mat A, PetscCount *bytes)
{
  PetscFunctionBegin;
  PetscCall(MatDCSRCUDAGetMemoryUsed(A, bytes));
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, bytes, 1, MPIU_COUNT, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether a view has some words, on all processes. */
static PetscErrorCode ViewHas(PetscObject object, PetscViewerFormat format, const char words[], PetscBool *has)
{
  PetscMPIInt rank;
  PetscViewer viewer;
  FILE       *file;
  char        line[512];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  file = rank == 0 ? tmpfile() : NULL;
  PetscCheck(rank > 0 || file != NULL, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_WORLD, file, &viewer));
  PetscCall(PetscViewerPushFormat(viewer, format));
  PetscCall(PetscObjectView(object, viewer));
  PetscCall(PetscViewerPopFormat(viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  *has = PETSC_FALSE;
  if (file != NULL) {
    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL)
      if (strstr(line, words) != NULL) *has = PETSC_TRUE;
    fclose(file);
  }
  PetscCallMPI(MPI_Bcast(has, 1, MPI_C_BOOL, 0, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with both; the true residual is one of the matrix in full precision, which a solver with rounded values around its cycle would not get down to. */
static PetscErrorCode CheckSolves(const ProblemOptions *o, const Expected *e, Case *c, const char what[])
{
  const PetscReal    tolerance = PetscMax(1e-9, 1e4 * PETSC_MACHINE_EPSILON);
  PetscReal          norm, residual, size;
  PetscInt           its[2];
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(VecNorm(c->b, NORM_2, &norm));
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPSolve(c->ksp[k], c->b, c->x[k]));
    PetscCall(KSPGetIterationNumber(c->ksp[k], &its[k]));
    PetscCall(KSPGetConvergedReason(c->ksp[k], &reason));
    PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "%s, %s: no convergence with values in %s precision", Problems[o->problem], what, k ? "single" : "full");
    PetscCall(MatMult(c->A, c->x[k], c->r));
    PetscCall(VecAYPX(c->r, -1.0, c->b));
    PetscCall(VecNorm(c->r, NORM_2, &residual));
    PetscCheck(residual <= tolerance * norm, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: residual %g of %g with values in %s precision", Problems[o->problem], what, (double)residual, (double)norm,
               k ? "single" : "full");
  }
  PetscCheck(PetscAbsInt(its[0] - its[1]) <= e->more, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: %" PetscInt_FMT " iterations with values in single precision, %" PetscInt_FMT " without",
             Problems[o->problem], what, its[1], its[0]);
  PetscCall(VecNorm(c->x[0], NORM_2, &size));
  PetscCall(VecAXPY(c->x[1], -1.0, c->x[0]));
  PetscCall(VecNorm(c->x[1], NORM_2, &norm));
  PetscCheck(norm <= PetscMax(1e-6, 1e5 * PETSC_MACHINE_EPSILON) * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: solutions differ by %g of %g", Problems[o->problem], what, (double)norm,
             (double)size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle; with auto of a solve, since others read full values: a step of KSPCG. */
static PetscErrorCode ApplyCycle(const Expected *e, KSP ksp, Vec b, Vec x)
{
  PC        pc;
  PetscReal rtol, abstol, dtol;
  PetscInt  max_it;
  PetscBool solves;

  PetscFunctionBegin;
  PetscCall(PetscStrcmp(e->values, "auto", &solves));
  PetscCall(KSPGetPC(ksp, &pc));
  if (!solves) PetscCall(PCApply(pc, b, x));
  else {
    PetscCall(KSPGetTolerances(ksp, &rtol, &abstol, &dtol, &max_it));
    PetscCall(KSPSetTolerances(ksp, rtol, abstol, dtol, 1));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPSetTolerances(ksp, rtol, abstol, dtol, max_it));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A cycle of the one is nearly, and on the device not quite, one of the other: so the values are read, and are of now. */
static PetscErrorCode CheckCycles(const ProblemOptions *o, const Expected *e, Case *c, const char what[])
{
  PetscReal norm, size;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(ApplyCycle(e, c->ksp[k], c->b, c->x[k]));
  PetscCall(VecNorm(c->x[0], NORM_2, &size));
  PetscCall(VecAXPY(c->x[1], -1.0, c->x[0]));
  PetscCall(VecNorm(c->x[1], NORM_2, &norm));
  PetscCheck(norm <= PetscMax(1e-4, 1e4 * PETSC_MACHINE_EPSILON) * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: cycles differ by %g of %g", Problems[o->problem], what, (double)norm, (double)size);
  PetscCheck(!e->cycles_differ || norm > 1e-12 * size, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s, %s: cycles differ by %g of %g only: they read values in full precision", Problems[o->problem], what,
             (double)norm, (double)size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The copy of the finest matrix is there with the solver, is counted, and goes with it. Its products outside of cycles have the same bits all the time. */
static PetscErrorCode CheckMatrix(const ProblemOptions *o, const Expected *e, Case *c)
{
  PetscCount  with, without;
  PetscBool   has, same;
  PetscMPIInt size;
  Vec         y;

  PetscFunctionBegin;
  PetscCall(ViewHas((PetscObject)c->ksp[0], PETSC_VIEWER_DEFAULT, view_line, &has));
  PetscCheck(!has, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "The solver in full precision says that it is not");
  PetscCall(ViewHas((PetscObject)c->ksp[1], PETSC_VIEWER_DEFAULT, view_line, &has));
  PetscCheck(has == !PetscDefined(USE_REAL_SINGLE), PETSC_COMM_WORLD, PETSC_ERR_PLIB, "KSPView() does not say what the precision of the cycle is");
  PetscCall(ViewHas((PetscObject)c->A, PETSC_VIEWER_ASCII_INFO, info_line, &has));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size)); // blocks of a parallel matrix are not viewed
  PetscCheck(has == (e->cycles_differ && !o->mpi && size == 1) || !e->cycles_differ, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "MatView() does not say that there are values in single precision");
  PetscCall(VecDuplicate(c->r, &y));
  PetscCall(MatMult(c->A, c->x[0], c->r));
  PetscCall(MemoryUsed(c->A, &with));
  PetscCall(KSPDestroy(&c->ksp[1]));
  PetscCall(MemoryUsed(c->A, &without));
  PetscCheck(!e->cycles_differ || with > without, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: %" PetscCount_FMT " bytes with values in single precision, %" PetscCount_FMT " without", Problems[o->problem],
             with, without);
  PetscCall(MatMult(c->A, c->x[0], y));
  PetscCall(VecEqual(y, c->r, &same));
  PetscCheck(same, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: products of the matrix have changed", Problems[o->problem]);
  PetscCall(VecDestroy(&y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestProblem(const ProblemOptions *o, const void *context)
{
  const Expected *e = (const Expected *)context;
  Case            c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(o, e, &c));
  PetscCall(CheckSolves(o, e, &c, "first values"));
  PetscCall(CheckCycles(o, e, &c, "first values"));
  PetscCall(MatScale(c.A, 1.3));
  PetscCall(CheckSolves(o, e, &c, "scaled values"));
  PetscCall(CheckCycles(o, e, &c, "scaled values"));
  PetscCall(MatShift(c.A, 0.03));
  PetscCall(CheckSolves(o, e, &c, "shifted values"));
  PetscCall(CheckCycles(o, e, &c, "shifted values"));
  PetscCall(CheckMatrix(o, e, &c));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Expected expected = {MATAIJDCSRCUDA, "single", 1, PETSC_FALSE};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-type", expected.type, sizeof(expected.type), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-values", expected.values, sizeof(expected.values), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-more", &expected.more, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-cycles_differ", &expected.cycles_differ, NULL));
  PetscCall(ProblemsTest(TestProblem, &expected));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: problem.c

   # On the host the option changes nothing but views.
   testset:
      args: -malloc_dump -checkfunctionlist
      output_file: output/empty.out
      test:
         suffix: host
         nsize: {{1 2 3}}
         args: -n 7 -problem 5point,7point,27point,elasticity,unsymmetric
      test:
         suffix: host_hisparse
         nsize: {{1 2}}
         args: -type aijhisparsecuda -n 7 -problem 27point,elasticity
      test:
         suffix: host_richardson
         args: -n 7 -problem 27point -ksp_type richardson -more 2

   testset:
      requires: cuda !single
      args: -malloc_dump -checkfunctionlist -use_gpu_aware_mpi 0 -cycles_differ
      output_file: output/empty.out
      test:
         suffix: device
         nsize: {{1 2 3}}
         args: -problem 5point,7point,27point,anisotropic,elasticity,unsymmetric -pc_gamg_reuse_interpolation {{0 1}}
      test:
         suffix: device_hisparse
         nsize: {{1 2 3}}
         args: -type aijhisparsecuda -mat_hisparse_format {{diagonals blockdiagonals}} -problem 27point,elasticity -pc_gamg_reuse_interpolation {{0 1}}
      test:
         suffix: device_guarded
         nsize: {{1 2}}
         args: -problem 5point,27point,elasticity -values auto
      test:
         suffix: device_hisparse_half
         nsize: {{1 2}}
         args: -type aijhisparsecuda -mat_hisparse_format diagonals -problem 5point,27point -values {{half auto}}
      test:
         suffix: device_hisparse_auto
         args: -type aijhisparsecuda -problem 27point,elasticity -n 20
      test:
         suffix: device_plain
         nsize: {{1 3}}
         args: -problem 27point,elasticity -ksp_fused 0
      test:
         suffix: device_kernels
         args: -problem 27point,elasticity -mat_dcsr_spmv {{split scan vector}}
      test:
         suffix: device_richardson
         nsize: {{1 2}}
         args: -problem 27point -ksp_type richardson -more 2
      test:
         suffix: device_mg_types
         nsize: {{1 2}}
         args: -problem 27point -pc_mg_type {{additive full kaskade}} -ksp_type fgmres
      test:
         suffix: device_empty
         nsize: 3
         args: -problem 27point,elasticity -every_other
      test:
         suffix: device_smooth
         args: -problem 27point -mg_levels_ksp_max_it 3

TEST*/
