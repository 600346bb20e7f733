static char help[] = "The filter of prolongators against the host: numbers of vectors, sizes of nodes, ghost columns, rows of different patterns, stored zeros, offsets of either width.\n\n";

#include "../entries/kerneltest.h"
#include <petscsparsecuda/filter.h>
#include <petscblaslapack.h>

#if defined(PETSC_USE_REAL_SINGLE)
  #define TOLERANCE 1e-3
#else
  #define TOLERANCE 1e-9
#endif

#define THRESHOLD 0.3

/* A prolongator, in own columns and in ghost columns. */
typedef struct {
  PetscInt         row_block, num_vectors, num_nodes, num_blocks;
  KernelTestMatrix parts[2];
  int32_t         *numbers;   /* of ghost columns, ascending; not all columns of a coarse node are there */
  PetscReal       *coarse[2]; /* [columns of a part][vectors] */
} Case;

static PetscReal Real(PetscCount k, PetscInt seed)
{
  return PetscRealPart(KernelTestNumber(k, seed));
}

/* Which entries there are: mostly the same in the rows of a node, sometimes not; a node without entries, a row without entries, a node with many. */
static PetscBool HasEntry(const Case *c, PetscInt part, PetscInt row, PetscInt column)
{
  const PetscInt node = row / c->row_block, coarse = (part ? c->numbers[column] : column) / c->num_vectors;

  if (node == 3 || row == 7) return PETSC_FALSE;
  if (node != 5 && Real(node * 131 + coarse, 11 + part) < 0.6) return PETSC_FALSE;
  return (PetscBool)(node % 4 != 1 || Real(row * 977 + column, 5) < 0.7);
}

static PetscScalar Entry(const Case *c, PetscInt row, PetscInt column, PetscInt part)
{
  const PetscInt coarse = (part ? c->numbers[column] : column) / c->num_vectors;

  if ((row + column) % 17 == 3) return 0;
  return KernelTestNumber((PetscCount)row * 1009 + column, 3 + part) * ((row / c->row_block + coarse) % 2 ? (PetscReal)1 : (PetscReal)0.1);
}

static PetscErrorCode CreatePart(Case *c, PetscInt part, PetscInt num_columns)
{
  KernelTestMatrix *p = &c->parts[part];

  PetscFunctionBegin;
  p->name = part ? "ghost columns" : "own columns";
  p->m    = c->num_nodes * c->row_block;
  p->n    = num_columns;
  p->nz   = 0;
  PetscCall(PetscMalloc1(p->m + 1, &p->i));
  PetscCall(PetscMalloc1(p->m * p->n, &p->j));
  PetscCall(PetscMalloc1(p->m * p->n, &p->a));
  PetscCall(PetscMalloc1(num_columns * c->num_vectors, &c->coarse[part]));
  p->i[0] = 0;
  for (PetscInt r = 0; r < p->m; r++) {
    for (PetscInt k = 0; k < p->n; k++) {
      if (!HasEntry(c, part, r, k)) continue;
      p->j[p->nz]   = k;
      p->a[p->nz++] = Entry(c, r, k, part);
    }
    p->i[r + 1] = (PetscInt)p->nz;
  }
  for (PetscInt k = 0; k < num_columns; k++)
    for (PetscInt i = 0; i < c->num_vectors; i++)
      c->coarse[part][k * c->num_vectors + i] = (i == (part ? c->numbers[k] : k) % c->num_vectors) + (PetscReal)0.3 * Real(k * c->num_vectors + i, 23 + part);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseCreate(PetscInt row_block, PetscInt num_vectors, PetscInt num_nodes, PetscInt num_coarse, PetscBool ghosts, Case *c)
{
  PetscInt n = 0;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(c, 1));
  c->row_block   = row_block;
  c->num_vectors = num_vectors;
  c->num_nodes   = num_nodes;
  c->num_blocks  = ghosts ? 2 : 1;
  PetscCall(PetscMalloc1(num_coarse * num_vectors, &c->numbers));
  for (PetscInt k = 0; k < num_coarse * num_vectors && ghosts; k++)
    if (k % 5 != 4) c->numbers[n++] = (int32_t)(num_vectors * (k / num_vectors < 2 ? 0 : 100) + k);
  for (PetscInt k = 0; k < c->num_blocks; k++) PetscCall(CreatePart(c, k, k ? n : num_coarse * num_vectors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscFree(c->parts[k].i));
    PetscCall(PetscFree(c->parts[k].j));
    PetscCall(PetscFree(c->parts[k].a));
    PetscCall(PetscFree(c->coarse[k]));
  }
  PetscCall(PetscFree(c->numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The squared norm of what couples a node with a coarse node. */
static PetscReal Norm2(const Case *c, PetscInt part, PetscInt node, PetscInt coarse)
{
  const KernelTestMatrix *p   = &c->parts[part];
  PetscReal               sum = 0;

  for (PetscInt k = p->i[node * c->row_block]; k < p->i[(node + 1) * c->row_block]; k++)
    if ((part ? c->numbers[p->j[k]] : p->j[k]) / c->num_vectors == coarse) sum += PetscSqr(PetscAbsScalar(p->a[k]));
  return sum;
}

/* weak [nonzeros] of each part, zeros included. */
static PetscErrorCode Mark(const Case *c, PetscBool *weak[])
{
  PetscFunctionBegin;
  for (PetscInt node = 0; node < c->num_nodes; node++) {
    PetscReal largest = 0;

    for (PetscInt pass = 0; pass < 2; pass++)
      for (PetscInt part = 0; part < c->num_blocks; part++) {
        const KernelTestMatrix *p = &c->parts[part];

        for (PetscInt k = p->i[node * c->row_block]; k < p->i[(node + 1) * c->row_block]; k++) {
          const PetscReal norm2 = Norm2(c, part, node, (part ? c->numbers[p->j[k]] : p->j[k]) / c->num_vectors);

          if (pass == 0) largest = PetscMax(largest, norm2);
          else weak[part][k] = (PetscBool)(norm2 < PetscSqr((PetscReal)THRESHOLD) * largest || p->a[k] == (PetscScalar)0);
        }
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves for the change of a row with several vectors; *done: there is one. */
static PetscErrorCode SolveRow(PetscInt n, PetscScalar gram[], PetscScalar x[], PetscBool *done)
{
  PetscBLASInt size, one = 1, info, *pivots;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &size));
  PetscCall(PetscMalloc1(n, &pivots));
  PetscCallBLAS("LAPACKgesv", LAPACKgesv_(&size, &one, gram, &size, pivots, x, &size, &info));
  PetscCall(PetscFree(pivots));
  *done = (PetscBool)(info == 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The values that a row should have. */
static PetscErrorCode FilterRow(Case *c, PetscBool *weak[], PetscInt row)
{
  const PetscInt n = c->num_vectors;
  PetscScalar   *gram, *x, kept = 0;
  PetscInt       active = 0;
  PetscBool      done   = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscCalloc2(n * n, &gram, n, &x));
  for (PetscInt part = 0; part < c->num_blocks; part++)
    for (PetscInt k = c->parts[part].i[row]; k < c->parts[part].i[row + 1]; k++) {
      const PetscReal  *b = &c->coarse[part][c->parts[part].j[k] * n];
      const PetscScalar v = c->parts[part].a[k];

      if (weak[part][k]) {
        for (PetscInt i = 0; i < n; i++) x[i] += v * b[i];
        continue;
      }
      active++;
      kept += v * b[0];
      for (PetscInt i = 0; i < n * n; i++) gram[i] += b[i / n] * b[i % n];
    }
  if (n == 1) {
    const PetscScalar before = kept + x[0];

    done = (PetscBool)(PetscAbsScalar(before) > 0 && 1e4 * PetscAbsScalar(kept) > PetscAbsScalar(before));
    if (done) x[0] = before / kept;
  } else if (active >= n) PetscCall(SolveRow(n, gram, x, &done));
  for (PetscInt part = 0; part < c->num_blocks; part++)
    for (PetscInt k = c->parts[part].i[row]; k < c->parts[part].i[row + 1]; k++) {
      PetscScalar *v = &c->parts[part].a[k];

      if (weak[part][k]) continue;
      if (done && n == 1) *v *= x[0];
      else if (done)
        for (PetscInt i = 0; i < n; i++) *v += c->coarse[part][c->parts[part].j[k] * n + i] * x[i];
    }
  PetscCall(PetscFree2(gram, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coarse nodes of own columns that would be empty keep all but zeros; with ghost columns other processes have a say, and nothing is spared here. */
static PetscErrorCode Spare(const Case *c, PetscBool *weak[])
{
  const KernelTestMatrix *p = &c->parts[0];

  PetscFunctionBegin;
  for (PetscInt coarse = 0; coarse < p->n / c->num_vectors && c->num_blocks == 1; coarse++) {
    PetscBool any = PETSC_FALSE;

    for (PetscCount k = 0; k < p->nz; k++) any = (PetscBool)(any || (p->j[k] / c->num_vectors == coarse && !weak[0][k]));
    for (PetscCount k = 0; k < p->nz && !any; k++)
      if (p->j[k] / c->num_vectors == coarse) weak[0][k] = (PetscBool)(p->a[k] == (PetscScalar)0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Removes what is weak. */
static PetscErrorCode Remove(KernelTestMatrix *p, const PetscBool weak[])
{
  PetscCount nz    = 0;
  PetscInt   begin = 0;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < p->m; r++) {
    const PetscInt end = p->i[r + 1];

    for (PetscInt k = begin; k < end; k++) {
      if (weak[k]) continue;
      p->j[nz]   = p->j[k];
      p->a[nz++] = p->a[k];
    }
    p->i[r + 1] = (PetscInt)nz;
    begin       = end;
  }
  p->nz = nz;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FilterOnHost(Case *c)
{
  PetscBool *weak[2] = {NULL, NULL};

  PetscFunctionBegin;
  for (PetscInt part = 0; part < c->num_blocks; part++) PetscCall(PetscCalloc1(c->parts[part].nz, &weak[part]));
  PetscCall(Mark(c, weak));
  PetscCall(Spare(c, weak));
  for (PetscInt row = 0; row < c->parts[0].m; row++) PetscCall(FilterRow(c, weak, row));
  for (PetscInt part = 0; part < c->num_blocks; part++) {
    PetscCall(Remove(&c->parts[part], weak[part]));
    PetscCall(PetscFree(weak[part]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* [num_columns][num_vectors] by way of [num_vectors][num_columns], as PCGAMG has it. */
static PetscErrorCode UploadCoarse(const Case *c, PetscInt part, cudaStream_t stream, void **coarse)
{
  const PetscInt n = c->parts[part].n, N = c->num_vectors;
  PetscReal     *host;
  void          *data;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * N, &host));
  for (PetscInt k = 0; k < n; k++)
    for (PetscInt i = 0; i < N; i++) host[i * n + k] = c->coarse[part][k * N + i];
  PetscCall(KernelTestToDevice((size_t)(n * N) * sizeof(*host), host, stream, &data));
  PetscCall(KernelTestToDevice((size_t)(n * N) * sizeof(*host), host, stream, coarse));
  PetscCall(DCSRFilterPackCoarse(n, N, (PetscReal *)data, (PetscReal *)*coarse, stream));
  PetscCall(PetscSparseCUDAFree(&data, stream));
  PetscCall(PetscFree(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What gamg/filter.c does on one process, without ghost columns. */
static PetscErrorCode SpareOnDevice(DCSRFilter *filter, cudaStream_t stream)
{
  const PetscInt n = filter->blocks[0].view.num_columns, N = filter->num_vectors;
  int32_t       *kept;
  void          *device;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, &kept));
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*kept), kept, stream, &device));
  PetscCall(DCSRFilterNoteColumns(filter, 0, (int32_t *)device, stream));
  PetscCall(KernelTestToHost((size_t)n * sizeof(*kept), device, stream, kept));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  for (PetscInt k = 0; k < n; k += N)
    for (PetscInt i = 1; i < N; i++) kept[k] |= kept[k + i];
  for (PetscInt k = 0; k < n; k++) kept[k] = kept[k - k % N];
  PetscCall(KernelTestToDevice((size_t)n * sizeof(*kept), kept, stream, &device));
  PetscCall(DCSRFilterSpareColumns(filter, 0, (const int32_t *)device, stream));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(PetscFree(kept));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestCase(Case *c, const KernelTestStorage *storage, cudaStream_t stream)
{
  DCSRFilter       filter;
  DCSRView         to[2];
  void            *coarse[2], *numbers = NULL;
  KernelTestMatrix got;
  char             what[128];

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(&filter, 1));
  filter.row_block   = c->row_block;
  filter.num_vectors = c->num_vectors;
  filter.num_blocks  = (int)c->num_blocks;
  for (PetscInt part = 0; part < c->num_blocks; part++) {
    PetscCall(KernelTestViewCreate(&c->parts[part], storage, stream, &filter.blocks[part].view));
    PetscCall(UploadCoarse(c, part, stream, &coarse[part]));
    filter.blocks[part].coarse = (const PetscReal *)coarse[part];
  }
  if (c->num_blocks == 2) {
    PetscCall(KernelTestToDevice((size_t)c->parts[1].n * sizeof(*c->numbers), c->numbers, stream, &numbers));
    filter.blocks[1].numbers = (const int32_t *)numbers;
  }
  PetscCall(DCSRFilterMark(&filter, THRESHOLD, stream));
  if (c->num_blocks == 1) PetscCall(SpareOnDevice(&filter, stream));
  PetscCall(DCSRFilterApply(&filter, to, stream));
  PetscCall(FilterOnHost(c));
  for (PetscInt part = 0; part < c->num_blocks; part++) {
    PetscCall(PetscSNPrintf(what, sizeof(what), "%" PetscInt_FMT " vectors, nodes of %" PetscInt_FMT ", %s, %s", c->num_vectors, c->row_block, c->parts[part].name, storage->name));
    PetscCall(KernelTestMatrixFromView(to[part].row_offsets != NULL ? to[part] : filter.blocks[part].view, stream, &got));
    PetscCall(KernelTestMatrixCompare(&got, &c->parts[part], TOLERANCE, what));
    PetscCall(KernelTestMatrixDestroy(&got));
    PetscCall(KernelTestViewDestroy(&filter.blocks[part].view, stream));
    PetscCall(KernelTestViewDestroy(&to[part], stream));
    PetscCall(PetscSparseCUDAFree(&coarse[part], stream));
  }
  PetscCall(DCSRFilterDestroy(&filter, stream));
  PetscCall(PetscSparseCUDAFree(&numbers, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt vectors[] = {1, 2, 3, 4, 5, 6}, blocks[] = {1, 3, 6};
  PetscBool      usable;
  cudaStream_t   stream = NULL;
  Case           c;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) PetscCall(PetscSparseCUDAGetStream(&stream));
  for (PetscInt s = 0; s < KernelTestNumStorages && usable; s++) {
    if (KernelTestStorages[s].max_segments > 0) continue;
    for (size_t v = 0; v < PETSC_STATIC_ARRAY_LENGTH(vectors); v++)
      for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(blocks); b++)
        for (int ghosts = 0; ghosts < 2; ghosts++)
          for (PetscInt num_coarse = 3; num_coarse <= 12; num_coarse += 9) {
            PetscCall(CaseCreate(blocks[b], vectors[v], 40, num_coarse, (PetscBool)ghosts, &c));
            PetscCall(TestCase(&c, &KernelTestStorages[s], stream));
            PetscCall(CaseDestroy(&c));
          }
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
