#pragma once
/*
  Insertion into a MATDCSRCUDA matrix from inside a CUDA kernel: include this in the .cu file that has the kernel. MatDCSRCUDAGetInserter() tells how it is used.
*/
#include <petscsparsecuda.h>

/* SUBMANSEC = Mat */
/* TOPIC = Insertion from inside a CUDA kernel */

#if defined(__CUDACC__)
/* Entries without room are counted alone, so that MatDCSRCUDARestoreInserter() can tell how much room they need. */
__device__ static inline void MatDCSRCUDAWriteEntry_Private(MatDCSRCUDAInserter ins, unsigned long long k, PetscInt i, PetscInt j, PetscScalar v)
{
  if (k < (unsigned long long)ins.capacity) {
    ins.rows[k]    = i;
    ins.columns[k] = j;
    ins.values[k]  = v;
  }
}

/* Lanes of a mask below the calling one. */
__device__ static inline unsigned int MatDCSRCUDALanesBelow_Private(unsigned int mask)
{
  unsigned int below;

  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(below));
  return (unsigned int)__popc((int)(mask & below));
}

/*@C
  MatDCSRCUDAInsert - Inserts one entry into a `MATDCSRCUDA` matrix from inside a CUDA kernel.

  Device function, called by any threads in any control flow

  Input Parameters:
+ ins - the inserter, a parameter of the kernel
. i   - global row; a negative one is ignored
. j   - global column; a negative one is ignored
- v   - the value

  Level: intermediate

  Notes:
  The entry is merged into the matrix in `MatDCSRCUDARestoreInserter()`; an index that is too large is an error there.

  The lanes of a warp that come here together share one atomic operation and write side by side. Lanes that have several entries each are faster with
  `MatDCSRCUDAInsertBlock()`, which shares one for all of them.

.seealso: `MATDCSRCUDA`, `MatDCSRCUDAGetInserter()`, `MatDCSRCUDAInsertBlock()`
@*/
__device__ static inline void MatDCSRCUDAInsert(MatDCSRCUDAInserter ins, PetscInt i, PetscInt j, PetscScalar v)
{
  unsigned int       mask, rank;
  unsigned long long first = 0;

  if (i < 0 || j < 0) return;
  mask = __activemask();
  rank = MatDCSRCUDALanesBelow_Private(mask);
  if (rank == 0) first = atomicAdd(ins.count, (unsigned long long)__popc((int)mask));
  first = __shfl_sync(mask, first, __ffs((int)mask) - 1);
  MatDCSRCUDAWriteEntry_Private(ins, first + rank, i, j, v);
}

/*@C
  MatDCSRCUDAInsertBlock - Inserts a dense block, such as an element matrix or a row of it, into a `MATDCSRCUDA` matrix from inside a CUDA kernel.

  Device function, called by any threads in any control flow; every thread has a block of its own

  Input Parameters:
+ ins     - the inserter, a parameter of the kernel
. m       - rows of the block
. rows    - [m] their global numbers; negative ones are ignored
. n       - columns of the block
. columns - [n] their global numbers; negative ones are ignored
- v       - [m * n] values, row by row

  Level: intermediate

  Notes:
  The entries are merged into the matrix in `MatDCSRCUDARestoreInserter()`; an index that is too large is an error there.

  The lanes of a warp that come here together share one atomic operation for all their blocks. When their blocks have equally many entries, these are interleaved, so
  that in every step the lanes write side by side. With m and n known to the compiler the block stays in registers, as far as it fits.

.seealso: `MATDCSRCUDA`, `MatDCSRCUDAGetInserter()`, `MatDCSRCUDAInsert()`
@*/
__device__ static inline void MatDCSRCUDAInsertBlock(MatDCSRCUDAInserter ins, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[])
{
  const unsigned int mask = __activemask(), rank = MatDCSRCUDALanesBelow_Private(mask), lanes = (unsigned int)__popc((int)mask);
  unsigned long long num_rows = 0, num_columns = 0, count, before, total, first = 0;
  int                same;

  #pragma unroll
  for (PetscInt a = 0; a < m; a++) num_rows += rows[a] >= 0;
  #pragma unroll
  for (PetscInt b = 0; b < n; b++) num_columns += columns[b] >= 0;
  count = num_rows * num_columns;
  (void)__match_all_sync(mask, count, &same);
  if (same) {
    before = rank;
    total  = lanes * count;
  } else {
    before = total = 0;
    for (unsigned int rest = mask, r = 0; rest != 0; rest &= rest - 1, r++) {
      const unsigned long long c = __shfl_sync(mask, count, __ffs((int)rest) - 1);

      if (r < rank) before += c;
      total += c;
    }
  }
  if (rank == 0) first = atomicAdd(ins.count, total);
  first = __shfl_sync(mask, first, __ffs((int)mask) - 1) + before;
  #pragma unroll
  for (PetscInt a = 0; a < m; a++) {
  #pragma unroll
    for (PetscInt b = 0; b < n; b++) {
      if (rows[a] < 0 || columns[b] < 0) continue;
      MatDCSRCUDAWriteEntry_Private(ins, first, rows[a], columns[b], v[a * n + b]);
      first += same ? lanes : 1;
    }
  }
}
#endif
