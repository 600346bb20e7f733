#pragma once
/* Matrices; see sys.h. */
#include "sys.h"
#include <petsc/private/matimpl.h>
#include <../src/mat/impls/aij/mpi/mpiaij.h>
#include <../src/mat/impls/aij/seq/aij.h>
#include <../src/mat/impls/maij/maij.h>

#if PETSC_VERSION_LT(3, 26, 0)
typedef MatParentState MatState;
#endif

/* An operation of 3.24 that reads host arrays: a line for AIJ_WRAPPERS(). */
#if PETSC_VERSION_LT(3, 25, 0)
  #define MISSING_DIAGONAL_WRAPPER(X) X(missingdiagonal, (Mat A, PetscBool * missing, PetscInt * row), (A, missing, row), HOST_READ_STRUCTURE)
#else
  #define MISSING_DIAGONAL_WRAPPER(X)
#endif

/* MatSeqAIJForgetDiagonal - Frees the positions of the diagonal entries in host arrays that go, and forgets their inverses. From 3.25 on PETSc compares states of the matrix. */
static inline PetscErrorCode MatSeqAIJForgetDiagonal(Mat_SeqAIJ *a)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 25, 0)
  if (a->free_diag) PetscCall(PetscFree(a->diag));
  a->diag              = NULL;
  a->idiagvalid        = PETSC_FALSE;
  a->inode.ibdiagvalid = PETSC_FALSE;
#else
  (void)a;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatProduct's destroy has the address of the data, and up to 3.24 the data. PRODUCT_DESTROY_DEFINE(f), after f, makes what PRODUCT_DESTROY(f) names. */
#if PETSC_VERSION_LT(3, 25, 0)
  #define PRODUCT_DESTROY_DEFINE(f) \
    static PetscErrorCode f##_Data(void *data) \
    { \
      return f(&data); \
    }
  #define PRODUCT_DESTROY(f) f##_Data
#else
  #define PRODUCT_DESTROY_DEFINE(f)
  #define PRODUCT_DESTROY(f) f
#endif
