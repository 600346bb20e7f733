static char help[] = "What is known of the symmetry of a matrix, set, unset or unknown, eternal or not, after operations that keep it or forget it: as with MATAIJ.\n\n";

#include "testmat.h"
#include "../../../../src/petsc/mat.h"

#define SIZE 60

/* What is said of a matrix before. */
typedef enum {
  NOTHING,
  SPD,
  NOT_SPD,
  SYMMETRIC,
  NOT_SYMMETRIC,
  HERMITIAN,
  STRUCTURALLY,
  NOT_STRUCTURALLY,
  ETERNALLY_SPD,
  ETERNALLY_SYMMETRIC,
  ETERNALLY_STRUCTURALLY,
  NUM_SAYINGS
} Saying;
static const char *const sayings[] = {"nothing",
                                      "SPD",
                                      "not SPD",
                                      "symmetric",
                                      "not symmetric",
                                      "Hermitian",
                                      "structurally symmetric",
                                      "not structurally symmetric",
                                      "eternally SPD",
                                      "eternally symmetric",
                                      "eternally structurally symmetric"};

static PetscErrorCode Say(Mat A, Saying saying)
{
  static const struct {
    MatOption option, eternal;
    PetscBool flag;
  } options[] = {{MAT_SPD, MAT_OPTION_MIN, PETSC_TRUE}, // nothing
                 {MAT_SPD, MAT_OPTION_MIN, PETSC_TRUE},
                 {MAT_SPD, MAT_OPTION_MIN, PETSC_FALSE},
                 {MAT_SYMMETRIC, MAT_OPTION_MIN, PETSC_TRUE},
                 {MAT_SYMMETRIC, MAT_OPTION_MIN, PETSC_FALSE},
                 {MAT_HERMITIAN, MAT_OPTION_MIN, PETSC_TRUE},
                 {MAT_STRUCTURALLY_SYMMETRIC, MAT_OPTION_MIN, PETSC_TRUE},
                 {MAT_STRUCTURALLY_SYMMETRIC, MAT_OPTION_MIN, PETSC_FALSE},
                 {MAT_SPD, MAT_SPD_ETERNAL, PETSC_TRUE},
                 {MAT_SYMMETRIC, MAT_SYMMETRY_ETERNAL, PETSC_TRUE},
                 {MAT_STRUCTURALLY_SYMMETRIC, MAT_STRUCTURAL_SYMMETRY_ETERNAL, PETSC_TRUE}};

  PetscFunctionBegin;
  if (saying == NOTHING) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatSetOption(A, options[saying].option, options[saying].flag));
  if (options[saying].eternal != MAT_OPTION_MIN) PetscCall(MatSetOption(A, options[saying].eternal, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A chain, with every third or fifth diagonal entry missing. */
static PetscErrorCode Create(MatType type, PetscBool holes, Mat *A)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, SIZE, SIZE));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetUp(*A));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = PetscMax(i - 1, 0); j < PetscMin(i + 2, SIZE); j++)
      if (i != j || !holes || i % 3) PetscCall(MatSetValue(*A, i, j, i == j ? 4 : i + j == 21 ? 0 : -1, INSERT_VALUES));
  PetscCall(TestAssemble(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An operation: B is what is compared then, A itself (with one more reference) or a new matrix. X has another pattern, which has that of A. */
typedef PetscErrorCode Operation(Mat A, Mat X, Mat *B);

static PetscErrorCode Itself(Mat A, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(PetscObjectReference((PetscObject)A));
  *B = A;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define OPERATION(Name, ...) \
  static PetscErrorCode Name(PETSC_UNUSED Mat A, PETSC_UNUSED Mat X, Mat *B) \
  { \
    PetscFunctionBegin; \
    __VA_ARGS__; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
#define OPERATION_IN_PLACE(Name, ...) OPERATION(Name, PetscCall(__VA_ARGS__); PetscCall(Itself(A, B)))

static PetscErrorCode SetOne(Mat A, PetscInt column)
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  if (begin == 0 && end > 0) PetscCall(MatSetValue(A, 0, column, 3, INSERT_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ZeroRows(Mat A, PetscBool keep, PetscBool columns)
{
  const PetscInt rows[] = {5, 17, SIZE - 1};
  PetscMPIInt    rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(MatSetOption(A, MAT_KEEP_NONZERO_PATTERN, keep));
  PetscCall((columns ? MatZeroRowsColumns : MatZeroRows)(A, rank == 0 ? 3 : 0, rows, 2, NULL, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalScale(Mat A, PetscBool both)
{
  Vec l;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &l));
  PetscCall(TestFill(l, 3));
  PetscCall(MatDiagonalScale(A, l, both ? l : NULL));
  PetscCall(VecDestroy(&l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode DiagonalSet(Mat A)
{
  Vec d;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, NULL, &d));
  PetscCall(TestFill(d, 3));
  PetscCall(MatDiagonalSet(A, d, ADD_VALUES));
  PetscCall(VecDestroy(&d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SubMatrix(Mat A, PetscInt step, Mat *B)
{
  PetscInt begin, end;
  IS       rows;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, (end - begin) / step, begin, step, &rows));
  PetscCall(MatCreateSubMatrix(A, rows, rows, MAT_INITIAL_MATRIX, B));
  PetscCall(ISDestroy(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The diagonal of this process. */
static PetscErrorCode SubMatrices(Mat A, Mat *B)
{
  PetscInt begin, end;
  IS       rows;
  Mat     *sub;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_SELF, end - begin, begin, 1, &rows));
  PetscCall(MatCreateSubMatrices(A, 1, &rows, &rows, MAT_INITIAL_MATRIX, &sub));
  PetscCall(PetscObjectReference((PetscObject)sub[0]));
  *B = sub[0];
  PetscCall(MatDestroySubMatrices(1, &sub));
  PetscCall(ISDestroy(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Permute(Mat A, Mat *B)
{
  PetscInt begin, end;
  IS       rows;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(ISCreateStride(PETSC_COMM_WORLD, end - begin, end - 1, -1, &rows));
  PetscCall(ISSetPermutation(rows));
  PetscCall(MatPermute(A, rows, rows, B));
  PetscCall(ISDestroy(&rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TransposeAgain(Mat A, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, B));
  PetscCall(MatSetOption(*B, MAT_SPD, PETSC_TRUE));
  PetscCall(MatScale(A, 2));
  PetscCall(MatTranspose(A, MAT_REUSE_MATRIX, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProductAgain(Mat A, Mat X, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatPtAP(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, B));
  PetscCall(MatSetOption(*B, MAT_STRUCTURALLY_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatScale(A, 2));
  PetscCall(MatPtAP(A, X, MAT_REUSE_MATRIX, PETSC_CURRENT, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ConvertInPlace(Mat A, MatType type, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatConvert(A, type, MAT_INPLACE_MATRIX, &A));
  PetscCall(Itself(A, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static MatType AIJ(Mat A)
{
  return A->rmap->n == A->rmap->N ? MATSEQAIJ : MATMPIAIJ;
}

static PetscErrorCode HeaderReplace(Mat A, PetscBool merge)
{
  Mat C;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &C));
  if (merge) PetscCall(MatHeaderMerge(A, &C));
  else PetscCall(MatHeaderReplace(A, &C));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyTo(Mat A, Mat X, MatStructure str, Mat *B)
{
  PetscFunctionBegin;
  PetscCall(MatDuplicate(str == SAME_NONZERO_PATTERN ? A : X, MAT_DO_NOT_COPY_VALUES, B));
  PetscCall(MatSetOption(*B, MAT_STRUCTURALLY_SYMMETRIC, PETSC_TRUE));
  PetscCall(MatCopy(A, *B, str));
  PetscFunctionReturn(PETSC_SUCCESS);
}

OPERATION_IN_PLACE(Assembly, TestAssemble(A, MAT_FINAL_ASSEMBLY))
OPERATION_IN_PLACE(OldEntry, SetOne(A, 1))
OPERATION_IN_PLACE(NewEntry, SetOne(A, SIZE - 5))
OPERATION_IN_PLACE(ScaleBy, MatScale(A, 3))
OPERATION_IN_PLACE(ScaleZero, MatScale(A, 0))
OPERATION_IN_PLACE(Zero, MatZeroEntries(A))
OPERATION_IN_PLACE(Shift, MatShift(A, 3))
OPERATION_IN_PLACE(SetDiagonal, DiagonalSet(A))
OPERATION_IN_PLACE(ScaleLeft, DiagonalScale(A, PETSC_FALSE))
OPERATION_IN_PLACE(ScaleBoth, DiagonalScale(A, PETSC_TRUE))
OPERATION_IN_PLACE(RowsGo, ZeroRows(A, PETSC_FALSE, PETSC_FALSE))
OPERATION_IN_PLACE(RowsStay, ZeroRows(A, PETSC_TRUE, PETSC_FALSE))
OPERATION_IN_PLACE(RowsColumns, ZeroRows(A, PETSC_TRUE, PETSC_TRUE))
OPERATION_IN_PLACE(ZerosGo, MatEliminateZeros(A, PETSC_FALSE))
OPERATION_IN_PLACE(Conjugate, MatConjugate(A))
OPERATION_IN_PLACE(TransposeInPlace, MatTranspose(A, MAT_INPLACE_MATRIX, &A))
OPERATION_IN_PLACE(Replace, HeaderReplace(A, PETSC_FALSE))
OPERATION_IN_PLACE(Merge, HeaderReplace(A, PETSC_TRUE))
OPERATION_IN_PLACE(AddItself, MatAXPY(A, 2, A, SAME_NONZERO_PATTERN))
OPERATION(AddSame, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B)); PetscCall(MatAXPY(*B, 2, A, SAME_NONZERO_PATTERN)))
OPERATION(AddUnknownSame, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B)); PetscCall(MatAXPY(*B, 2, A, UNKNOWN_NONZERO_PATTERN)))
OPERATION(AddSubset, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B)); PetscCall(MatAXPY(*B, 2, A, SUBSET_NONZERO_PATTERN)))
OPERATION(AddDifferent, PetscCall(MatAXPY(A, 2, X, DIFFERENT_NONZERO_PATTERN)); PetscCall(Itself(A, B)))
OPERATION(AddUnknown, PetscCall(MatAXPY(A, 2, X, UNKNOWN_NONZERO_PATTERN)); PetscCall(Itself(A, B)))
OPERATION(Duplicate, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B)))
OPERATION(DuplicateStructure, PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, B)))
OPERATION(DuplicateAndShift, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B)); PetscCall(MatShift(*B, 2)))
OPERATION(DuplicateAndShiftTwice, PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B)); PetscCall(MatShift(*B, 2)); PetscCall(MatSetOption(*B, MAT_SPD, PETSC_TRUE)); PetscCall(MatShift(*B, 2)))
OPERATION(CopySame, PetscCall(CopyTo(A, X, SAME_NONZERO_PATTERN, B)))
OPERATION(CopyOther, PetscCall(CopyTo(A, X, DIFFERENT_NONZERO_PATTERN, B)))
OPERATION(Transpose, PetscCall(MatTranspose(A, MAT_INITIAL_MATRIX, B)))
OPERATION(TransposeReuse, PetscCall(TransposeAgain(A, B)))
OPERATION(Every, PetscCall(SubMatrix(A, 1, B)))
OPERATION(EveryOther, PetscCall(SubMatrix(A, 2, B)))
OPERATION(Diagonal, PetscCall(SubMatrices(A, B)))
OPERATION(Reverse, PetscCall(Permute(A, B)))
OPERATION(Times, PetscCall(MatMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, B)))
OPERATION(TransposeTimes, PetscCall(MatTransposeMatMult(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, B)))
OPERATION(Galerkin, PetscCall(MatPtAP(A, X, MAT_INITIAL_MATRIX, PETSC_CURRENT, B)))
OPERATION(GalerkinReuse, PetscCall(ProductAgain(A, X, B)))
OPERATION(ToAIJInPlace, PetscCall(ConvertInPlace(A, AIJ(A), B)))

typedef struct {
  const char *name;
  Operation  *operation;
  int         merges; /* on so many ranks and more MATAIJ makes a new matrix, which forgets also what is eternal; 0: on none */
} Named;

static const Named operations[] = {{"an assembly", Assembly, 0},
                                   {"an entry that is there", OldEntry, 0},
                                   {"a new entry", NewEntry, 0},
                                   {"MatScale()", ScaleBy, 0},
                                   {"MatScale() by zero", ScaleZero, 0},
                                   {"MatZeroEntries()", Zero, 0},
                                   {"MatShift()", Shift, 0},
                                   {"MatDiagonalSet()", SetDiagonal, 0},
                                   {"MatDiagonalScale(), left", ScaleLeft, 0},
                                   {"MatDiagonalScale()", ScaleBoth, 0},
                                   {"MatZeroRows()", RowsGo, 0},
                                   {"MatZeroRows(), pattern kept", RowsStay, 0},
                                   {"MatZeroRowsColumns()", RowsColumns, 0},
                                   {"MatEliminateZeros()", ZerosGo, 0},
                                   {"MatConjugate()", Conjugate, 0},
                                   {"MatTranspose() in place", TransposeInPlace, 0},
                                   {"MatHeaderReplace()", Replace, 0},
                                   {"MatHeaderMerge()", Merge, 0},
                                   {"MatAXPY() of itself", AddItself, 0},
                                   {"MatAXPY(), same pattern", AddSame, 0},
                                   {"MatAXPY(), unknown, the same", AddUnknownSame, 2},
                                   {"MatAXPY(), subset", AddSubset, 0},
                                   {"MatAXPY(), different pattern", AddDifferent, 1},
                                   {"MatAXPY(), unknown, another", AddUnknown, 1},
                                   {"MatDuplicate()", Duplicate, 0},
                                   {"MatDuplicate() without values", DuplicateStructure, 0},
                                   {"MatDuplicate() and MatShift()", DuplicateAndShift, 0},
                                   {"MatDuplicate() and two shifts", DuplicateAndShiftTwice, 0},
                                   {"MatCopy()", CopySame, 0},
                                   {"MatCopy(), different pattern", CopyOther, 0},
                                   {"MatTranspose()", Transpose, 0},
                                   {"MatTranspose(), reuse", TransposeReuse, 0},
                                   {"MatCreateSubMatrix() of all", Every, 0},
                                   {"MatCreateSubMatrix()", EveryOther, 0},
                                   {"MatCreateSubMatrices()", Diagonal, 0},
                                   {"MatPermute()", Reverse, 0},
                                   {"MatMatMult()", Times, 0},
                                   {"MatTransposeMatMult()", TransposeTimes, 0},
                                   {"MatPtAP()", Galerkin, 0},
                                   {"MatPtAP(), reuse", GalerkinReuse, 0},
                                   {"MatConvert() to MATAIJ inplace", ToAIJInPlace, 0}};

static const char *Name(PetscBool3 fact)
{
  return fact == PETSC_BOOL3_UNKNOWN ? "unknown" : fact == PETSC_BOOL3_TRUE ? "known" : "known not to be so";
}

static PetscErrorCode Compare(Mat A[2], const Named *o, PetscBool eternal, const char what[])
{
  const char *names[] = {"symmetric", "Hermitian", "SPD", "structurally symmetric"};
  PetscBool3  facts[2][4];
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)A[0]), &size));
  for (int k = 0; k < 2; k++) {
    facts[k][0] = A[k]->symmetric;
    // PETSc 3.24 does not conclude this from MAT_SPD, and MatConvert() does from what follows from it
    facts[k][1] = PETSC_VERSION_LT(3, 25, 0) && !PetscDefined(USE_COMPLEX) ? A[k]->symmetric : A[k]->hermitian;
    facts[k][2] = A[k]->spd;
    facts[k][3] = A[k]->structurally_symmetric;
  }
  for (int f = 0; f < 4; f++)
    PetscCheck(facts[0][f] == facts[1][f] || (eternal && o->merges > 0 && size >= o->merges), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: whether the matrix is %s is %s, with MATAIJ %s", what, names[f],
               Name(facts[1][f]), Name(facts[0][f]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Then something is said of the result, and it is assembled, which forgets it, but for a first time. */
static PetscErrorCode TestOperation(MatType type, const Named *o, Saying saying, PetscBool holes)
{
  char what[256];
  Mat  A[2], X[2], B[2];

  PetscFunctionBegin;
  if (PETSC_VERSION_LT(3, 25, 0) && (strstr(o->name, "MatShift()") || strstr(o->name, "two shifts"))) PetscFunctionReturn(PETSC_SUCCESS); // which assembles a MATAIJ, and that forgets
  for (int k = 0; k < 2; k++) {
    PetscCall(Create(k ? type : MATAIJ, holes, &A[k]));
    PetscCall(Create(k ? type : MATAIJ, PETSC_FALSE, &X[k]));
    PetscCall(SetOne(X[k], SIZE - 3));
    PetscCall(Say(A[k], saying));
    PetscCall((*o->operation)(A[k], X[k], &B[k]));
  }
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s%s, %s said before", o->name, holes ? ", diagonal entries missing" : "", sayings[saying]));
  PetscCall(Compare(B, o, (PetscBool)(saying >= ETERNALLY_SPD), what));
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s%s, %s said before, SPD said after, and an assembly", o->name, holes ? ", diagonal entries missing" : "", sayings[saying]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatSetOption(B[k], MAT_SPD, PETSC_TRUE));
    PetscCall(TestAssemble(B[k], MAT_FINAL_ASSEMBLY));
  }
  PetscCall(Compare(B, o, (PetscBool)(saying >= ETERNALLY_SPD), what));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDestroy(&A[k]));
    PetscCall(MatDestroy(&B[k]));
    PetscCall(MatDestroy(&X[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(operations); o++)
    for (Saying saying = NOTHING; saying < NUM_SAYINGS; saying++)
      for (int holes = 0; holes < 2; holes++) PetscCall(TestOperation(type, &operations[o], saying, (PetscBool)holes));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      nsize: {{1 2}}
      output_file: output/empty.out
      test:
         suffix: host
         args: -device_enable none
      test:
         suffix: 1
         requires: cuda
      test:
         suffix: hisparse
         requires: cuda
         args: -mat_type hisparsecuda -mat_hisparse_format diagonals
      test:
         suffix: auto
         requires: cuda
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1

TEST*/
