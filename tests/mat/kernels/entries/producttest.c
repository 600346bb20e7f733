#include "producttest.h"

static PetscInt Number(PetscInt row, PetscInt k, PetscInt n)
{
  uint64_t x = (uint64_t)row * 0x9e3779b97f4a7c15ull + (uint64_t)k * 0xbf58476d1ce4e5b9ull + 12345;

  x = (x ^ x >> 31) * 0x94d049bb133111ebull;
  return (PetscInt)((x ^ x >> 29) % (uint64_t)n);
}

/* Columns of a row, unsorted and with repeats. */
static PetscInt GetRow(Pattern pattern, PetscInt row, PetscInt m, PetscInt n, PetscInt columns[])
{
  const PetscInt side = (PetscInt)PetscSqrtReal((PetscReal)m);
  PetscInt       num = 0, random = 0;

  if (n == 0) return 0;
  switch (pattern) {
  case ZERO:
    break;
  case IDENTITY:
    if (row < n) columns[num++] = row;
    break;
  case PERMUTED:
    columns[num++] = (PetscInt)((int64_t)row * 7919 % n);
    break;
  case AGGREGATES:
    columns[num++] = (PetscInt)((int64_t)row * n / m);
    break;
  case BAND:
    for (PetscInt k = -3; k <= 40; k += k == 3 ? 30 : 1)
      if (row + k >= 0 && row + k < n) columns[num++] = row + k;
    break;
  case STENCIL9:
    for (PetscInt dy = -1; dy <= 1; dy++)
      for (PetscInt dx = -1; dx <= 1; dx++)
        if (row % side + dx >= 0 && row % side + dx < side && row / side + dy >= 0 && row / side + dy < side && row + dx + dy * side < n) columns[num++] = row + dx + dy * side;
    break;
  case BLOCKS:
    for (PetscInt b = 0; b < 4; b++)
      for (PetscInt k = 0; k < 6; k++) columns[num++] = Number(row / 6, b, n / 6) * 6 + k;
    break;
  case BLOCKS_FEW: // one node of 600 has ten times as many neighbors
    for (PetscInt b = 0; b < (row / 6 % 600 == 7 ? 40 : 4); b++)
      for (PetscInt k = 0; k < 6; k++) columns[num++] = Number(row / 6, b, n / 6) * 6 + k;
    break;
  case RANDOM4:
    random = 4;
    break;
  case RANDOM40:
    random = 40;
    break;
  case SKEWED:
    random = row % 97 * (row % 97) / 8;
    break;
  case DENSE_ROWS:
    if (row % 50 == 0)
      for (PetscInt k = 0; k < n; k++) columns[num++] = k;
    else random = 2;
    break;
  case FEW_DENSE:
    if (row % 20000 == 0)
      for (PetscInt k = 0; k < n; k++) columns[num++] = k;
    else random = 3;
    break;
  case DENSE_COLS:
    columns[num++] = 0;
    columns[num++] = n - 1;
    break;
  case HOLES:
    if (row % 2) random = 5;
    break;
  case ONE_OR_NONE:
    if (row % 3) columns[num++] = Number(row, 0, n);
    break;
  }
  for (PetscInt k = 0; k < random; k++) columns[num++] = Number(row, k, n);
  return num;
}

PetscErrorCode ProductTestMatrixCreate(const char name[], Pattern pattern, PetscInt m, PetscInt n, PetscInt seed, KernelTestMatrix *A)
{
  PetscInt *columns, room = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n + 2000, &columns));
  A->name = name;
  A->m    = m;
  A->n    = n;
  A->nz   = 0;
  PetscCall(PetscMalloc1(m + 1, &A->i));
  for (PetscInt row = 0; row < m; row++) room += GetRow(pattern, row, m, n, columns);
  PetscCall(PetscMalloc2(room, &A->j, room, &A->a));
  A->i[0] = 0;
  for (PetscInt row = 0; row < m; row++) {
    PetscInt num = GetRow(pattern, row, m, n, columns);

    PetscCall(PetscSortRemoveDupsInt(&num, columns));
    PetscCall(PetscArraycpy(A->j + A->nz, columns, num));
    A->nz += num;
    A->i[row + 1] = (PetscInt)A->nz;
  }
  for (PetscCount k = 0; k < A->nz; k++) A->a[k] = KernelTestNumber(k, seed);
  PetscCall(PetscFree(columns));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductTestFactorsCreate - both factors of a case, with different values */
PetscErrorCode ProductTestFactorsCreate(const ProductTestCase *c, KernelTestMatrix *A, KernelTestMatrix *B)
{
  PetscFunctionBegin;
  PetscCall(ProductTestMatrixCreate(c->name, c->a, c->m, c->k, 1, A));
  PetscCall(ProductTestMatrixCreate(c->name, c->b, c->k, c->n, 2, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ProductTestExpand(const KernelTestMatrix *from, int br, int bc, PetscInt seed, KernelTestMatrix *to)
{
  PetscFunctionBegin;
  to->name = from->name;
  to->m    = from->m * br;
  to->n    = from->n * bc;
  to->nz   = from->nz * br * bc;
  PetscCall(PetscMalloc1(to->m + 1, &to->i));
  PetscCall(PetscMalloc2(to->nz, &to->j, to->nz, &to->a));
  to->i[0] = 0;
  for (PetscInt row = 0; row < to->m; row++) {
    const PetscInt block = row / br;
    PetscInt       k     = to->i[row];

    for (PetscInt l = from->i[block]; l < from->i[block + 1]; l++)
      for (int c = 0; c < bc; c++) to->j[k++] = from->j[l] * bc + c;
    to->i[row + 1] = k;
  }
  for (PetscCount k = 0; k < to->nz; k++) to->a[k] = KernelTestNumber(k, seed);
  PetscFunctionReturn(PETSC_SUCCESS);
}
