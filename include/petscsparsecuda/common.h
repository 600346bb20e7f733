#pragma once
/*
  Layer 2, what all kernels share: the facts of the device, grids, bits of keys. Device code that they share is in src/mat/kernels/common.
*/
#include <petscsparsecuda/sys.h>

/* What grids and launch rules depend on. */
typedef struct {
  int    capability;            /* compute capability, 10 * major + minor; 90: H100, H200 */
  int    num_multiprocessors;   /* 132: H200 */
  int    max_threads;           /* threads that a multiprocessor holds at a time */
  int    max_block_threads;     /* threads of a thread block */
  int    l2_bytes;              /* size of the L2 cache */
  int    shared_bytes;          /* shared memory of a multiprocessor */
  int    block_shared_bytes;    /* shared memory that a thread block can ask for */
  int    reserved_shared_bytes; /* shared memory that each thread block takes beside what it asks for */
  double bandwidth;             /* bytes a microsecond of the memory, by its clock and the width of its bus; 0: not known */
} DCSRDeviceFacts;

/* Thread blocks of 256 threads for each multiprocessor, 16 times as many as it holds, for loops over entries. */
#define DCSR_LOOP_BLOCKS 128

PETSC_INTERN PetscErrorCode DCSRGetDeviceFacts(DCSRDeviceFacts *facts);
PETSC_INTERN PetscErrorCode DCSRGetGrid(PetscCount num_blocks, int multiprocessor_blocks, unsigned int *grid);
PETSC_INTERN int            DCSRKeyBits(PetscInt n);

/* DCSRNumBlocks - Thread blocks of so many threads that n threads need. */
static inline unsigned int DCSRNumBlocks(PetscCount n, int threads)
{
  return (unsigned int)((n + threads - 1) / threads);
}
