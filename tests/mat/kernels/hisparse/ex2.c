static char help[] = "The selection of a format, on stencils and on rows of random columns.\n\
  -small : few matrices, for tools that take long\n\n";

#include "../entries/kerneltest.h"
#include "../../../../src/mat/kernels/hisparse/hisparseimpl.h"
#include "../../small.h"

/* Matrices for the rule: stencils on a cube of points, whose numbers may be permuted within groups of 64, and rows of random columns. */
typedef struct {
  const char    *name;
  PetscInt       edge;    /* of the cube; 0: none */
  PetscInt       reach;   /* neighbors with at most so many different coordinates: 1 star, 3 cube */
  PetscBool      permute; /* points */
  PetscInt       random;  /* of 100 rows, so many have random columns in place of the stencil's */
  HiSparseFormat format;  /* that the rule must take */
} RuleCase;

static const RuleCase RuleCases[] = {{"7-point stencil", 52, 1, PETSC_FALSE, 0, HISPARSE_DIAGONALS},
                                     {"27-point stencil", 52, 3, PETSC_FALSE, 0, HISPARSE_DIAGONALS},
                                     {"27-point stencil, few slices", 40, 3, PETSC_FALSE, 0, HISPARSE_CSR},
                                     {"small 7-point stencil", 20, 1, PETSC_FALSE, 0, HISPARSE_CSR},
                                     {"permuted 27-point stencil", 52, 3, PETSC_TRUE, 0, HISPARSE_CSR},
                                     {"permuted, small", 30, 3, PETSC_TRUE, 0, HISPARSE_CSR},
                                     {"random columns", 52, 3, PETSC_FALSE, 100, HISPARSE_CSR},
                                     {"half of the rows random", 52, 3, PETSC_FALSE, 50, HISPARSE_CSR},
                                     {"permuted, some random columns", 52, 3, PETSC_TRUE, 2, HISPARSE_CSR}};

static PetscInt Permuted(const RuleCase *rule, PetscInt p, PetscInt n)
{
  return rule->permute && p / 64 < n / 64 ? p / 64 * 64 + (p % 64 * 37 + p / 64 * 11) % 64 : p;
}

/* Columns of a row, sorted by the caller. */
static PetscInt RuleRow(const RuleCase *rule, PetscInt p, PetscInt columns[])
{
  const PetscInt e = rule->edge, n = e * e * e, x = p % e, y = p / e % e, z = p / (e * e);
  PetscInt       size = 0;

  for (PetscInt k = 0; k < 27; k++) {
    const PetscInt dx = k % 3 - 1, dy = k / 3 % 3 - 1, dz = k / 9 - 1;

    if (PetscAbsInt(dx) + PetscAbsInt(dy) + PetscAbsInt(dz) > rule->reach || x + dx < 0 || x + dx >= e || y + dy < 0 || y + dy >= e || z + dz < 0 || z + dz >= e) continue;
    if ((p * 61 + 7) % 100 < rule->random) columns[size++] = (PetscInt)(((PetscCount)p * 7919 + (PetscCount)k * (n / 27) + (PetscCount)k * p % 1000) % n);
    else columns[size++] = Permuted(rule, p + dx + e * (dy + e * dz), n);
  }
  return size;
}

static PetscErrorCode TestRule(const RuleCase *rule, cudaStream_t stream)
{
  const PetscInt   n = rule->edge * rule->edge * rule->edge;
  KernelTestMatrix A;
  PetscInt        *inverse, columns[27];
  DCSRView         view;
  HiSparseFormat   format, again;

  PetscFunctionBegin;
  A.name = rule->name;
  A.m = A.n = n;
  PetscCall(PetscMalloc2(n + 1, &A.i, n, &inverse));
  for (PetscInt p = 0; p < n; p++) inverse[Permuted(rule, p, n)] = p;
  A.i[0] = 0;
  for (PetscInt r = 0; r < n; r++) A.i[r + 1] = A.i[r] + RuleRow(rule, inverse[r], columns);
  A.nz = A.i[n];
  PetscCall(PetscMalloc2(A.nz, &A.j, A.nz, &A.a));
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt size = RuleRow(rule, inverse[r], A.j + A.i[r]);

    PetscCall(PetscSortInt(size, A.j + A.i[r]));
  }
  for (PetscCount k = 0; k < A.nz; k++) A.a[k] = 1.0;
  PetscCall(KernelTestViewCreate(&A, &KernelTestStorages[0], stream, &view));
  PetscCall(HiSparseRuleApply(view, stream, &format));
  PetscCall(HiSparseRuleApply(view, stream, &again));
  PetscCheck(format == again, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s, and then %s", rule->name, HiSparseFormats[format], HiSparseFormats[again]);
  PetscCheck(PetscDefined(USE_COMPLEX) || PetscDefined(USE_REAL_SINGLE) || format == rule->format, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the rule takes %s, not %s", rule->name,
             HiSparseFormats[format], HiSparseFormats[rule->format]);
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscCall(PetscFree2(A.j, A.a));
  PetscCall(PetscFree2(A.i, inverse));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 132 multiprocessors with 896 threads hold 3,696 slices. */
static PetscErrorCode TestWaves(void)
{
  static const struct {
    PetscCount num_slices;
    double     factor;
  } cases[] = {{1, 1},
               {3696, 1},
               {3697, 1 + 0.125 * (2 * 3696.0 / 3697 - 1)},
               {4504, 1 + 0.125 * (2 * 3696.0 / 4504 - 1)},
               {7391, 1 + 0.125 * (2 * 3696.0 / 7391 - 1)},
               {7392, 1},
               {8192, 1},
               {(PetscCount)1 << 31, 1}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    const double factor = HiSparseRuleWaves(cases[k].num_slices, 132, 896);

    PetscCheck(PetscAbsReal((PetscReal)(factor - cases[k].factor)) < 1e-6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " slices: %g in place of %g", cases[k].num_slices, factor,
               cases[k].factor);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable, small;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestIsSmall(&small));
  PetscCall(TestWaves());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(RuleCases); k++)
      if (!small || RuleCases[k].edge < 30) PetscCall(TestRule(&RuleCases[k], stream));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out
  test:
    suffix: host
    args: -device_enable none
    output_file: output/empty.out

TEST*/
