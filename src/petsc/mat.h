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
  PetscCall(PetscFree(a->diag)); // which factors alone may share
  a->idiagvalid        = PETSC_FALSE;
  a->inode.ibdiagvalid = PETSC_FALSE;
#else
  (void)a;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSeqAIJMarkDiagonal - Finds the diagonal entries in new host arrays, whose positions the end of an assembly leaves up to 3.24. From 3.25 on PETSc looks for them when it needs them. */
static inline PetscErrorCode MatSeqAIJMarkDiagonal(Mat A)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 25, 0)
  Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;

  PetscCall(MatSeqAIJForgetDiagonal(a));
  PetscCall(PetscMalloc1(A->rmap->n, &a->diag));
  a->diagonaldense = PETSC_TRUE;
  for (PetscInt row = 0; row < A->rmap->n; row++) {
    PetscInt k = a->i[row];

    while (k < a->i[row + 1] && a->j[k] != row) k++;
    a->diag[row] = k;
    if (k == a->i[row + 1] && row < A->cmap->n) a->diagonaldense = PETSC_FALSE;
  }
#else
  (void)A;
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
