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

/* MatSeqAIJForgetInverses - Forgets inverses of diagonal entries and blocks: the values are others. From 3.25 on PETSc compares states of the matrix. */
static inline void MatSeqAIJForgetInverses(Mat_SeqAIJ *a)
{
#if PETSC_VERSION_LT(3, 25, 0)
  a->idiagvalid        = PETSC_FALSE;
  a->ibdiagvalid       = PETSC_FALSE;
  a->inode.ibdiagvalid = PETSC_FALSE;
#else
  (void)a;
#endif
}

/* MatSeqAIJForgetDiagonal - Frees the positions of the diagonal entries in host arrays that go, too. */
static inline PetscErrorCode MatSeqAIJForgetDiagonal(Mat_SeqAIJ *a)
{
  PetscFunctionBegin;
  MatSeqAIJForgetInverses(a);
#if PETSC_VERSION_LT(3, 25, 0)
  PetscCall(PetscFree(a->diag)); // which factors alone may share
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatSeqAIJMarkDiagonal - Finds the diagonal entries in host arrays that A is about to get, whose positions the end of an assembly leaves up to 3.24; after PETSC_ERR_MEM A is as it was

  From 3.25 on PETSc looks for them when it needs them.
*/
static inline PetscErrorCode MatSeqAIJMarkDiagonal(Mat A, const PetscInt i[], const PetscInt j[])
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 25, 0)
  Mat_SeqAIJ *a = (Mat_SeqAIJ *)A->data;
  PetscInt   *diag;

  PetscCall(PetscMalloc1(A->rmap->n, &diag));
  PetscCall(MatSeqAIJForgetDiagonal(a));
  a->diag          = diag;
  a->diagonaldense = PETSC_TRUE;
  for (PetscInt row = 0; row < A->rmap->n; row++) {
    PetscInt k = i[row];

    while (k < i[row + 1] && j[k] != row) k++;
    diag[row] = k;
    if (k == i[row + 1] && row < A->cmap->n) a->diagonaldense = PETSC_FALSE;
  }
#else
  (void)A;
  (void)i;
  (void)j;
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

/* MatProductDestroyData - Frees what a product keeps, as MatProductClear() does it. */
static inline PetscErrorCode MatProductDestroyData(Mat_Product *product)
{
  PetscFunctionBegin;
#if PETSC_VERSION_LT(3, 25, 0)
  PetscCall((*product->destroy)(product->data));
#else
  PetscCall((*product->destroy)(&product->data));
#endif
  product->destroy = NULL;
  product->view    = NULL;
  product->data    = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}
