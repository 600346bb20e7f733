#pragma once
/*
  Diagonal blocks of few rows and their inverses, as point-block preconditioners have them. Blocks are of one size, or each has its own.
*/
#include <petscsparsecuda/dcsr.h>

#define DCSR_POINT_BLOCK_MAX 32 /* rows of a block: a lane of a warp has one */

/* Inverses on the device, owned by whoever made them. Of blocks of one size the entry (r, c) is at inverses[c * num_rows + first row + r], so that lanes read consecutive numbers; of others at
   inverses[offset of the block + r * rows of the block + c]. */
typedef struct {
  PetscInt     num_rows, num_blocks;
  PetscInt     size;     /* rows of each block; 0: each block has its own */
  PetscInt     max_size; /* of all blocks, at most DCSR_POINT_BLOCK_MAX */
  PetscInt    *starts;   /* [num_blocks + 1] device: first rows; NULL: one size */
  PetscCount  *offsets;  /* [num_blocks + 1] device: first entries of the inverses; NULL: one size */
  PetscInt    *blocks;   /* [num_rows] device: block of each row; NULL: one size */
  PetscScalar *inverses; /* [num_rows * size], or as many as offsets ends with; device */
} DCSRPointBlocks;

/*
  DCSRPointBlocksCreate  - room for the inverses of so many blocks of one size or, unless sizes [num_blocks] (host) is NULL, of these; waits for a copy of sizes
  DCSRPointBlocksInvert  - takes the diagonal blocks of a compact matrix, whose absent entries are zero, and inverts them by elimination with partial pivoting; waits for singular
  DCSRPointBlocksApply   - y = D x, or y = D^T x when transpose says so, with the inverses D
  DCSRPointBlocksStep    - y = alpha D r + beta x + gamma q with blocks of one size
  DCSRPointBlocksDestroy - frees the arrays; a zero one is fine, and it is zero afterwards

  Input Parameters:
+ view     - compact, [num_rows] rows and at least as many columns, with values
. x, q, r  - [num_rows] device; x and q are read where their factors are not 0
. y        - [num_rows] device; may be r or q in a step, x in none
- stream   - asynchronous on it but for what it says

  Output Parameter:
. singular - first block whose elimination came to a pivot of zero; num_blocks: there is none. Blocks of one size of one row: less than PETSC_MACHINE_EPSILON, as PCPBJACOBI has it. The inverse of such
             a block has infinite entries or is no number.

  blocks is zero after DCSRPointBlocksCreate() has failed. Cost: Invert searches each row once and does 2 size^2 operations a row; the others read the inverses and the vectors once.
*/
PETSC_INTERN PetscErrorCode DCSRPointBlocksCreate(PetscInt num_blocks, PetscInt size, const PetscInt sizes[], cudaStream_t stream, DCSRPointBlocks *blocks);
PETSC_INTERN PetscErrorCode DCSRPointBlocksInvert(DCSRView view, const DCSRPointBlocks *blocks, cudaStream_t stream, PetscInt *singular);
PETSC_INTERN PetscErrorCode DCSRPointBlocksApply(const DCSRPointBlocks *blocks, PetscBool transpose, const PetscScalar x[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRPointBlocksStep(const DCSRPointBlocks *blocks, PetscScalar alpha, const PetscScalar r[], PetscScalar beta, const PetscScalar x[], PetscScalar gamma,
                                                const PetscScalar q[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRPointBlocksDestroy(DCSRPointBlocks *blocks, cudaStream_t stream);
