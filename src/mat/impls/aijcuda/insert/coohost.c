/* Lists of coordinates: which side takes them, and the parent's functions called through the host copy when that is the host. */
#include "insert.h"
#include "preallocation.h"
#include "../core/core.h"
#include "../../../../petsc/parents.h"
#include "../host/composed.h"
#include "../parallel/parallel.h"
#include <petscsparsecuda/report.h>

/* Where the parent composes the list of MatSetPreallocationCOO(). */
static const char COO_KEY[] = "__PETSc_MatCOOStruct_Host";

typedef PetscErrorCode (*SetPreallocationFn)(Mat, PetscCount, PetscInt[], PetscInt[]);
typedef PetscErrorCode (*SetValuesFn)(Mat, const PetscScalar[], InsertMode);

/* A host copy of an array that the caller may have given in device memory; *copy is NULL when the array is on the host already. */
static PetscErrorCode GetHostCopy(const void *array, size_t bytes, void **copy)
{
  PetscMemType   mtype;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscSparseCUDAReportScope outer;

  PetscFunctionBegin;
  *copy = NULL;
  if (array == NULL || bytes == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscGetMemType(array, &mtype));
  if (PetscMemTypeHost(mtype)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscMalloc(bytes, copy));
  outer = PetscSparseCUDAReportEnter(REPORT_INSERTION, NULL);
  ierr  = PetscSparseCUDACopyToHost(*copy, array, bytes, stream);
  PetscSparseCUDAReportLeave(outer);
  PetscCallGoto(ierr, failed, ierr);
  PetscCall(PetscLogGpuToCpu((PetscLogDouble)bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscFree(*copy));
  PetscFunctionReturn(ierr);
}

/* The parent has made new blocks of a parallel matrix, whose nonzerostate was this one. Collective. */
static PetscErrorCode CountBlocks(Mat A, PetscObjectState nonzerostate)
{
  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDARaiseSum(A, nonzerostate));
  MatAIJCUDASetNonzeroState(A, A->nonzerostate + nonzerostate - 1); // MatSetPreallocationCOO() adds one behind us, and the next assembly takes the sum
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetPreallocationCOO(Mat A, SetPreallocationFn parent, PetscCount n, PetscInt i[], PetscInt j[])
{
  const PetscObjectState nonzerostate = A->nonzerostate;
  void                  *i_host = NULL, *j_host = NULL;
  MatAIJCUDAPattern      pattern = NULL;
  PetscBool              is;
  PetscErrorCode         ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, done, GetHostCopy(i, (size_t)n * sizeof(PetscInt), &i_host));
  PetscCallGoto(ierr, done, GetHostCopy(j, (size_t)n * sizeof(PetscInt), &j_host));
  PetscCallGoto(ierr, done, MatIsSeqAIJCUDA(A, &is));
  if (is) PetscCallGoto(ierr, done, MatSeqAIJCUDAShowHostArrays(A));
  PetscCallGoto(ierr, done, (*parent)(A, n, i_host != NULL ? (PetscInt *)i_host : i, j_host != NULL ? (PetscInt *)j_host : j));
  if (!is) PetscCallGoto(ierr, done, CountBlocks(A, nonzerostate));
  PetscCallGoto(ierr, done, MatAIJCUDAHostReplaced(A));
  PetscCallGoto(ierr, done, MatAIJCUDAPatternCreate(A, NULL, &pattern));
  PetscCallGoto(ierr, done, MatCOOPatternAttach(A, COO_KEY, &pattern));
done:
  PetscCall(PetscFree(i_host));
  PetscCall(PetscFree(j_host));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The list that the parent composed. */
static PetscErrorCode GetCOO(Mat A, void **coo)
{
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, COO_KEY, (PetscObject *)&container));
  PetscCheck(container != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_WRONGSTATE, "Call MatSetPreallocationCOO() before MatSetValuesCOO()");
  PetscCall(PetscContainerGetPointer(container, coo));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The parent writes where the list says, without a look at the pattern. Of a list that was made before the matrix became ours only the number of its positions is known. */
static PetscErrorCode CheckPattern(Mat A, PetscBool is_mpi, const void *coo)
{
  PetscBool  known;
  PetscCount n, nz;

  PetscFunctionBegin;
  PetscCall(MatCOOPatternCheck(A, COO_KEY, &known));
  if (known) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < (is_mpi ? 2 : 1); k++) {
    const Mat block = !is_mpi ? A : k ? ((Mat_MPIAIJ *)A->data)->B : ((Mat_MPIAIJ *)A->data)->A;

    n  = !is_mpi ? ((const MatCOOStruct_SeqAIJ *)coo)->nz : k ? ((const MatCOOStruct_MPIAIJ *)coo)->Bnnz : ((const MatCOOStruct_MPIAIJ *)coo)->Annz;
    nz = ((Mat_SeqAIJ *)block->data)->nz;
    PetscCheck(n == nz, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "There are %" PetscCount_FMT " local nonzeros and were %" PetscCount_FMT " after MatSetPreallocationCOO(): call it again before MatSetValuesCOO()", nz, n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetValuesCOO(Mat A, SetValuesFn parent, PetscBool is_mpi, const PetscScalar v[], InsertMode mode)
{
  void          *coo, *v_host = NULL;
  PetscCount     n;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GetCOO(A, &coo));
  ierr = CheckPattern(A, is_mpi, coo);
  if (is_mpi) PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  PetscCall(ierr);
  n = is_mpi ? ((MatCOOStruct_MPIAIJ *)coo)->n : ((MatCOOStruct_SeqAIJ *)coo)->n;
  PetscCall(GetHostCopy(v, (size_t)n * sizeof(PetscScalar), &v_host));
  PetscCallGoto(ierr, done, MatAIJCUDAHostBegin(A, HOST_WRITE));
  ierr = (*parent)(A, v_host != NULL ? (PetscScalar *)v_host : v, mode);
  ierr = MatAIJCUDAHostFinish(A, HOST_WRITE, ierr);
done:
  PetscCall(PetscFree(v_host));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetPreallocationCOO_SeqAIJCUDA - MatSetPreallocationCOO() of a sequential matrix */
PetscErrorCode MatSetPreallocationCOO_SeqAIJCUDA(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJCUDAInsertsOnDevice(A, &device));
  if (device) PetscCall(MatSetPreallocationCOO_SeqAIJCUDA_Device(A, n, i, j));
  else {
    PetscCall(MatSeqAIJCUDADiscardStaged(A));
    PetscCall(MatCOODevice_Remove(A));
    PetscCall(SetPreallocationCOO(A, MatAIJCUDAParentSeq.setpreallocationcoo, n, i, j));
    MatSeqAIJCUDAGet(A)->staging.device_assembly = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetPreallocationCOO_MPIAIJCUDA - The same of a parallel matrix */
PetscErrorCode MatSetPreallocationCOO_MPIAIJCUDA(Mat A, PetscCount n, PetscInt i[], PetscInt j[])
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatMPIAIJCUDAAgreeBound(A));
  PetscCall(MatMPIAIJCUDAInsertsOnDevice(A, &device));
  if (device) PetscCall(MatSetPreallocationCOO_MPIAIJCUDA_Device(A, n, i, j));
  else {
    PetscCall(MatMPIAIJCUDADestroyInsertion(A));
    PetscCall(MatCOODevice_Remove(A));
    MatMPIAIJCUDAGet(A)->state = PARALLEL_HOST;
    PetscCall(SetPreallocationCOO(A, MatAIJCUDAParentMPI.setpreallocationcoo, n, i, j));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetValuesCOO_SeqAIJCUDA - MatSetValuesCOO() of a sequential matrix */
PetscErrorCode MatSetValuesCOO_SeqAIJCUDA(Mat A, const PetscScalar v[], InsertMode mode)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatCOODevice_Has(A, &device));
  if (device) PetscCall(MatSetValuesCOO_SeqAIJCUDA_Device(A, v, mode));
  else PetscCall(SetValuesCOO(A, MatAIJCUDAParentSeq.setvaluescoo, PETSC_FALSE, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatSetValuesCOO_MPIAIJCUDA - The same of a parallel matrix */
PetscErrorCode MatSetValuesCOO_MPIAIJCUDA(Mat A, const PetscScalar v[], InsertMode mode)
{
  PetscBool device;

  PetscFunctionBegin;
  PetscCall(MatCOODevice_Has(A, &device));
  if (device) PetscCall(MatSetValuesCOO_MPIAIJCUDA_Device(A, v, mode));
  else PetscCall(SetValuesCOO(A, MatAIJCUDAParentMPI.setvaluescoo, PETSC_TRUE, v, mode));
  PetscFunctionReturn(PETSC_SUCCESS);
}
