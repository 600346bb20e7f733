#include "oracle.h"
#include <petscsparsecuda.h>
#include <petscdevice_cuda.h>

uint64_t OracleHash(uint64_t a, uint64_t b, uint64_t c)
{
  uint64_t h = a * 0x9E3779B97F4A7C15ULL + b * 0xC2B2AE3D27D4EB4FULL + c * 0x165667B19E3779F9ULL + 0x27D4EB2F165667C5ULL;

  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ULL;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBULL;
  return h ^ (h >> 31);
}

PetscInt OracleShared(Oracle o, PetscInt n)
{
  o->state++;
  return n > 0 ? (PetscInt)(OracleHash(o->state, 1, 2) % (uint64_t)n) : 0;
}

PetscBool OracleFlip(Oracle o, PetscInt n)
{
  return OracleShared(o, n) == 0 ? PETSC_TRUE : PETSC_FALSE;
}

PetscReal OracleReal(uint64_t a, uint64_t b, uint64_t c)
{
  const uint64_t  h = OracleHash(a, b, c);
  const PetscReal r = (PetscReal)(0.01 + 0.99 * (double)(h >> 12) / 4503599627370496.0);

  return (h & 1) ? r : -r;
}

static PetscScalar OracleScalar(Oracle o, PetscInt i, PetscInt j)
{
  const PetscReal re = OracleReal(o->fill, (uint64_t)i, (uint64_t)j), im = OracleReal(o->fill + 7919, (uint64_t)j, (uint64_t)i);

  return PetscCMPLX(re, PetscDefined(USE_COMPLEX) ? im : 0);
}

typedef enum {
  STENCIL_2D,
  STENCIL_3D,
  ELASTICITY,
  RMAT,
  UNIFORM,
  BAND_HUGE_ROWS,
  EMPTY_ROWS,
  TALL,
  WIDE,
  ONE_COLUMN,
  ONE_ROW,
  NO_NONZEROS,
  NO_ROWS,
  NUM_KINDS
} Kind;

typedef struct {
  Kind      kind;
  PetscInt  M, N, n, per_row; /* n: grid width */
  PetscInt  rbs, cbs;         /* block sizes of rows and columns, which M and N are multiples of */
  PetscBool diagonal;
} Shape;

static void OracleShape(Oracle o, Shape *s)
{
  const PetscInt small = 1 + OracleShared(o, 12), medium = 1 + OracleShared(o, OracleFlip(o, 20) ? 1500 : 120);

  s->kind = (Kind)OracleShared(o, NUM_KINDS);
  if (s->kind >= ONE_COLUMN && OracleFlip(o, 2)) s->kind = UNIFORM; /* degenerate shapes half as often */
  s->n       = small;
  s->per_row = 1 + OracleShared(o, 12);
  s->M = s->N = medium;
  s->diagonal = (PetscBool)!OracleFlip(o, 3);
  switch (s->kind) {
  case STENCIL_2D:
    s->M = s->N = small * small;
    break;
  case STENCIL_3D:
    s->n = 1 + small / 2;
    s->M = s->N = s->n * s->n * s->n;
    break;
  case ELASTICITY:
    s->n = 1 + small / 2;
    s->M = s->N = 3 * s->n * s->n;
    break;
  case TALL:
    s->N = 1 + medium / 10;
    break;
  case WIDE:
    s->M = 1 + medium / 10;
    break;
  case ONE_COLUMN:
    s->N = 1;
    break;
  case ONE_ROW:
    s->M = 1;
    break;
  case NO_ROWS:
    s->M = OracleFlip(o, 2) ? 0 : s->M;
    s->N = 0;
    break;
  case UNIFORM:
    if (OracleFlip(o, 3)) s->N = 1 + OracleShared(o, 150);
    break;
  default:
    break;
  }
}

/* Block sizes of rows and columns, different ones now and then. Sizes are rounded up; a square matrix stays square. */
static void OracleBlockSizes(Oracle o, Shape *s)
{
  const PetscBool square = (PetscBool)(s->M == s->N), blocks = OracleFlip(o, 3);
  const PetscInt  rbs = 2 + OracleShared(o, 3), cbs = 1 + OracleShared(o, 4);

  s->rbs = blocks ? rbs : 1;
  s->cbs = blocks && !square ? cbs : s->rbs;
  s->M   = (s->M + s->rbs - 1) / s->rbs * s->rbs;
  s->N   = (s->N + s->cbs - 1) / s->cbs * s->cbs;
}

/* Columns of row i, sorted and distinct; returns how many. marked: work space of N entries, all false. */
static PetscInt OracleRow(Oracle o, const Shape *s, PetscInt i, PetscInt cols[], char marked[])
{
  PetscInt       count = 0, wanted = 0;
  const PetscInt dof = s->kind == ELASTICITY ? 3 : 1, g = s->n, depth = s->kind == STENCIL_3D ? 1 : 0;

#define Mark(j) \
  do { \
    const PetscInt j_ = (j); \
    if (j_ >= 0 && j_ < s->N) marked[j_] = 1; \
  } while (0)
  switch (s->kind) {
  case STENCIL_2D:
  case STENCIL_3D:
  case ELASTICITY: {
    const PetscInt point = i / dof, x = point % g, y = (point / g) % g, z = point / (g * g);

    for (PetscInt dz = -depth; dz <= depth; dz++)
      for (PetscInt dy = -1; dy <= 1; dy++)
        for (PetscInt dx = -1; dx <= 1; dx++) {
          const PetscBool corner = (PetscBool)(PetscAbsInt(dx) + PetscAbsInt(dy) + PetscAbsInt(dz) > 1);

          if ((corner && s->kind != ELASTICITY) || x + dx < 0 || x + dx >= g || y + dy < 0 || y + dy >= g || (depth && (z + dz < 0 || z + dz >= g))) continue;
          for (PetscInt d = 0; d < dof; d++) Mark(((z + dz) * g * g + (y + dy) * g + x + dx) * dof + d);
        }
    break;
  }
  case RMAT:
    wanted = PetscMin(s->N, (PetscInt)(1.0 / (0.005 + (double)(OracleHash(o->fill, (uint64_t)i, 3) % 1000) / 1000.0)));
    for (PetscInt k = 0; k < wanted; k++) {
      const double u = (double)(OracleHash(o->fill, (uint64_t)i, (uint64_t)k + 11) % 100003) / 100003.0;

      Mark((PetscInt)(u * u * u * (double)s->N));
    }
    break;
  case BAND_HUGE_ROWS:
    for (PetscInt j = i - 2; j <= i + 2; j++) Mark(j);
    if (i == s->M / 3 || i == s->M - 1)
      for (PetscInt j = (PetscInt)(OracleHash(o->fill, 5, 5) % 2); j < s->N; j += 2) Mark(j);
    break;
  case EMPTY_ROWS:
    if (OracleHash(o->fill, (uint64_t)i, 17) % 3) return 0; /* and no diagonal */
    wanted = s->per_row;
    break;
  case NO_NONZEROS:
    return 0;
  default:
    wanted = s->per_row;
    break;
  }
  if (s->kind != RMAT)
    for (PetscInt k = 0; k < wanted; k++) Mark((PetscInt)(OracleHash(o->fill, (uint64_t)i, (uint64_t)k + 23) % (uint64_t)PetscMax(1, s->N)));
  if (s->diagonal && s->M == s->N) Mark(i);
#undef Mark
  for (PetscInt j = 0; j < s->N; j++)
    if (marked[j]) {
      cols[count++] = j;
      marked[j]     = 0;
    }
  return count;
}

/* A layout of N in blocks of bs: PETSc's, or random with empty ranks. */
static PetscErrorCode OracleLayout(Oracle o, PetscInt N, PetscInt bs, PetscLayout *map)
{
  const PetscBool even = (PetscBool)!OracleFlip(o, 3);
  PetscInt        n    = PETSC_DECIDE;

  PetscFunctionBegin;
  if (!even) {
    /* the last rank has most; with the divisor N, all others have nothing */
    const uint64_t blocks = (uint64_t)(N / bs), divisor = OracleHash(o->state, 29, 0) % 4 ? 2 : blocks + 1;
    const PetscInt begin = (PetscInt)(blocks * (uint64_t)o->rank / (uint64_t)o->size / divisor), end = (PetscInt)(blocks * (uint64_t)(o->rank + 1) / (uint64_t)o->size / divisor);

    n = ((o->rank == o->size - 1 ? (PetscInt)blocks : end) - begin) * bs;
  }
  PetscCall(PetscLayoutCreateFromSizes(o->comm, n, N, bs, map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Enters the rows of a shape into M; off-process ones too when by is not 0: each rank enters the rows of the rank by further on. */
static PetscErrorCode OracleEnter(Oracle o, const Shape *s, Mat M, PetscMPIInt by, PetscBool add)
{
  const PetscInt   *ranges;
  const PetscMPIInt owner = (o->rank + by) % o->size;
  PetscInt         *cols;
  PetscScalar      *vals;
  char             *marked;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRanges(M, &ranges));
  PetscCall(PetscMalloc2(s->N, &cols, s->N, &vals));
  PetscCall(PetscCalloc1(s->N, &marked));
  for (PetscInt i = ranges[owner]; i < ranges[owner + 1]; i++) {
    const PetscInt n = OracleRow(o, s, i, cols, marked);

    for (PetscInt k = 0; k < n; k++) vals[k] = OracleScalar(o, i, cols[k]);
    if (add) { /* two halves, so that equal positions are added to */
      for (PetscInt k = 0; k < n; k++) vals[k] *= 0.5;
      PetscCall(MatSetValues(M, 1, &i, n, cols, vals, ADD_VALUES));
    }
    PetscCall(MatSetValues(M, 1, &i, n, cols, vals, add ? ADD_VALUES : INSERT_VALUES));
  }
  PetscCall(PetscFree2(cols, vals));
  PetscCall(PetscFree(marked));
  PetscCall(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OracleCreate(Oracle o, const Shape *s, PetscLayout rmap, PetscLayout cmap, MatType type, PetscInt how, Mat *M)
{
  PetscInt *diagonal, *rest, *cols, m, n;
  char     *marked;

  PetscFunctionBegin;
  PetscCall(PetscLayoutGetLocalSize(rmap, &m));
  PetscCall(PetscLayoutGetLocalSize(cmap, &n));
  PetscCall(MatCreate(o->comm, M));
  PetscCall(MatSetSizes(*M, m, n, s->M, s->N));
  PetscCall(MatSetBlockSizes(*M, s->rbs, s->cbs));
  PetscCall(MatSetType(*M, type));
  if (how % 2) { /* preallocated; the others go through the hash table */
    PetscCall(PetscCalloc4(m, &diagonal, m, &rest, s->N, &cols, s->N, &marked));
    for (PetscInt i = 0; i < m; i++) {
      const PetscInt count = OracleRow(o, s, i + rmap->rstart, cols, marked);

      for (PetscInt k = 0; k < count; k++) {
        if (cols[k] >= cmap->rstart && cols[k] < cmap->rend) diagonal[i]++;
        else rest[i]++;
      }
    }
    PetscCall(MatSeqAIJSetPreallocation(*M, 0, diagonal));
    PetscCall(MatMPIAIJSetPreallocation(*M, 0, diagonal, 0, rest));
    PetscCall(PetscFree4(diagonal, rest, cols, marked));
  }
  PetscCall(OracleEnter(o, s, *M, (how / 2) % 2 ? 1 : 0, (PetscBool)((how / 4) % 2)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleAssemble(Oracle o, MatAssemblyType type)
{
  PetscFunctionBegin;
  OracleBoth(MatAssemblyBegin(o->A, type), MatAssemblyBegin(o->B, type));
  OracleBoth(MatAssemblyEnd(o->A, type), MatAssemblyEnd(o->B, type));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleSetOption(Oracle o, MatOption option, PetscBool flag)
{
  PetscFunctionBegin;
  OracleBoth(MatSetOption(o->A, option, flag), MatSetOption(o->B, option, flag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleIsOurs(Oracle o, PetscBool *ours)
{
  PetscFunctionBegin;
  PetscCall(TestLibIsOurs(o->B, ours));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleOnDevice(Oracle o, PetscBool *device)
{
  PetscBool bound, ours = PETSC_FALSE;
  int       num_devices = 0;

  PetscFunctionBegin;
  if (cudaGetDeviceCount(&num_devices) != cudaSuccess) num_devices = 0; /* a matrix may be free to go to a device that is not there */
  PetscCall(MatBoundToCPU(o->B, &bound));
  PetscCall(OracleIsOurs(o, &ours));
  *device = (PetscBool)(num_devices > 0 && !bound && ours);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleCheckValid(Oracle o)
{
  PetscBool ours = PETSC_FALSE, valid = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(OracleIsOurs(o, &ours));
  if (ours) PetscCall(TestLibIsValid(o->B, &valid));
  if (ours && o->seed % 2 == 0) PetscCall(MatAutoCUDASetProducts(o->B, 1000, 1000)); // storage beside CSR is made for every structure
  PetscCheck(valid, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the storage is not valid", o->operation);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleUpdateNorm(Oracle o)
{
  PetscReal one, infinity;

  PetscFunctionBegin;
  PetscCall(MatNorm(o->A, NORM_1, &one));
  PetscCall(MatNorm(o->A, NORM_INFINITY, &infinity));
  o->norm = PetscMax(one, infinity);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleReplace(Oracle o, Mat A, Mat B)
{
  PetscBool   congruent;
  PetscLayout rmap, cmap;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&o->A));
  PetscCall(MatDestroy(&o->B));
  o->A = A;
  o->B = B;
  PetscCall(MatGetLayouts(A, &rmap, &cmap));
  PetscCall(PetscLayoutCompare(rmap, cmap, &congruent));
  o->square = (PetscBool)(congruent && rmap->N == cmap->N);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleFragment(Oracle o, Mat B)
{
  const PetscInt segments = 1 + OracleShared(o, 4), slack = OracleShared(o, 3);
  PetscBool      ours;

  PetscFunctionBegin;
  PetscCall(TestLibIsOurs(B, &ours));
  if (ours) PetscCall(TestLibFragment(B, segments, slack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A new random matrix, twice: both entered alike, or the second converted from the first. */
PetscErrorCode OracleCreateMatrices(Oracle o)
{
  const PetscInt how = OracleShared(o, 8), way = OracleShared(o, 4);
  MatInfo        info;
  Shape          s;
  PetscLayout    rmap = NULL, cmap = NULL;
  Mat            A, B;

  PetscFunctionBegin;
  o->fill++;
  OracleShape(o, &s);
  OracleBlockSizes(o, &s);
  PetscCall(OracleLayout(o, s.M, s.rbs, &rmap));
  if (s.M == s.N && s.rbs == s.cbs && !OracleFlip(o, 6)) PetscCall(PetscLayoutReference(rmap, &cmap));
  else PetscCall(OracleLayout(o, s.N, s.cbs, &cmap));
  PetscCall(OracleCreate(o, &s, rmap, cmap, MATAIJ, how, &A));
  if (way == 0) PetscCall(MatConvert(A, o->type, MAT_INITIAL_MATRIX, &B));
  else if (way == 1) {
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(MatConvert(B, o->type, MAT_INPLACE_MATRIX, &B));
  } else PetscCall(OracleCreate(o, &s, rmap, cmap, o->type, how, &B));
  PetscCall(OracleReplace(o, A, B));
  PetscCall(MatGetInfo(A, MAT_GLOBAL_SUM, &info));
  o->large = (PetscBool)(info.nz_used > 6000);
  PetscCall(PetscLayoutDestroy(&rmap));
  PetscCall(PetscLayoutDestroy(&cmap));
  PetscCall(OracleUpdateNorm(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleCreatePair(Oracle o, PetscLayout rmap, PetscLayout cmap, PetscInt per_row, Mat *X, Mat *Y)
{
  const PetscInt how = 1 + 2 * OracleShared(o, 2);
  Shape          s;

  PetscFunctionBegin;
  o->fill++;
  s.kind     = OracleFlip(o, 4) ? EMPTY_ROWS : UNIFORM;
  s.per_row  = per_row;
  s.n        = 1;
  s.diagonal = OracleFlip(o, 2);
  PetscCall(PetscLayoutGetSize(rmap, &s.M));
  PetscCall(PetscLayoutGetSize(cmap, &s.N));
  PetscCall(PetscLayoutGetBlockSize(rmap, &s.rbs));
  PetscCall(PetscLayoutGetBlockSize(cmap, &s.cbs));
  PetscCall(OracleCreate(o, &s, rmap, cmap, MATAIJ, how, X));
  PetscCall(OracleCreate(o, &s, rmap, cmap, o->other && OracleFlip(o, 2) ? o->other : o->type, how, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleCreateSubset(Oracle o, Mat *X, Mat *Y)
{
  PetscInt           rstart, rend, m, n, M, N, count;
  const PetscInt    *cols;
  const PetscScalar *vals;

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetLocalSize(o->A, &m, &n));
  PetscCall(MatGetSize(o->A, &M, &N));
  PetscCall(MatGetOwnershipRange(o->A, &rstart, &rend));
  for (int k = 0; k < 2; k++) {
    Mat Z;

    PetscCall(MatCreate(o->comm, &Z));
    PetscCall(MatSetSizes(Z, m, n, M, N));
    PetscCall(MatSetBlockSizesFromMats(Z, o->A, o->A));
    PetscCall(MatSetType(Z, k ? o->type : MATAIJ));
    for (PetscInt i = rstart; i < rend; i++) {
      PetscCall(MatGetRow(o->A, i, &count, &cols, &vals));
      for (PetscInt c = 0; c < count; c++)
        if (OracleHash(o->fill, (uint64_t)i, (uint64_t)cols[c]) % 3) PetscCall(MatSetValue(Z, i, cols[c], OracleScalar(o, i, cols[c]), INSERT_VALUES));
      PetscCall(MatRestoreRow(o->A, i, &count, &cols, &vals));
    }
    PetscCall(MatAssemblyBegin(Z, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(Z, MAT_FINAL_ASSEMBLY));
    *(k ? Y : X) = Z;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode OracleCreateVec(Oracle o, Mat M, PetscBool left, Vec *x, Vec *y)
{
  const PetscInt kind = OracleShared(o, 3);
  PetscInt       n, N, begin;
  PetscScalar   *array;

  PetscFunctionBegin;
  o->fill++;
  if (kind == 0) {
    PetscCall(left ? MatGetLocalSize(M, &n, NULL) : MatGetLocalSize(M, NULL, &n));
    PetscCall(left ? MatGetSize(M, &N, NULL) : MatGetSize(M, NULL, &N));
    PetscCall(VecCreate(o->comm, y));
    PetscCall(VecSetSizes(*y, n, N));
    PetscCall(VecSetType(*y, VECSTANDARD));
  } else {
    PetscCall(MatCreateVecs(M, left ? NULL : y, left ? y : NULL));
    if (kind == 1 && PETSC_VERSION_GE(3, 26, 0)) PetscCall(VecBindToCPU(*y, PETSC_TRUE)); // before, VecCopy() may leave the values on the device, or not wait for them
  }
  PetscCall(VecGetLocalSize(*y, &n));
  PetscCall(VecGetSize(*y, &N));
  PetscCall(VecCreate(o->comm, x));
  PetscCall(VecSetSizes(*x, n, N));
  PetscCall(VecSetType(*x, VECSTANDARD));
  PetscCall(VecGetOwnershipRange(*x, &begin, NULL));
  PetscCall(VecGetArrayWrite(*x, &array));
  for (PetscInt i = 0; i < n; i++) array[i] = OracleScalar(o, begin + i, 1);
  PetscCall(VecRestoreArrayWrite(*x, &array));
  PetscCall(VecCopy(*x, *y));
  PetscFunctionReturn(PETSC_SUCCESS);
}
