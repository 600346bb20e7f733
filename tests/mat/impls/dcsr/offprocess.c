static char
  help[] = "Entries of other processes, set one by one and by lists in device memory, compared with MATAIJ: both modes, program order, kept patterns, options, large blocks, preallocation.\n\n";

#include "testmat.h"
#include <petscdevice_cuda.h>

static uint64_t  state;
static PetscBool device = PETSC_FALSE; /* lists may be given in device memory */

static PetscInt Random(PetscInt end)
{
  state = state * 6364136223846793005ull + 1442695040888963407ull;
  return (PetscInt)((state >> 33) % (uint64_t)end);
}

/* A list of entries. */
typedef struct {
  PetscInt     n;
  PetscInt    *i, *j; /* [n] global, owned */
  PetscScalar *v;     /* [n] owned */
} List;

/* Entries of anybody's rows, the same for the same seed; with INSERT_VALUES each rank has columns of its own, because nothing says who comes last. */
static PetscErrorCode ListCreate(PetscInt m, PetscInt n, uint64_t seed, InsertMode mode, PetscInt num, List *list)
{
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  state   = seed + 1000 * (uint64_t)rank;
  list->n = num;
  PetscCall(PetscMalloc3(num, &list->i, num, &list->j, num, &list->v));
  for (PetscInt k = 0; k < num; k++) {
    list->i[k] = Random(20) ? Random(m) : -1;
    list->j[k] = mode == ADD_VALUES ? Random(n) : Random(n / size) * size + rank;
    list->v[k] = (PetscScalar)(1 + Random(64)) / 4; /* sums are exact in any order */
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ListDestroy(List *list)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(list->i, list->j, list->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ignores the entries that a later one overwrites: MATAIJ, whose operations serve on the host, sends equal entries in any order. */
static PetscErrorCode KeepLast(List *list)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < list->n; k++)
    for (PetscInt later = k + 1; later < list->n; later++)
      if (list->i[later] == list->i[k] && list->j[later] == list->j[k]) {
        list->i[k] = -1;
        break;
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyToDevice(const void *host, size_t bytes, void **copy)
{
  PetscFunctionBegin;
  PetscCallCUDA(cudaMalloc(copy, bytes));
  PetscCallCUDA(cudaMemcpy(*copy, host, bytes, cudaMemcpyHostToDevice));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets entries [begin, end) of a list, from device memory when there is a device and the matrix is ours. */
static PetscErrorCode SetPart(Mat A, const List *list, PetscInt begin, PetscInt end, InsertMode mode, PetscBool on_device)
{
  void *i, *j, *v;

  PetscFunctionBegin;
  if (!on_device || end == begin) {
    for (PetscInt k = begin; k < end; k++) PetscCall(MatSetValues(A, 1, &list->i[k], 1, &list->j[k], &list->v[k], mode));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(CopyToDevice(list->i + begin, (size_t)(end - begin) * sizeof(*list->i), &i));
  PetscCall(CopyToDevice(list->j + begin, (size_t)(end - begin) * sizeof(*list->j), &j));
  PetscCall(CopyToDevice(list->v + begin, (size_t)(end - begin) * sizeof(*list->v), &v));
  PetscCall(MatDCSRCUDASetValuesDevice(A, end - begin, (PetscInt *)i, (PetscInt *)j, (PetscScalar *)v, mode));
  PetscCallCUDA(cudaFree(i));
  PetscCallCUDA(cudaFree(j));
  PetscCallCUDA(cudaFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A list in five parts; those with a bit in which come from device memory. */
static PetscErrorCode SetList(Mat A, PetscBool ours, uint64_t seed, InsertMode mode, PetscInt num, int which)
{
  PetscInt m, n;
  List     list;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(ListCreate(m, n, seed, mode, num, &list));
  if (!(ours && device) && mode == INSERT_VALUES) PetscCall(KeepLast(&list));
  for (int p = 0; p < 5; p++) PetscCall(SetPart(A, &list, num * p / 5, num * (p + 1) / 5, mode, (PetscBool)(ours && device && (which >> p & 1))));
  PetscCall(ListDestroy(&list));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One block larger than a staging buffer, with the rows of all processes. */
static PetscErrorCode SetLargeBlock(Mat A, PetscBool by_columns)
{
  PetscInt     m, n, *rows, *columns;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &m, &n));
  PetscCall(PetscMalloc3(m, &rows, n, &columns, m * n, &v));
  for (PetscInt i = 0; i < m; i++) rows[i] = (7 * i) % m;
  for (PetscInt j = 0; j < n; j++) columns[j] = n - 1 - j;
  for (PetscInt k = 0; k < m * n; k++) v[k] = (PetscScalar)(1 + k % 1000) / 4;
  PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, (PetscBool)!by_columns));
  PetscCall(MatSetValues(A, m, rows, n, columns, v, ADD_VALUES));
  PetscCall(MatSetValues(A, 1, rows, n, columns, v, ADD_VALUES));
  PetscCall(MatSetValues(A, m, rows, 1, columns, NULL, ADD_VALUES));
  PetscCall(MatSetOption(A, MAT_ROW_ORIENTED, PETSC_TRUE));
  PetscCall(PetscFree3(rows, columns, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(MatType type, PetscInt m, PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, m, n));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatMPIAIJSetPreallocation(*A, 20, NULL, 20, NULL)); /* the hash of MATMPIAIJ knows no flush between modes */
  PetscCall(MatSeqAIJSetPreallocation(*A, 20, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One story told to one matrix; alone says that one rank has values on the device, and one has none at all. */
static PetscErrorCode Tell(Mat A, PetscBool ours, int which, PetscBool alone)
{
  PetscMPIInt rank, size;
  PetscInt    begin, end, column = 0;
  PetscScalar one = 1;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (alone && rank > 0) which = 0;
  const PetscInt scale = alone && rank == size - 1 ? 0 : 1;

  PetscCall(SetList(A, ours, 1, ADD_VALUES, 700 * scale, which));
  PetscCall(TestAssemble(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(SetList(A, ours, 2, INSERT_VALUES, 500 * scale, which));
  PetscCall(TestAssemble(A, MAT_FLUSH_ASSEMBLY));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));                                    /* nobody has anything */
  if (size > 1) PetscCall(MatSetOption(A, MAT_SUBSET_OFF_PROC_ENTRIES, PETSC_TRUE)); /* PETSc 3.26 fails when it is turned off for sequential matrices */
  PetscCall(SetList(A, ours, 3, ADD_VALUES, 400 * scale, which));                    /* the pattern */
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SetList(A, ours, 3, ADD_VALUES, 400 * scale, which)); /* all of it, */
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(SetList(A, ours, 3, ADD_VALUES, 50 * scale, which >> 1)); /* some of it, */
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));                      /* none, */
  PetscCall(SetList(A, ours, 3, INSERT_VALUES, rank ? 0 : 40, which)); /* one rank's, in the other mode */
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  if (size > 1) PetscCall(MatSetOption(A, MAT_SUBSET_OFF_PROC_ENTRIES, PETSC_FALSE));
  PetscCall(SetList(A, ours, 4, ADD_VALUES, 900 * scale, which));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_TRUE));
  for (PetscInt row = begin; row < end; row++) PetscCall(MatSetValues(A, 1, &row, 1, &column, &one, ADD_VALUES));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_NO_OFF_PROC_ENTRIES, PETSC_FALSE));
  PetscCall(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_TRUE));
  PetscCall(SetList(A, ours, 5, ADD_VALUES, 300 * scale, which));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(A, MAT_IGNORE_OFF_PROC_ENTRIES, PETSC_FALSE));
  PetscCall(SetList(A, ours, 6, ADD_VALUES, 300 * scale, which));
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sets two entries in each row of this process where one was preallocated, and says what came of it. */
static PetscErrorCode SetTooMany(Mat A, PetscInt n)
{
  PetscInt    begin, end;
  PetscScalar v[2] = {1, 2};

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt row = begin; row < end; row++) {
    const PetscInt columns[2] = {row, row + 1 < end ? row + 1 : begin};

    PetscCall(MatSetValues(A, 1, &row, n, columns, v, ADD_VALUES));
  }
  PetscCall(TestAssemble(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The option that was set after the preallocation makes too many entries an error, as MATAIJ does without being asked. */
static PetscErrorCode TestPreallocation(MatType type, PetscInt n)
{
  const PetscBool forbid[] = {PETSC_TRUE, PETSC_TRUE, PETSC_FALSE};
  const PetscInt  set[]    = {2, 1, 2}; /* entries a row; one is preallocated */
  Mat             A;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscErrorCode ierr;

    PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
    PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
    PetscCall(MatSetType(A, type));
    PetscCall(MatSeqAIJSetPreallocation(A, 1, NULL));
    PetscCall(MatMPIAIJSetPreallocation(A, 1, NULL, 0, NULL));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, forbid[k]));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = SetTooMany(A, set[k]);
    PetscCall(PetscPopErrorHandler());
    if (forbid[k] && set[k] > 1)
      PetscCheck(ierr == PETSC_ERR_ARG_OUTOFRANGE, PETSC_COMM_SELF, PETSC_ERR_PLIB, "error %d in place of PETSC_ERR_ARG_OUTOFRANGE from more entries than were preallocated", (int)ierr);
    else PetscCheck(ierr == PETSC_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_PLIB, "error %d from %" PetscInt_FMT " entries a row", (int)ierr, set[k]);
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[][2] = {{40, 40}, {100, 64}, {17, 300}};
  const int      parts[]    = {0, 31, 10, 21}; /* which parts of a list come from device memory */
  char          *type, what[128];
  Mat            A, B;
  PetscBool      bound;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  PetscCall(Create(type, 8, 8, &B));
  PetscCall(MatBoundToCPU(B, &bound));
  device = (PetscBool)!bound;
  PetscCall(MatDestroy(&B));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
    for (int variant = 0; variant < 8; variant++) {
      PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT " x %" PetscInt_FMT ", parts %d on the device%s", sizes[s][0], sizes[s][1], parts[variant / 2], variant % 2 ? " of one rank" : ""));
      PetscCall(Create(MATAIJ, sizes[s][0], sizes[s][1], &A));
      PetscCall(Create(type, sizes[s][0], sizes[s][1], &B));
      PetscCall(Tell(A, PETSC_FALSE, 0, (PetscBool)(variant % 2)));
      PetscCall(Tell(B, PETSC_TRUE, parts[variant / 2], (PetscBool)(variant % 2)));
      PetscCall(TestCompare(A, B, what));
      PetscCall(MatDestroy(&A));
      PetscCall(MatDestroy(&B));
    }
  for (int by_columns = 0; by_columns < 2; by_columns++) {
    PetscCall(Create(MATAIJ, 150, 220, &A));
    PetscCall(Create(type, 150, 220, &B));
    for (int k = 0; k < 2; k++) {
      PetscCall(SetLargeBlock(k ? B : A, (PetscBool)by_columns));
      PetscCall(TestAssemble(k ? B : A, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(TestCompare(A, B, by_columns ? "large block by columns" : "large block by rows"));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(TestPreallocation(MATAIJ, 24));
  PetscCall(TestPreallocation(type, 24));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: testmat.c

   testset:
      output_file: output/empty.out
      test:
         suffix: 1
         nsize: {{1 2 3 8}}
      test:
         suffix: hisparse
         nsize: 3
         args: -mat_type hisparsecuda
      test:
         suffix: auto
         nsize: 3
         args: -mat_type autocuda -mat_hisparse_format diagonals -mat_auto_test_switch 1
      test:
         suffix: small_stage
         nsize: {{2 3}}
         args: -mat_dcsr_stage_size 262144 -mat_dcsr_stage_entries 50

TEST*/
