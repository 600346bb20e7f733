#pragma once
/*
  The competitor: cuSPARSE, the one that is linked and, with -newest_cusparse FILE, another one beside it; products of CSR with a vector, each of its algorithms with preprocessing.
*/
#include "benchmatrix.h"
#include <cusparse.h>

/* What the benchmarks call: F(Create) is cusparseCreate(). */
#define BENCH_CUSPARSE_FUNCTIONS(F) \
  F(Create) \
  F(Destroy) \
  F(GetVersion) \
  F(SetStream) \
  F(SetPointerMode) \
  F(CreateCsr) \
  F(CsrSetPointers) \
  F(SpMatGetSize) \
  F(DestroySpMat) \
  F(CreateDnVec) \
  F(DestroyDnVec) \
  F(CreateMatDescr) \
  F(DestroyMatDescr) \
  F(SpMV_bufferSize) \
  F(SpMV_preprocess) \
  F(SpMV) \
  F(Dcsrgeam2_bufferSizeExt) \
  F(Xcsrgeam2Nnz) \
  F(Dcsrgeam2) \
  F(SpGEMM_createDescr) \
  F(SpGEMM_destroyDescr) \
  F(SpGEMM_workEstimation) \
  F(SpGEMM_estimateMemory) \
  F(SpGEMM_compute) \
  F(SpGEMM_copy) \
  F(SpGEMMreuse_workEstimation) \
  F(SpGEMMreuse_nnz) \
  F(SpGEMMreuse_copy) \
  F(SpGEMMreuse_compute)

/* What newer ones have, NULL in others: SpMVOp of CUDA 13.5 (y = A x by a kernel that is made for the matrix), SpGEAM of 13.3 (sums). Algorithms: 0 is the default. */
typedef struct BenchSpMVOpDescr_s *BenchSpMVOpDescr;
typedef struct BenchSpMVOpPlan_s  *BenchSpMVOpPlan;
typedef struct BenchSpGEAMDescr_s *BenchSpGEAMDescr;
#define BENCH_SPMVOP_ARGS cusparseHandle_t, cusparseOperation_t, cusparseSpMatDescr_t, cusparseDnVecDescr_t, cusparseDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, int
#define BENCH_SPGEAM_ARGS \
  cusparseHandle_t, cusparseOperation_t, cusparseOperation_t, const void *, cusparseSpMatDescr_t, const void *, cusparseSpMatDescr_t, cusparseSpMatDescr_t, cudaDataType, int, BenchSpGEAMDescr
#define BENCH_CUSPARSE_NEW_FUNCTIONS(F) \
  F(SpMVOp_bufferSize, (BENCH_SPMVOP_ARGS, size_t *)) \
  F(SpMVOp_createDescr, \
    (cusparseHandle_t, BenchSpMVOpDescr *, cusparseOperation_t, cusparseSpMatDescr_t, cusparseDnVecDescr_t, cusparseDnVecDescr_t, cusparseDnVecDescr_t, cudaDataType, int, void *)) \
  F(SpMVOp_destroyDescr, (BenchSpMVOpDescr)) \
  F(SpMVOp_createPlan, (cusparseHandle_t, BenchSpMVOpDescr, BenchSpMVOpPlan *, const void *, size_t)) \
  F(SpMVOp_destroyPlan, (BenchSpMVOpPlan)) \
  F(SpMVOp, (cusparseHandle_t, BenchSpMVOpPlan, const void *, const void *, cusparseDnVecDescr_t, cusparseDnVecDescr_t, cusparseDnVecDescr_t)) \
  F(SpGEAM_createDescr, (BenchSpGEAMDescr *)) \
  F(SpGEAM_destroyDescr, (BenchSpGEAMDescr)) \
  F(SpGEAM_bufferSize, (BENCH_SPGEAM_ARGS, size_t *)) \
  F(SpGEAM_nnz, (BENCH_SPGEAM_ARGS, void *)) \
  F(SpGEAM, (BENCH_SPGEAM_ARGS, void *))

typedef struct {
  char             version[32]; /* "" of the one that is linked, else " 12.9.4" */
  cusparseHandle_t handle;      /* its pointers are of the host */
#define BENCH_CUSPARSE_DECLARE(f) __typeof__(cusparse##f) *f;
  BENCH_CUSPARSE_FUNCTIONS(BENCH_CUSPARSE_DECLARE)
#define BENCH_CUSPARSE_DECLARE_NEW(f, arguments) cusparseStatus_t(*f) arguments;
  BENCH_CUSPARSE_NEW_FUNCTIONS(BENCH_CUSPARSE_DECLARE_NEW)
} BenchCusparseLibrary;

/* The libraries, made at the first call; their handles have the stream. They live until the process ends. */
PETSC_INTERN PetscErrorCode BenchCusparseGetLibraries(cudaStream_t, PetscInt *, const BenchCusparseLibrary *[]);
/* "cuSPARSE ALG1" or "cuSPARSE 12.9.4 ALG1"; lives as long as the libraries. */
PETSC_INTERN PetscErrorCode BenchCusparseName(const BenchCusparseLibrary *, const char[], const char *[]);

typedef struct {
  const BenchCusparseLibrary *library;
  const char                 *name; /* of library and algorithm */
  cusparseSpMatDescr_t        matrix;
  cusparseDnVecDescr_t        x, y;
  cusparseOperation_t         operation; /* CUSPARSE_OPERATION_NON_TRANSPOSE or CUSPARSE_OPERATION_TRANSPOSE */
  cusparseSpMVAlg_t           algorithm; /* of SpMV */
  BenchSpMVOpDescr            descr;     /* of SpMVOp; NULL with SpMV */
  BenchSpMVOpPlan             plan;      /* likewise */
  char                       *buffer;
} BenchCusparse;

/* Calls what is given with each algorithm of each library that does the product. */
typedef PetscErrorCode      BenchCusparseFn(BenchCusparse *, void *);
PETSC_INTERN PetscErrorCode BenchCusparseForEach(DCSRView, cusparseOperation_t, PetscScalar[], PetscScalar[], cudaStream_t, BenchCusparseFn *, void *);
PETSC_INTERN PetscErrorCode BenchCusparseRun(void *, cudaStream_t); /* one product; a BenchFn */
