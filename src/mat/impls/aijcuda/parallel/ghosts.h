#pragma once
/*
  Ghost columns: the columns of the off-diagonal block of a parallel matrix, numbered by the positions of their global numbers in garray, and what belongs to them.

  While such a matrix is built the block may have global columns still, and garray is NULL; they become ghost columns at the latest when its assembly ends.

  What is promised of garray: it ascends on all processes while the state of the matrix is not PARALLEL_HOST. All code for the device relies on that, and asks for the state, which is the same on all
  processes, before it reads the ghost columns: insertion, sums, products, transposes, submatrices, graphs; MatMPIAIJCUDAGhostsAscend() is for what may be no matrix of ours. What the library makes
  ascends (MatMPIAIJCUDASetGhosts()). MATMPIAIJ's submatrices of permuted own columns do not, and their order has to stay, since MAT_REUSE_MATRIX relies on it. So MatMPIAIJCUDASetDeviceAssembly()
  looks wherever the host's ghost columns become ours: in conversions from MATMPIAIJ, and when the parent has ended an assembly, as in MatCreateSubMatrix() and MatCreateMPIAIJWithSeqAIJ(). A matrix
  with others goes by the host, but for products with vectors and what goes entry by entry, which only copy the order, until the parent makes new ghost columns for new entries.
*/
#include "../core/core.h"

PETSC_INTERN PetscBool      MatMPIAIJCUDAHasGlobalColumns(Mat);
PETSC_INTERN PetscBool      MatMPIAIJCUDAGhostsAscend(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetDeviceAssembly(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetGhosts(Mat, PetscInt, PetscInt **);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAExtendGhosts(Mat, PetscInt, const int32_t[]);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetUpMultiply(Mat);
PETSC_INTERN PetscErrorCode GhostColumnsUnite(PetscInt, const PetscInt[], PetscInt, const PetscInt[], cudaStream_t, PetscInt *, PetscInt **, int32_t **, int32_t **);
