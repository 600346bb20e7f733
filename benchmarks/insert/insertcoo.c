/*
  Lists of coordinates: MatSetPreallocationCOO() and MatSetValuesCOO() of ours, of aijcusparse, and what CUB's sort and reduction do with the list on the device. The fastest one is the competitor.
*/
#include "insertbench.h"
#include "insertcoo.h"

#define REPETITIONS INSERT_COO_REPETITIONS
#define COMPETITOR  "aijcusparse"

static PetscErrorCode CopyIndices(const InsertCOOList *list)
{
  const size_t bytes = (size_t)list->n * sizeof(PetscInt);

  PetscFunctionBegin;
  if (list->on_host) {
    PetscCall(PetscMemcpy(list->i_copy, list->i, bytes));
    PetscCall(PetscMemcpy(list->j_copy, list->j, bytes));
  } else {
    PetscCallCUDA(cudaMemcpy(list->i_copy, list->i, bytes, cudaMemcpyDeviceToDevice));
    PetscCallCUDA(cudaMemcpy(list->j_copy, list->j, bytes, cudaMemcpyDeviceToDevice));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new matrix of a list and the milliseconds that it took. */
static PetscErrorCode Assemble(const InsertCOOList *list, MatType type, PetscReal *ms, Mat *A)
{
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(CopyIndices(list));
  PetscCall(BenchNow(&begin));
  PetscCall(MatCreate(PETSC_COMM_SELF, A));
  PetscCall(MatSetSizes(*A, list->num_rows, list->num_rows, list->num_rows, list->num_rows));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatSetPreallocationCOO(*A, list->n, list->i_copy, list->j_copy));
  PetscCall(MatSetValuesCOO(*A, list->v, INSERT_VALUES));
  PetscCall(BenchNow(&end));
  *ms = (PetscReal)(1e3 * (end - begin));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median milliseconds of several assemblies; the matrix of the last one. */
static PetscErrorCode AssembleRepeatedly(const InsertCOOList *list, MatType type, PetscReal *ms, Mat *A)
{
  PetscReal samples[REPETITIONS];

  PetscFunctionBegin;
  for (PetscInt k = 0; k < REPETITIONS; k++) {
    PetscCall(MatDestroy(A));
    PetscCall(Assemble(list, type, samples + k, A));
  }
  PetscCall(BenchMedian(REPETITIONS, samples, ms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first assembly, which warms up, and the most device memory in use during it. */
static PetscErrorCode AssembleFirst(Bench *b, const InsertCOOList *list, PetscReal *peak_memory, Mat *A)
{
  InsertMemory memory;
  PetscReal    ms;

  PetscFunctionBegin;
  PetscCall(InsertMemoryBegin(b, &memory));
  PetscCall(Assemble(list, MATDCSRCUDA, &ms, A));
  PetscCall(InsertMemoryEnd(&memory, *A, peak_memory));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix and time of aijcusparse, one repetition. */
static PetscErrorCode AssembleCompetitor(const InsertCOOList *list, InsertCompetitor *competitor)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  competitor->name = COMPETITOR;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = Assemble(list, MATAIJCUSPARSE, &competitor->ms, &competitor->B);
  PetscCall(PetscPopErrorHandler());
  if (ierr != PETSC_SUCCESS) {
    (void)cudaGetLastError();
    competitor->ms = -1;
    competitor->B  = NULL; // what is left of it may not even be destroyed
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Median milliseconds of new values for a matrix. */
static PetscErrorCode Refill(Mat A, const PetscScalar v[], InsertMode mode, PetscReal *ms)
{
  PetscReal      samples[REPETITIONS];
  PetscLogDouble begin, end;

  PetscFunctionBegin;
  PetscCall(MatSetValuesCOO(A, v, mode));
  for (PetscInt k = 0; k < REPETITIONS; k++) {
    PetscCall(BenchNow(&begin));
    PetscCall(MatSetValuesCOO(A, v, mode));
    PetscCall(BenchNow(&end));
    samples[k] = (PetscReal)(1e3 * (end - begin));
  }
  PetscCall(BenchMedian(REPETITIONS, samples, ms));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The faster one of what was measured so far and another time; -1 is none. */
static PetscErrorCode TakeBest(PetscReal ms, const char name[], PetscReal *best, const char **best_name)
{
  PetscFunctionBegin;
  if (ms < 0 || (*best >= 0 && *best <= ms)) PetscFunctionReturn(PETSC_SUCCESS);
  *best      = ms;
  *best_name = name;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Refills all matrices in both modes and compares them afterwards; the rebuild's time of the assembly comes with it. Floor: every value of the list read, every one of the matrix written and, to be
  added to, read.
*/
static PetscErrorCode RefillCase(Bench *b, const char name[], const InsertCOOList *list, Mat A, Mat B, PetscReal *rebuild_ms)
{
  static const char *const metrics[2] = {"refill-insert", "refill-add"};
  InsertResult             r[2];
  MatInfo                  info;
  PetscReal                rebuild[2];

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  for (PetscInt k = 0; k < 2; k++) {
    const PetscReal    listed = (PetscReal)list->n * (PetscReal)sizeof(PetscScalar), stored = (PetscReal)info.nz_used * (PetscReal)sizeof(PetscScalar);
    const InsertResult result = {name, metrics[k], "ms", -1, -1, COMPETITOR, (PetscReal)1e-3 * BenchFloor(b, listed + (PetscReal)k * stored, stored)};

    r[k] = result;
    PetscCall(Refill(A, list->v, InsertRefillModes[k], &r[k].ours));
    if (B != NULL) PetscCall(Refill(B, list->v, InsertRefillModes[k], &r[k].best));
  }
  if (B != NULL) PetscCall(InsertBenchCompare(b, name, A, B));
  PetscCall(InsertListMeasureRebuild(b, name, list, A, rebuild_ms, rebuild));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(TakeBest(rebuild[k], INSERT_REFILL, &r[k].best, &r[k].competitor));
    PetscCall(InsertBenchRecord(b, &r[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Floor: the list read once and the matrix written once. */
static PetscErrorCode AssemblyFloor(Bench *b, const InsertCOOList *list, Mat A, PetscReal *ms)
{
  PetscReal bytes;

  PetscFunctionBegin;
  PetscCall(InsertBenchMatrixBytes(A, &bytes));
  *ms = (PetscReal)1e-3 * BenchFloor(b, (PetscReal)list->n * (PetscReal)(2 * sizeof(PetscInt) + sizeof(PetscScalar)), bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cases of one list: its assembly, and new values with the same structure; when neither is wanted, the competitors' assembly alone. */
static PetscErrorCode RunList(Bench *b, const char name[], PetscBool assembly, const char refill_name[], PetscBool refill, const InsertCOOList *list, InsertCompetitor *competitor)
{
  InsertResult time = {name, "assembly-time", "ms", -1, -1, COMPETITOR, -1};
  Mat          A    = NULL;
  PetscReal    peak = -1, rebuild_ms;

  PetscFunctionBegin;
  if (assembly || refill) PetscCall(AssembleFirst(b, list, &peak, &A));
  if (assembly) PetscCall(AssembleRepeatedly(list, MATDCSRCUDA, &time.ours, &A));
  PetscCall(AssembleCompetitor(list, competitor));
  if (A != NULL && competitor->B != NULL) PetscCall(InsertBenchCompare(b, name, A, competitor->B));
  if (assembly || !refill) PetscCall(InsertListMeasureRebuild(b, name, list, A, &rebuild_ms, NULL));
  if (refill) PetscCall(RefillCase(b, refill_name, list, A, competitor->B, &rebuild_ms));
  PetscCall(TakeBest(rebuild_ms, INSERT_REBUILD_LIST, &competitor->ms, &competitor->name));
  if (assembly) {
    if (!list->on_host) PetscCall(AssemblyFloor(b, list, A, &time.floor));
    time.best       = competitor->ms;
    time.competitor = competitor->name;
    PetscCall(InsertBenchRecord(b, &time));
    PetscCall(InsertMemoryRecord(b, name, peak));
  }
  PetscCall(MatDestroy(&A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The competitor's matrix is left for others, with other values after a refill. */
static PetscErrorCode RunDeviceList(Bench *b, const char name[], PetscBool assembly, const char refill_name[], PetscBool refill, const InsertList *from, InsertCompetitor *competitor)
{
  InsertCOOList list = {from->num_rows, from->n, PETSC_FALSE, from->i, from->j, NULL, NULL, from->v};

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(list.n, "rows for the matrix", b->stream, &list.i_copy));
  PetscCall(PetscSparseCUDAMalloc(list.n, "columns for the matrix", b->stream, &list.j_copy));
  PetscCall(RunList(b, name, assembly, refill_name, refill, &list, competitor));
  PetscCall(PetscSparseCUDAFree(&list.i_copy, b->stream));
  PetscCall(PetscSparseCUDAFree(&list.j_copy, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same list in pageable memory; the one in device memory is freed, for it would count as somebody else's memory. */
static PetscErrorCode RunHostList(Bench *b, const char name[], InsertList *from)
{
  const size_t     bytes = (size_t)from->n * sizeof(PetscInt);
  InsertCOOList    list  = {from->num_rows, from->n, PETSC_TRUE, NULL, NULL, NULL, NULL, NULL};
  PetscInt        *i, *j;
  PetscScalar     *v;
  InsertCompetitor competitor;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(list.n, &i, list.n, &j, list.n, &v, list.n, &list.i_copy, list.n, &list.j_copy));
  PetscCallCUDA(cudaMemcpy(i, from->i, bytes, cudaMemcpyDeviceToHost));
  PetscCallCUDA(cudaMemcpy(j, from->j, bytes, cudaMemcpyDeviceToHost));
  PetscCallCUDA(cudaMemcpy(v, from->v, (size_t)list.n * sizeof(*v), cudaMemcpyDeviceToHost));
  PetscCall(InsertListDestroy(from, b->stream));
  list.i = i;
  list.j = j;
  list.v = v;
  PetscCall(RunList(b, name, PETSC_TRUE, NULL, PETSC_FALSE, &list, &competitor));
  PetscCall(MatDestroy(&competitor.B));
  PetscCall(PetscFree5(i, j, v, list.i_copy, list.j_copy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two points: what the first use of either type starts, such as handles, is not part of anything measured later. */
static PetscErrorCode WarmUp(void)
{
  PetscInt            i[2] = {0, 1}, j[2] = {0, 1}, i_copy[2], j_copy[2];
  const PetscScalar   v[2]     = {1.0, 1.0};
  const InsertCOOList list     = {2, 2, PETSC_TRUE, i, j, i_copy, j_copy, v};
  const MatType       types[2] = {MATDCSRCUDA, MATAIJCUSPARSE};
  PetscReal           ms;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 2; k++) {
    Mat A;
    Vec x, y;

    PetscCall(Assemble(&list, types[k], &ms, &A));
    PetscCall(MatCreateVecs(A, &x, &y));
    PetscCall(VecSet(x, 1.0));
    PetscCall(MatMult(A, x, y));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(MatDestroy(&A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coo-device, coo-refill, coo-host */
static PetscErrorCode StencilCases(Bench *b)
{
  InsertList       list;
  InsertCompetitor competitor;
  PetscBool        device, refill, host;

  PetscFunctionBegin;
  PetscCall(BenchWants(b, "coo-device", &device));
  PetscCall(BenchWants(b, "coo-refill", &refill));
  PetscCall(BenchWants(b, "coo-host", &host));
  if (!device && !refill && !host) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(InsertListStencil27(InsertBenchSizes.stencil_n, b->stream, &list));
  if (device || refill) {
    PetscCall(RunDeviceList(b, "coo-device", device, "coo-refill", refill, &list, &competitor));
    PetscCall(MatDestroy(&competitor.B));
  }
  if (host) PetscCall(RunHostList(b, "coo-host", &list));
  PetscCall(InsertListDestroy(&list, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coo-fem, coo-fem-refill, fem-kernel: one competitor for the first assembly of all. */
static PetscErrorCode HexahedraCases(Bench *b)
{
  InsertList       list;
  InsertCompetitor competitor;
  PetscInt        *nodes;
  PetscBool        coo, refill, kernel;

  PetscFunctionBegin;
  PetscCall(BenchWants(b, "coo-fem", &coo));
  PetscCall(BenchWants(b, "coo-fem-refill", &refill));
  PetscCall(BenchWants(b, "fem-kernel", &kernel));
  if (!coo && !refill && !kernel) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(InsertMeshHexahedra(InsertBenchSizes.hexahedra_n, b->stream, &nodes));
  PetscCall(InsertListHexahedra(InsertBenchSizes.hexahedra_n, nodes, b->stream, &list));
  PetscCall(RunDeviceList(b, "coo-fem", coo, "coo-fem-refill", refill, &list, &competitor));
  if (kernel) PetscCall(InsertBenchFEMKernel(b, nodes, &list, &competitor));
  PetscCall(MatDestroy(&competitor.B));
  PetscCall(InsertListDestroy(&list, b->stream));
  PetscCall(PetscSparseCUDAFree(&nodes, b->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* coo-rows-L: rows in order, each unsorted; the last length is sorted by radix (DCSR_LIST_ROW). */
static PetscErrorCode RowCases(Bench *b)
{
  const PetscInt row_sizes[] = {8, 32, 40, 41}, n = InsertBenchSizes.stencil_n;

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(row_sizes); k++) {
    const PetscInt   num_rows = PetscMax((PetscInt)(8 * (PetscCount)n * n * n / row_sizes[k]), row_sizes[k]);
    char             name[32];
    InsertList       list;
    InsertCompetitor competitor;
    PetscBool        wanted;

    PetscCall(PetscSNPrintf(name, sizeof(name), "coo-rows-%" PetscInt_FMT, row_sizes[k]));
    PetscCall(BenchWants(b, name, &wanted));
    if (!wanted) continue;
    PetscCall(InsertListRows(num_rows, num_rows, row_sizes[k], PETSC_TRUE, b->stream, &list));
    PetscCall(RunDeviceList(b, name, PETSC_TRUE, NULL, PETSC_FALSE, &list, &competitor));
    PetscCall(MatDestroy(&competitor.B));
    PetscCall(InsertListDestroy(&list, b->stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* InsertBenchCOO - coo-device, coo-refill, coo-host, coo-rows-L, coo-fem, coo-fem-refill and fem-kernel */
PetscErrorCode InsertBenchCOO(Bench *b)
{
  PetscFunctionBegin;
  PetscCall(WarmUp());
  PetscCall(StencilCases(b));
  PetscCall(RowCases(b));
  PetscCall(HexahedraCases(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}
