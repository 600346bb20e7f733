#include "oracle.h"

/* Insertion by blocks, by local numbers, and by points of a grid. */

#define MOST_BLOCKS 3 /* of rows, and of columns, in one call */
#define MOST_VALUES (MOST_BLOCKS * MOST_BLOCKS * 16)

/* How a call names rows and columns. */
typedef enum {
  BLOCKED,
  LOCAL,
  BLOCKED_LOCAL,
  STENCIL,
  BLOCKED_STENCIL,
  NUM_WAYS
} Way;

/* The ghosted box of a process whose points the local blocks are: global numbers of blocks, -1 where nothing is. */
typedef struct {
  PetscInt dim, dims[3], starts[3], bs[2]; /* bs: of rows and columns */
  PetscInt num_points;
} Box;

/* A number below n, another one on each process. */
static PetscInt Draw(Oracle o, PetscInt k, PetscInt n)
{
  return (PetscInt)(OracleHash(o->fill, (uint64_t)o->rank + 50, (uint64_t)k) % (uint64_t)n);
}

static PetscErrorCode DrawBox(Oracle o, Box *box)
{
  PetscFunctionBegin;
  box->dim        = 1 + OracleShared(o, 3);
  box->num_points = 1;
  for (PetscInt d = 0; d < 3; d++) {
    box->dims[d]   = d < box->dim ? 1 + OracleShared(o, 4) : 1;
    box->starts[d] = d < box->dim ? OracleShared(o, 7) - 3 : 0;
    box->num_points *= box->dims[d];
  }
  PetscCall(MatGetBlockSizes(o->A, &box->bs[0], &box->bs[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks [begin, end) of N rows or columns, any of them. */
static PetscErrorCode CreateMapping(Oracle o, const Box *box, int which, PetscInt begin, PetscInt end, ISLocalToGlobalMapping *map)
{
  PetscInt *blocks;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(box->num_points, &blocks));
  for (PetscInt p = 0; p < box->num_points; p++) blocks[p] = begin < end && Draw(o, 3 * p + 1000 * which, 16) ? begin + Draw(o, 3 * p + 1000 * which + 1, end - begin) : -1;
  PetscCall(ISLocalToGlobalMappingCreate(o->comm, box->bs[which], box->num_points, blocks, PETSC_OWN_POINTER, map));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of this process alone where values are inserted: two processes might insert different ones. */
static PetscErrorCode SetNumbering(Oracle o, const Box *box, InsertMode mode)
{
  PetscInt               M, N, begin, end;
  ISLocalToGlobalMapping rows, columns;

  PetscFunctionBegin;
  PetscCall(MatGetSize(o->A, &M, &N));
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  if (mode == ADD_VALUES) {
    begin = 0;
    end   = M;
  }
  PetscCall(CreateMapping(o, box, 0, begin / box->bs[0], end / box->bs[0], &rows));
  PetscCall(CreateMapping(o, box, 1, 0, N / box->bs[1], &columns));
  for (int k = 0; k < 2; k++) {
    const Mat X = k ? o->B : o->A;

    PetscCall(MatSetLocalToGlobalMapping(X, rows, columns));
    PetscCall(MatSetStencil(X, box->dim, box->dims, box->starts, PetscMin(box->bs[0], box->bs[1])));
  }
  PetscCall(ISLocalToGlobalMappingDestroy(&rows));
  PetscCall(ISLocalToGlobalMappingDestroy(&columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A point of the box, or one before its first. */
static void DrawPoint(Oracle o, const Box *box, PetscInt k, MatStencil *s)
{
  PetscInt x[3];

  for (PetscInt d = 0; d < 3; d++) x[d] = box->starts[d] + Draw(o, k + 7 * d, box->dims[d]);
  if (Draw(o, k + 31, 12) == 0) x[0] = box->starts[0] - 1;
  s->i = x[0];
  s->j = x[1];
  s->k = x[2];
  s->c = Draw(o, k + 43, PetscMin(box->bs[0], box->bs[1]));
}

/* A number below n, or a negative one, which is ignored. */
static PetscInt DrawNumber(Oracle o, PetscInt k, PetscInt begin, PetscInt end)
{
  return begin < end && Draw(o, k, 12) ? begin + Draw(o, k + 1, end - begin) : -1;
}

/* One call for both matrices. */
static PetscErrorCode SetBlock(Oracle o, Way way, const Box *box, InsertMode mode)
{
  const PetscBool local = (PetscBool)(way != BLOCKED), scalar = (PetscBool)(way == LOCAL);
  PetscInt        n[2], numbers[2][MOST_BLOCKS], begin[2] = {0, 0}, end[2];
  MatStencil      points[2][MOST_BLOCKS];
  PetscScalar     v[MOST_VALUES];

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetSize(o->A, &end[0], &end[1]));
  if (mode == INSERT_VALUES) PetscCall(MatGetOwnershipRange(o->A, &begin[0], &end[0]));
  for (int r = 0; r < 2; r++) {
    n[r]     = 1 + Draw(o, r, MOST_BLOCKS);
    begin[r] = local ? 0 : begin[r] / box->bs[r];
    end[r]   = local ? box->num_points * (scalar ? box->bs[r] : 1) : end[r] / box->bs[r];
    for (PetscInt k = 0; k < n[r]; k++) {
      numbers[r][k] = DrawNumber(o, 100 * (r + 1) + 2 * k, begin[r], end[r]);
      DrawPoint(o, box, 100 * (r + 3) + 11 * k, &points[r][k]);
    }
  }
  for (PetscInt k = 0; k < MOST_VALUES; k++) v[k] = OracleReal(o->fill, (uint64_t)o->rank, (uint64_t)k);
  for (int k = 0; k < 2; k++) {
    const Mat X = k ? o->B : o->A;

    if (way == BLOCKED) PetscCall(MatSetValuesBlocked(X, n[0], numbers[0], n[1], numbers[1], v, mode));
    if (way == LOCAL) PetscCall(MatSetValuesLocal(X, n[0], numbers[0], n[1], numbers[1], v, mode));
    if (way == BLOCKED_LOCAL) PetscCall(MatSetValuesBlockedLocal(X, n[0], numbers[0], n[1], numbers[1], v, mode));
    if (way == STENCIL) PetscCall(MatSetValuesStencil(X, n[0], points[0], n[1], points[1], v, mode));
    if (way == BLOCKED_STENCIL) PetscCall(MatSetValuesBlockedStencil(X, n[0], points[0], n[1], points[1], v, mode));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some calls of one way or of several, rows or columns first, flushes between the modes. */
static PetscErrorCode Blocks(Oracle o)
{
  const PetscInt  rounds = 1 + OracleShared(o, 3), calls = 1 + OracleShared(o, 12);
  const PetscBool mixed = OracleFlip(o, 3), rows = OracleFlip(o, 2);
  const Way       way = (Way)OracleShared(o, NUM_WAYS);
  PetscInt        M, N;
  Box             box;

  PetscFunctionBegin;
  PetscCall(MatGetSize(o->A, &M, &N));
  if (M == 0 || N == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(OracleSetOption(o, MAT_ROW_ORIENTED, rows));
  PetscCall(DrawBox(o, &box));
  for (PetscInt r = 0; r < rounds; r++) {
    const InsertMode mode = OracleFlip(o, 3) ? INSERT_VALUES : ADD_VALUES;

    o->fill++;
    PetscCall(SetNumbering(o, &box, mode));
    for (PetscInt c = 0; c < calls; c++) PetscCall(SetBlock(o, mixed ? (Way)OracleShared(o, NUM_WAYS) : way, &box, mode));
    PetscCall(OracleAssemble(o, r == rounds - 1 ? MAT_FINAL_ASSEMBLY : MAT_FLUSH_ASSEMBLY));
  }
  PetscCall(OracleSetOption(o, MAT_ROW_ORIENTED, PETSC_TRUE));
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All blocks of some rows, where they may be there already: whole new ones are what storage by blocks takes. */
static PetscErrorCode WholeBlocks(Oracle o)
{
  const InsertMode mode = OracleFlip(o, 2) ? INSERT_VALUES : ADD_VALUES;
  PetscInt         bs[2], begin, end, N;
  PetscScalar      v[16];

  PetscFunctionBegin;
  PetscCall(MatGetBlockSizes(o->A, &bs[0], &bs[1]));
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  PetscCall(MatGetSize(o->A, NULL, &N));
  o->fill++;
  for (PetscInt i = begin / bs[0]; N > 0 && i < end / bs[0]; i++) {
    const PetscInt j = (PetscInt)(OracleHash(o->fill, (uint64_t)i, 2) % (uint64_t)(N / bs[1]));

    if (OracleHash(o->fill, (uint64_t)i, 1) % 3) continue;
    for (PetscInt k = 0; k < 16; k++) v[k] = OracleReal(o->fill, (uint64_t)i, (uint64_t)k + 3);
    OracleBoth(MatSetValuesBlocked(o->A, 1, &i, 1, &j, v, mode), MatSetValuesBlocked(o->B, 1, &i, 1, &j, v, mode));
  }
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  PetscCall(OracleCheckValid(o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleBlockOperations[] = {{"insertion by blocks, local numbers and stencils", 5, Blocks, PETSC_FALSE, 0},
                                                 {"insertion of whole blocks", 3, WholeBlocks, PETSC_FALSE, 0},
                                                 {NULL, 0, NULL, PETSC_FALSE, 0}};
