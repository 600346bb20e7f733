static char
  help[] = "A KSP with PCGAMG that is kept while its matrix changes: with another pattern it is what a new one would be, with other values alone what MATAIJ's is, which keeps its prolongators.\n\n";

#include "../../../src/petsc/sys.h"
#include "samelevels.h"
#include "mat/impls/dcsr/testmat.h"

#define SIDE 24

static const char *type;

/* X has other entries, too; C those of A. */
typedef struct {
  Mat A, X, C;
} Matrices;

typedef PetscErrorCode Change(Matrices *);

/* Five points, and far couplings. */
static PetscErrorCode Enter(Mat A, PetscInt far)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    const PetscInt steps[]  = {-SIDE, -1, 1, SIDE, -far, far};
    PetscScalar    diagonal = 0.1;

    for (int k = 0; k < (far ? 6 : 4); k++) {
      const PetscInt j = i + steps[k];

      if (j < 0 || j >= SIDE * SIDE || (PetscAbsInt(steps[k]) == 1 && i / SIDE != j / SIDE)) continue;
      PetscCall(MatSetValue(A, i, j, k < 4 ? -1 : -0.5, INSERT_VALUES));
      diagonal += k < 4 ? 1 : 0.5;
    }
    PetscCall(MatSetValue(A, i, i, diagonal, INSERT_VALUES));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType name, PetscInt far, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIDE * SIDE, SIDE * SIDE));
  PetscCall(MatSetType(*A, name));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Enter(*A, far));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries (i, i + step) and their partners, in some rows. */
static PetscErrorCode SetEntries(Mat A, PetscInt step, PetscScalar value)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    if (i % 9 == 1 && i % SIDE < SIDE - step) PetscCall(MatSetValue(A, i, i + step, value, INSERT_VALUES));
    if (i >= step && (i - step) % 9 == 1 && (i - step) % SIDE < SIDE - step) PetscCall(MatSetValue(A, i, i - step, value, INSERT_VALUES));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRows(Mat A, PetscBool keep, PetscBool columns)
{
  PetscInt begin, end, n = 0, rows[SIDE * SIDE];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    if (i % SIDE == 0 || i / SIDE == 0) rows[n++] = i;
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, keep));
  PetscCall((columns ? MatZeroRowsColumns : MatZeroRows)(A, n, rows, 3, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same factors for rows and columns. */
static PetscErrorCode ScaleDiagonally(Mat A)
{
  Vec          l;
  PetscInt     begin, end;
  PetscScalar *array;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &l));
  PetscCall(VecGetOwnershipRange(l, &begin, &end));
  PetscCall(VecGetArrayWrite(l, &array));
  for (PetscInt i = begin; i < end; i++) array[i - begin] = 1 + (PetscReal)(i % 5) / 8;
  PetscCall(VecRestoreArrayWrite(l, &array));
  PetscCall(MatDiagonalScale(A, l, l));
  PetscCall(VecDestroy(&l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* To another one of our types and back, with the same values; MATAIJ stays what it is. */
static PetscErrorCode ConvertThere(Mat *A)
{
  PetscBool plain;
  MatType   name;
  char      old[64];

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompareAny((PetscObject)*A, &plain, MATSEQAIJ, MATMPIAIJ, ""));
  PetscCall(MatGetType(*A, &name));
  PetscCall(PetscStrncpy(old, name, sizeof(old)));
  if (!plain) PetscCall(MatConvert(*A, MATHISPARSECUDA, MAT_INPLACE_MATRIX, A));
  PetscCall(MatScale(*A, 2));
  PetscCall(MatScale(*A, 0.5));
  if (!plain) PetscCall(MatConvert(*A, old, MAT_INPLACE_MATRIX, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define CHANGE(Name, ...) \
  static PetscErrorCode Name(Matrices *m) \
  { \
    PetscFunctionBegin; \
    __VA_ARGS__; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
CHANGE(AddOther, PetscCall(MatAXPY(m->A, 0.5, m->X, DIFFERENT_NONZERO_PATTERN)))
CHANGE(AddUnknown, PetscCall(MatAXPY(m->A, 0.5, m->X, UNKNOWN_NONZERO_PATTERN)))
CHANGE(AddSubset, PetscCall(MatAXPY(m->A, 0.5, m->C, SUBSET_NONZERO_PATTERN)))
CHANGE(AddSame, PetscCall(MatAXPY(m->A, 0.5, m->C, SAME_NONZERO_PATTERN)); PetscCall(PetscObjectStateIncrease((PetscObject)m->A))) // MATMPIAIJ does not
CHANGE(ScaleAndAdd, PetscCall(MatAYPX(m->A, 0.5, m->X, DIFFERENT_NONZERO_PATTERN)))
CHANGE(NewEntries, PetscCall(SetEntries(m->A, 3, -0.25)))
CHANGE(OldEntries, PetscCall(SetEntries(m->A, 1, -0.25)))
CHANGE(RowsGo, PetscCall(ZeroRows(m->A, PETSC_FALSE, PETSC_FALSE)))
CHANGE(RowsStay, PetscCall(ZeroRows(m->A, PETSC_TRUE, PETSC_FALSE)))
CHANGE(RowsColumns, PetscCall(ZeroRows(m->A, PETSC_TRUE, PETSC_TRUE)))
CHANGE(CopySame, PetscCall(MatScale(m->C, 3)); PetscCall(MatCopy(m->C, m->A, SAME_NONZERO_PATTERN)))
CHANGE(CopyOther, PetscCall(MatCopy(m->X, m->A, DIFFERENT_NONZERO_PATTERN)))
CHANGE(Shift, PetscCall(MatShift(m->A, 2)))
CHANGE(Scale, PetscCall(MatScale(m->A, 3)))
CHANGE(DiagonalScale, PetscCall(ScaleDiagonally(m->A)))
CHANGE(ZerosGo, PetscCall(SetEntries(m->A, 1, 0)); PetscCall(MatEliminateZeros(m->A, PETSC_TRUE));
       PetscCall(TestAssemble(m->A, MAT_FINAL_ASSEMBLY))) // MATMPIAIJ counts the new pattern in its next assembly
CHANGE(Again, PetscCall(Enter(m->A, 0)))
CHANGE(Assemble, PetscCall(TestAssemble(m->A, MAT_FINAL_ASSEMBLY)))
CHANGE(Convert, PetscCall(ConvertThere(&m->A)))
CHANGE(ZeroAndSet, PetscCall(MatZeroEntries(m->A)); PetscCall(Enter(m->A, 0)))

typedef struct {
  const char *name;
  Change     *change;
  PetscBool   pattern; /* there is another one afterwards */
} Named;

static const Named changes[] = {{"MatAXPY(), different pattern", AddOther, PETSC_TRUE},
                                {"MatAXPY(), unknown pattern", AddUnknown, PETSC_TRUE},
                                {"MatAXPY(), subset", AddSubset, PETSC_FALSE},
                                {"MatAXPY(), same pattern", AddSame, PETSC_FALSE},
                                {"MatAYPX(), different pattern", ScaleAndAdd, PETSC_TRUE},
                                {"new entries", NewEntries, PETSC_TRUE},
                                {"entries that are there", OldEntries, PETSC_FALSE},
                                {"MatZeroRows()", RowsGo, PETSC_TRUE},
                                {"MatZeroRows(), pattern kept", RowsStay, PETSC_FALSE},
                                {"MatZeroRowsColumns()", RowsColumns, PETSC_FALSE},
                                {"MatCopy(), same pattern", CopySame, PETSC_FALSE},
                                {"MatCopy(), different pattern", CopyOther, PETSC_TRUE},
                                {"MatShift()", Shift, PETSC_FALSE},
                                {"MatScale()", Scale, PETSC_FALSE},
                                {"MatDiagonalScale()", DiagonalScale, PETSC_FALSE},
                                {"MatEliminateZeros()", ZerosGo, PETSC_TRUE},
                                {"the same entries", Again, PETSC_FALSE},
                                {"an assembly", Assemble, PETSC_FALSE},
                                {"MatConvert() in place", Convert, PETSC_FALSE},
                                {"MatZeroEntries() and the same values", ZeroAndSet, PETSC_FALSE}};

static PetscErrorCode CreateMatrices(MatType name, Matrices *m)
{
  PetscFunctionBegin;
  PetscCall(Create(name, 0, &m->A));
  PetscCall(Create(name, 5, &m->X));
  PetscCall(Create(name, 0, &m->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DestroyMatrices(Matrices *m)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&m->A));
  PetscCall(MatDestroy(&m->X));
  PetscCall(MatDestroy(&m->C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The solver of MATAIJ that ours has to be: after a change of the pattern a new one, since PETSc 3.26 does not tell a matrix after MatAXPY() from what it was, and goes on with prolongators and
  products that do not fit.
*/
static PetscErrorCode SetUpTheirs(Mat A, PetscBool pattern, KSP *ksp)
{
  PetscFunctionBegin;
  if (pattern) {
    PetscCall(KSPDestroy(ksp));
    PetscCall(LevelsCreateKSP(A, ksp));
  }
  PetscCall(KSPSetUp(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One change after the other, with the same solver. */
static PetscErrorCode Test(const Named *first, const Named *second)
{
  const Named *sequence[] = {first, second};
  char         what[256];
  Matrices     m[2];
  KSP          ksp[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateMatrices(k ? type : MATAIJ, &m[k]));
    PetscCall(LevelsCreateKSP(m[k].A, &ksp[k]));
    PetscCall(KSPSetUp(ksp[k]));
  }
  PetscCall(LevelsCompare(ksp[0], ksp[1], "before"));
  for (int s = 0; s < 2; s++) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s%s%s", sequence[s]->name, s == 0 ? "" : " after ", s == 0 ? "" : first->name));
    for (int k = 0; k < 2; k++) PetscCall((*sequence[s]->change)(&m[k]));
    for (int k = 0; k < 2; k++) PetscCall(KSPSetOperators(ksp[k], m[k].A, m[k].A)); // KSPSetUp() does not see new values before PETSc 3.26
    PetscCall(SetUpTheirs(m[0].A, sequence[s]->pattern, &ksp[0]));
    PetscCall(KSPSetUp(ksp[1]));
    PetscCall(LevelsCompare(ksp[0], ksp[1], what));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(KSPDestroy(&ksp[k]));
    PetscCall(DestroyMatrices(&m[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const size_t n = PETSC_STATIC_ARRAY_LENGTH(changes);
  char        *name;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &name));
  type = name;
  for (size_t k = 0; k < n; k++) PetscCall(Test(&changes[k], &changes[12 + k % 3])); // then values alone
  PetscCall(Test(&changes[5], &changes[0]));                                         // a pattern after another
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: samelevels.c ../../mat/impls/dcsr/testmat.c

   testset:
      nsize: {{1 2}}
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
         args: -use_gpu_aware_mpi 0 -mat_type {{hisparsecuda autocuda}}
      test:
         suffix: diagonals
         requires: cuda
         args: -use_gpu_aware_mpi 0 -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: coarse
         requires: cuda
         args: -use_gpu_aware_mpi 0 -pc_gamg_coarse_cycle {{petsc graph}}

TEST*/
