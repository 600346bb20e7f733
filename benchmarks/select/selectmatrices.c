/* Families of generated matrices and their parameters; see selectmatrices.h. */
#include "selectmatrices.h"
#include "../common/benchmatrix.h"
#include "../common/benchmesh.h"
#include <math.h>

#define PER_FAMILY   40
#define MIN_NONZEROS 1000000.0
#define MAX_NONZEROS 24000000.0

/* What the matrices of a family have in common. Ranges are the smallest and the largest. */
typedef struct {
  const char *name;
  SelectKind  kind;
  int         dimensions; /* of a grid */
  bool        star;
  SelectOrder order;
  int32_t     dof[2];
  double      kept[2];
  int32_t     row_size[2]; /* of those that are no grids */
  double      band[2];     /* as a power of the number of rows */
} Family;

// clang-format off
static const Family families[] = {
  {"2d5",         SELECT_GRID,      2, true,  SELECT_NATURAL,  {1, 1}, {1, 1},      {0, 0},   {0, 0}},
  {"2d9",         SELECT_GRID,      2, false, SELECT_NATURAL,  {1, 1}, {1, 1},      {0, 0},   {0, 0}},
  {"3d7",         SELECT_GRID,      3, true,  SELECT_NATURAL,  {1, 1}, {1, 1},      {0, 0},   {0, 0}},
  {"3d27",        SELECT_GRID,      3, false, SELECT_NATURAL,  {1, 1}, {1, 1},      {0, 0},   {0, 0}},
  {"2d-dof",      SELECT_GRID,      2, false, SELECT_NATURAL,  {2, 6}, {1, 1},      {0, 0},   {0, 0}},
  {"3d-dof",      SELECT_GRID,      3, false, SELECT_NATURAL,  {2, 4}, {1, 1},      {0, 0},   {0, 0}},
  {"holes",       SELECT_GRID,      3, false, SELECT_NATURAL,  {1, 2}, {0.1, 0.95}, {0, 0},   {0, 0}},
  {"windows",     SELECT_GRID,      3, false, SELECT_WINDOWS,  {1, 3}, {1, 1},      {0, 0},   {0, 0}},
  {"permuted",    SELECT_GRID,      3, false, SELECT_PERMUTED, {1, 3}, {1, 1},      {0, 0},   {0, 0}},
  {"rmat",        SELECT_RMAT,      0, false, SELECT_NATURAL,  {1, 1}, {1, 1},      {3, 24},  {0, 0}},
  {"uniform",     SELECT_UNIFORM,   0, false, SELECT_NATURAL,  {1, 1}, {1, 1},      {2, 40},  {0, 0}},
  {"band",        SELECT_BAND,      0, false, SELECT_NATURAL,  {1, 1}, {1, 1},      {3, 60},  {0.35, 0.9}},
  {"powerlaw",    SELECT_POWERLAW,  0, false, SELECT_NATURAL,  {1, 1}, {1, 1},      {3, 24},  {0, 0}},
  {"diagonals",   SELECT_DIAGONALS, 0, false, SELECT_NATURAL,  {1, 1}, {0.15, 1},   {3, 40},  {0.35, 0.9}},
  {"blocks",      SELECT_BLOCKS,    0, false, SELECT_NATURAL,  {2, 6}, {1, 1},      {2, 16},  {0.35, 0.9}},
  {"thinblocks",  SELECT_BLOCKS,    0, false, SELECT_NATURAL,  {2, 6}, {0.5, 0.98}, {2, 16},  {0.35, 0.9}},
  {"mesh",        SELECT_MESH,      0, false, SELECT_NATURAL,  {1, 3}, {1, 1},      {15, 15}, {0, 0}},
};
// clang-format on
#define NUM_FAMILIES ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(families))

/* The k-th random number of a matrix, in [0, 1): splitmix64, as benchrandom.cuh has it for the device. */
static double Random(unsigned long long seed, unsigned long long k)
{
  unsigned long long h = (k + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;

  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ull;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebull;
  h ^= h >> 31;
  return (double)(h >> 11) * 0x1p-53;
}

/* Between two bounds, both included. */
static int32_t Pick(const int32_t bounds[2], double u)
{
  return bounds[0] + (int32_t)(u * (bounds[1] - bounds[0] + 1));
}

/* SelectCount - see selectmatrices.h */
PetscInt SelectCount(void)
{
  return PER_FAMILY * NUM_FAMILIES;
}

/* Points of the edges of a grid: about so many in all, edges of different lengths. */
static void SetGrid(const Family *f, double points, SelectMatrix *s)
{
  const double a = 0.5 + Random(s->seed, 10), b = 0.5 + Random(s->seed, 11), edge = f->dimensions == 2 ? sqrt(points / a) : cbrt(points / (a * b));

  s->n[0] = (int32_t)PetscMax(edge, 2.0);
  s->n[1] = (int32_t)PetscMax(edge * a, 2.0);
  s->n[2] = f->dimensions == 2 ? 1 : (int32_t)PetscMax(edge * b, 2.0);
}

/* SelectGet - see selectmatrices.h */
void SelectGet(PetscInt i, SelectMatrix *s)
{
  const Family *f        = &families[i % NUM_FAMILIES];
  const int     reach    = f->star ? 2 * f->dimensions + 1 : f->dimensions == 2 ? 9 : 27;
  double        nonzeros = 0, u;

  *s       = (SelectMatrix){.family = f->name, .number = i / NUM_FAMILIES, .kind = f->kind, .star = f->star, .order = f->order};
  s->seed  = 1000 + (unsigned long long)i;
  nonzeros = MIN_NONZEROS * pow(MAX_NONZEROS / MIN_NONZEROS, Random(s->seed, 0));
  s->dof   = Pick(f->dof, Random(s->seed, 1));
  if (f->kind == SELECT_BLOCKS && s->dof == 5) s->dof = 3; // a size that blocks have
  s->kept     = f->kept[0] + (f->kept[1] - f->kept[0]) * Random(s->seed, 2);
  s->row_size = PetscMax(Pick(f->row_size, Random(s->seed, 3)), 1);
  if (f->kind == SELECT_GRID) {
    SetGrid(f, nonzeros / reach / s->dof / s->dof / s->kept, s);
    return;
  }
  s->rows = (int32_t)(nonzeros / s->row_size / s->kept);
  if (f->kind == SELECT_BLOCKS) s->rows = (int32_t)(nonzeros / s->row_size / s->dof / s->kept) / s->dof * s->dof;
  if (f->kind == SELECT_RMAT) s->rows = 1 << (int)(log2((double)s->rows) + 0.5);
  if (f->kind == SELECT_MESH) s->rows = (int32_t)(nonzeros / s->row_size / s->dof / s->dof);
  u       = f->band[0] + (f->band[1] - f->band[0]) * Random(s->seed, 4);
  s->band = (int32_t)pow((double)s->rows / (f->kind == SELECT_BLOCKS ? s->dof : 1), u) + 2;
}

/* SelectRows - the number of rows, and of columns */
PetscInt SelectRows(const SelectMatrix *s)
{
  if (s->kind == SELECT_GRID) return s->n[0] * s->n[1] * s->n[2] * s->dof;
  return s->kind == SELECT_MESH ? s->rows * s->dof : s->rows;
}

/* SelectCreate - see selectmatrices.h. A failure ends the benchmark: nothing is freed. */
PetscErrorCode SelectCreate(const SelectMatrix *s, cudaStream_t stream, DCSRView *view)
{
  const PetscInt      m        = SelectRows(s);
  PetscCount          num_keys = SelectNumKeys(s);
  unsigned long long *keys     = NULL;

  PetscFunctionBegin;
  if (s->kind == SELECT_MESH) PetscCall(BenchMeshKeys((BenchMesh){BENCH_MESH_GEOMETRIC, s->rows, s->dof}, stream, &keys, &num_keys));
  else {
    PetscCall(PetscSparseCUDAMalloc(num_keys, "benchmark keys", stream, &keys));
    PetscCall(SelectKeys(s, num_keys, keys, stream));
  }
  PetscCall(BenchMatrixFromKeys(m, m, num_keys, keys, stream, view));
  PetscFunctionReturn(PETSC_SUCCESS);
}
