/* The entries of generated matrices as lists of keys; see selectmatrices.h. */
#include "../common/benchrandom.cuh"
#include "selectmatrices.h"
#include <petscsparsecuda/common.h>

#define THREADS 256
#define NONE    (~0ull)

/* A number of n, one to one, that looks random: a Feistel network over the next even number of bits, applied until the result is in range. */
__device__ static int32_t Permuted(int32_t i, int32_t n, unsigned long long seed)
{
  int          bits = 2;
  unsigned int half, x = (unsigned int)i;

  while (bits < 32 && (1ll << bits) < n) bits += 2;
  half = (1u << bits / 2) - 1;
  do {
    unsigned int left = x >> bits / 2, right = x & half;

    for (int round = 0; round < 4; round++) {
      const unsigned int next = left ^ ((unsigned int)BenchHash(right, seed + (unsigned long long)round) & half);

      left  = right;
      right = next;
    }
    x = left << bits / 2 | right;
  } while (x >= (unsigned int)n);
  return (int32_t)x;
}

__device__ static int32_t Number(const SelectMatrix &s, int32_t point, int32_t num_points)
{
  if (s.order == SELECT_PERMUTED) return Permuted(point, num_points, s.seed);
  if (s.order == SELECT_WINDOWS) {
    const int32_t begin = point / 64 * 64;

    return begin + Permuted(point - begin, min(64, num_points - begin), s.seed + (unsigned long long)begin);
  }
  return point;
}

__device__ static unsigned long long Key(int32_t row, int32_t column)
{
  return (unsigned long long)row << 32 | (unsigned int)column;
}

/* Entry e of a grid: point, neighbor of 27, or 9 in a plane, and pair of unknowns. */
__device__ static unsigned long long GridKey(const SelectMatrix &s, unsigned long long e)
{
  const int32_t            planes = s.n[2] > 1 ? 3 : 1, square = s.dof * s.dof, num_points = s.n[0] * s.n[1] * s.n[2];
  const int32_t            pair = (int32_t)(e % square), neighbor = (int32_t)(e / square % (9 * planes)), point = (int32_t)(e / square / (9 * planes));
  const int32_t            dx = neighbor % 3 - 1, dy = neighbor / 3 % 3 - 1, dz = planes == 3 ? neighbor / 9 - 1 : 0;
  const int32_t            x = point % s.n[0] + dx, y = point / s.n[0] % s.n[1] + dy, z = point / s.n[0] / s.n[1] + dz;
  const unsigned long long block = e / square;

  if (x < 0 || x >= s.n[0] || y < 0 || y >= s.n[1] || z < 0 || z >= s.n[2]) return NONE;
  if (s.star && (dx != 0) + (dy != 0) + (dz != 0) > 1) return NONE;
  if ((dx || dy || dz) && BenchUniform(block, s.seed + 1) >= s.kept) return NONE;
  return Key(Number(s, point, num_points) * s.dof + pair / s.dof, Number(s, x + s.n[0] * (y + s.n[1] * z), num_points) * s.dof + pair % s.dof);
}

__device__ static unsigned long long EntryKey(const SelectMatrix &s, unsigned long long e)
{
  const int32_t row = (int32_t)(e / s.row_size), k = (int32_t)(e % s.row_size), n = s.rows;
  int32_t       r, c;

  switch (s.kind) {
  case SELECT_GRID:
    return GridKey(s, e);
  case SELECT_RMAT:
    BenchRMAT(e + (s.seed << 40), 31 - __clz(n), &r, &c);
    return Key(r, c);
  case SELECT_UNIFORM:
    return Key(row, (int32_t)(BenchHash(e, s.seed) % n));
  case SELECT_BAND:
    return Key(row, min(max(row - s.band + (int32_t)(BenchHash(e, s.seed) % (2 * s.band + 1)), 0), n - 1));
  case SELECT_POWERLAW:
    return Key((int32_t)(n * pow(BenchUniform(e, s.seed), 3.0)), (int32_t)(BenchHash(e, s.seed + 1) % n));
  case SELECT_DIAGONALS:
    c = row - s.band + (int32_t)(BenchHash(k, s.seed) % (2 * s.band + 1));
    return k == 0 ? Key(row, row) : c < 0 || c >= n || BenchUniform(e, s.seed + 1) >= s.kept ? NONE : Key(row, c);
  default:
    return NONE;
  }
}

/* Entry e of blocks: row of blocks, block, position. */
__device__ static unsigned long long BlockKey(const SelectMatrix &s, unsigned long long e)
{
  const int32_t            square = s.dof * s.dof, position = (int32_t)(e % square), n = s.rows / s.dof;
  const unsigned long long block = e / square;
  const int32_t            row = (int32_t)(block / s.row_size), k = (int32_t)(block % s.row_size);
  const int32_t            column = k == 0 ? row : min(max(row - s.band + (int32_t)(BenchHash(block, s.seed) % (2 * s.band + 1)), 0), n - 1);

  if (BenchUniform(e, s.seed + 1) >= s.kept) return NONE;
  return Key(row * s.dof + position / s.dof, column * s.dof + position % s.dof);
}

__global__ static void KeysKernel(SelectMatrix s, PetscCount num_keys, unsigned long long *keys)
{
  const PetscCount i = (PetscCount)blockIdx.x * THREADS + threadIdx.x;

  if (i >= num_keys) return;
  keys[i] = s.kind == SELECT_BLOCKS ? BlockKey(s, (unsigned long long)i) : EntryKey(s, (unsigned long long)i);
}

/* SelectNumKeys - how many keys there are, with those of no entry */
PetscCount SelectNumKeys(const SelectMatrix *s)
{
  if (s->kind == SELECT_GRID) return (PetscCount)s->n[0] * s->n[1] * s->n[2] * (s->n[2] > 1 ? 27 : 9) * s->dof * s->dof;
  if (s->kind == SELECT_BLOCKS) return (PetscCount)(s->rows / s->dof) * s->row_size * s->dof * s->dof;
  return (PetscCount)s->rows * s->row_size;
}

/* SelectKeys - see selectmatrices.h */
PetscErrorCode SelectKeys(const SelectMatrix *s, PetscCount num_keys, unsigned long long keys[], cudaStream_t stream)
{
  PetscFunctionBegin;
  KeysKernel<<<DCSRNumBlocks(num_keys, THREADS), THREADS, 0, stream>>>(*s, num_keys, keys);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}
