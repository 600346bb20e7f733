static char help[] =
  "Plans of transpose products where building them has corners: many windows of columns, more than there may be, with heavy columns, lists larger than a sample lets expect, long runs of empty rows.\n\n";

#include "../../../lib/sweeps.h"
#include "../../../lib/sys.h"

#define TILE 8192 /* nonzeros of the largest tile */

typedef enum {
  ONE_WINDOW,      /* columns far apart, but near enough for one window of a tile */
  FEW_WINDOWS,     /* and for a few */
  MANY_WINDOWS,    /* and not for all there may be */
  WINDOW_BORDERS,  /* first and last columns of windows, each many times */
  HEAVY_FIRST,     /* many windows, and a heavy column in the first */
  HEAVY_LAST,      /* and heavy columns in the first and in the last */
  HEAVY_ROW,       /* a row has half of all nonzeros, two columns have a part of the others */
  POWER_LAW,       /* few columns have many nonzeros, many have few; both over all windows */
  EMPTY_RUNS,      /* a row, then many empty ones, at both ends, too */
  MISSED_BY_SAMPLE /* tiles of a sample repeat columns, the others do not */
} Shape;

static const struct {
  const char *name;
  PetscInt    num_rows, num_columns, num_nonzeros;
} shapes[] = {{"one window", 500, 262144, 20001},     {"few windows", 500, 1000000, 20001},         {"many windows", 500, 5000000, 20001}, {"window borders", 500, 5000000, 20001},
              {"heavy first", 500, 3000000, 20001},   {"heavy last", 500, 3000000, 20001},          {"heavy row", 500, 3000000, 60001},    {"power law", 500, 3000000, 60001},
              {"runs of empty", 700003, 1000, 30011}, {"missed by sample", 81920, 2000000, 8192000}};

/* The column of the k-th nonzero, of n columns. */
static PetscInt Column(Shape shape, PetscInt k, PetscInt n)
{
  const PetscInt scattered = (PetscInt)((PetscInt64)k * 7919 % n);

  switch (shape) {
  case WINDOW_BORDERS:
    return k % 19 * 262144 + (k % 3 == 0 ? 0 : k % 3 == 1 ? 65535 : 262143);
  case HEAVY_FIRST:
    return k % 3 == 0 ? 0 : k % 3 == 1 ? n - 1 - k / 3 % 4 : scattered;
  case HEAVY_LAST:
    return k % 3 == 0 ? 0 : k % 3 == 1 ? n - 1 : scattered;
  case HEAVY_ROW:
    if (k < shapes[shape].num_nonzeros / 2) return 90 * k; // the row
    return k % 2 == 0 ? scattered : k % 3 == 0 ? 1 : n - 2;
  case POWER_LAW:
    return (PetscInt)((PetscInt64)(n * PetscPowReal((PetscReal)((PetscInt64)k * (k + 7919) % n) / n, 8)) * 2904731 % n);
  case MISSED_BY_SAMPLE:
    return k / TILE % 3 == 0 ? k % 7 : scattered;
  default:
    return scattered;
  }
}

/* Where row r begins. */
static PetscInt Begin(Shape shape, PetscInt r)
{
  const PetscInt m = shapes[shape].num_rows, nz = shapes[shape].num_nonzeros;

  if (shape == EMPTY_RUNS) return (PetscInt)PetscMin((PetscInt64)nz, (PetscInt64)(r / 10007) * (r / 10007) * nz / 4200); // rows 10006, 20013, ...
  if (shape == HEAVY_ROW && r > 0) return (PetscInt)(nz / 2 + (PetscInt64)(r - 1) * (nz - nz / 2) / (m - 1));
  return (PetscInt)((PetscInt64)r * nz / m);
}

/* A plan of the kind, perhaps for one product; or with kernel >= 0 of one instantiation. */
static PetscErrorCode CreatePlan(DCSRView view, DCSRSpMVTransposeKind kind, PetscBool one, int kernel, cudaStream_t stream, DCSRSpMVTransposePlan *plan)
{
  PetscFunctionBeginUser;
  if (kernel >= 0) PetscCall(DCSRSpMVTransposePlanCreateKernel(view, kernel, stream, plan));
  else if (one) PetscCall(DCSRSpMVTransposePlanCreateForOne(view, kind, stream, plan));
  else PetscCall(DCSRSpMVTransposePlanCreate(view, kind, stream, plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(Shape shape, DCSRSpMVTransposeKind kind, PetscBool one, int kernel, cudaStream_t stream)
{
  const PetscInt        m = shapes[shape].num_rows, n = shapes[shape].num_columns, nz = shapes[shape].num_nonzeros;
  DCSRSpMVTransposePlan plan;
  DCSRView              view;
  const char           *description;
  int32_t              *offsets, *columns;
  PetscScalar          *values, *x, *y, *got, *device_x, *device_y;
  PetscInt              wrong;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(m + 1, &offsets, nz, &columns, nz, &values));
  PetscCall(PetscMalloc3(m, &x, n, &got, n, &y));
  PetscCall(PetscArrayzero(y, n));
  for (PetscInt r = 0; r <= m; r++) offsets[r] = (int32_t)Begin(shape, r);
  for (PetscInt r = 0; r < m; r++) {
    x[r] = (PetscReal)(1 + r % 3); // sums are exact
    for (PetscInt k = offsets[r]; k < offsets[r + 1]; k++) {
      columns[k] = (int32_t)Column(shape, k, n);
      values[k]  = (PetscReal)(1 + k % 2);
      y[columns[k]] += values[k] * x[r];
    }
  }
  PetscCheck(offsets[0] == 0 && offsets[m] == nz, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d nonzeros", shapes[shape].name, (int)offsets[m]);
  PetscCall(DCSRViewAllocateCompact(m, n, nz, PETSC_FALSE, stream, &view));
  PetscCall(PetscSparseCUDAMalloc(m, "x", stream, &device_x));
  PetscCall(PetscSparseCUDAMalloc(n, "y", stream, &device_y));
  PetscCall(PetscSparseCUDACopyToDevice(view.row_offsets, offsets, sizeof(*offsets) * (size_t)(m + 1), stream));
  PetscCall(PetscSparseCUDACopyToDevice(view.columns, columns, sizeof(*columns) * (size_t)nz, stream));
  PetscCall(PetscSparseCUDACopyToDevice(view.values, values, sizeof(*values) * (size_t)nz, stream));
  PetscCall(PetscSparseCUDACopyToDevice(device_x, x, sizeof(*x) * (size_t)m, stream));
  PetscCall(CreatePlan(view, kind, one, kernel, stream, &plan));
  PetscCheck(one || DCSRSpMVTransposePlanIsComplete(plan), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the plan is not complete", shapes[shape].name);
  for (int product = 0; product < 3; product++) { // the last plan has nothing left to do
    PetscCall(DCSRSpMVTransposePlanGetInfo(plan, NULL, NULL, &description));
    PetscCall(DCSRSpMVTransposeApply(plan, view, PETSC_FALSE, device_x, NULL, device_y, stream));
    PetscCallCUDA(cudaMemcpyAsync(got, device_y, sizeof(*got) * (size_t)n, cudaMemcpyDeviceToHost, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    wrong = 0;
    for (PetscInt c = 0; c < n; c++) wrong += got[c] != y[c];
    if (wrong) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s, %s: %" PetscInt_FMT " columns are wrong in product %d\n", shapes[shape].name, description, wrong, product));
    PetscCall(DCSRSpMVTransposePlanComplete(plan, view, stream));
  }
  PetscCall(DCSRSpMVTransposePlanDestroy(&plan, stream));
  PetscCall(PetscSparseCUDAFree(&device_x, stream));
  PetscCall(PetscSparseCUDAFree(&device_y, stream));
  PetscCall(DCSRViewFree(&view, stream));
  PetscCall(PetscFree3(offsets, columns, values));
  PetscCall(PetscFree3(x, got, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All kinds, and each instantiation: the smaller a tile is, the smaller are its windows. */
static PetscErrorCode CheckAll(Shape shape, cudaStream_t stream)
{
  const char *name;
  PetscBool   fits;

  PetscFunctionBeginUser;
  for (int k = 0; k < 2 * (DCSR_SPMVT_TILE + 1); k++) PetscCall(Check(shape, (DCSRSpMVTransposeKind)(k / 2), (PetscBool)(k % 2), -1, stream));
  for (int kernel = 0;; kernel++) {
    PetscCall(DCSRSpMVTransposeGetKernel(kernel, &name));
    if (name == NULL) break;
    PetscCall(DCSRSpMVTransposeKernelFits(kernel, &fits));
    if (fits) PetscCall(Check(shape, DCSR_SPMVT_AUTO, PETSC_FALSE, kernel, stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  cudaStream_t stream;
  size_t       now;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (Shape shape = ONE_WINDOW; shape <= MISSED_BY_SAMPLE; shape = (Shape)(shape + 1)) PetscCall(CheckAll(shape, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(PetscSparseCUDAGetMemoryInUse(&now, NULL));
    if (now != 0) PetscCall(PetscPrintf(PETSC_COMM_SELF, "%zu bytes of device memory are left\n", now));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
