/*
  A stand-in for cuBLAS, for the factorizations of cuSOLVER and for the random numbers that PETSc uses, by the host's BLAS and LAPACK and drand48(): device memory is memory of the host (cudart.c).
  Real numbers, and complex ones in double precision; other functions do nothing and succeed (make-emulator).
*/
#include <cublas_v2.h>
#include <cusolverDn.h>
#include <stdlib.h>
#undef cublasGetPointerMode
#undef cublasSetPointerMode

static const char                 operations[] = "NTC", triangles[] = "LU", sides[] = "LR", diagonals[] = "NU";
static cublasPointerMode_t pointer_mode  = CUBLAS_POINTER_MODE_HOST; /* numbers are found in either case */

cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
  *mode = pointer_mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
  pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}

#define OK return CUBLAS_STATUS_SUCCESS

/* Of a type T with the letters L and, in the host's libraries, l. */
#define DEFINE_BLAS(L, l, T) \
  void l##axpy_(), l##copy_(), l##swap_(), l##scal_(), l##gemv_(), l##gbmv_(), l##gemm_(), l##tbsv_(), l##trsv_(), l##trsm_(), l##getrf_(), l##getrs_(), l##potrf_(), l##potrs_(), l##potri_(); \
\
  cublasStatus_t cublas##L##axpy_v2(cublasHandle_t h, int n, const T *a, const T *x, int ix, T *y, int iy) \
  { \
    l##axpy_(&n, a, x, &ix, y, &iy); \
    OK; \
  } \
  cublasStatus_t cublas##L##copy_v2(cublasHandle_t h, int n, const T *x, int ix, T *y, int iy) \
  { \
    l##copy_(&n, x, &ix, y, &iy); \
    OK; \
  } \
  cublasStatus_t cublas##L##swap_v2(cublasHandle_t h, int n, T *x, int ix, T *y, int iy) \
  { \
    l##swap_(&n, x, &ix, y, &iy); \
    OK; \
  } \
  cublasStatus_t cublas##L##scal_v2(cublasHandle_t h, int n, const T *a, T *x, int ix) \
  { \
    l##scal_(&n, a, x, &ix); \
    OK; \
  } \
  cublasStatus_t cublas##L##gemv_v2(cublasHandle_t h, cublasOperation_t t, int m, int n, const T *a, const T *A, int lda, const T *x, int ix, const T *b, T *y, int iy) \
  { \
    l##gemv_(&operations[t], &m, &n, a, A, &lda, x, &ix, b, y, &iy); \
    OK; \
  } \
  cublasStatus_t cublas##L##gemvStridedBatched(cublasHandle_t h, cublasOperation_t t, int m, int n, const T *a, const T *A, int lda, long long sa, const T *x, int ix, long long sx, const T *b, T *y, \
                                               int iy, long long sy, int count) \
  { \
    for (int k = 0; k < count; k++) l##gemv_(&operations[t], &m, &n, a, A + k * sa, &lda, x + k * sx, &ix, b, y + k * sy, &iy); \
    OK; \
  } \
  cublasStatus_t cublas##L##gbmv_v2(cublasHandle_t h, cublasOperation_t t, int m, int n, int kl, int ku, const T *a, const T *A, int lda, const T *x, int ix, const T *b, T *y, int iy) \
  { \
    l##gbmv_(&operations[t], &m, &n, &kl, &ku, a, A, &lda, x, &ix, b, y, &iy); \
    OK; \
  } \
  cublasStatus_t cublas##L##tbsv_v2(cublasHandle_t h, cublasFillMode_t u, cublasOperation_t t, cublasDiagType_t d, int n, int k, const T *A, int lda, T *x, int ix) \
  { \
    l##tbsv_(&triangles[u], &operations[t], &diagonals[d], &n, &k, A, &lda, x, &ix); \
    OK; \
  } \
  cublasStatus_t cublas##L##trsv_v2(cublasHandle_t h, cublasFillMode_t u, cublasOperation_t t, cublasDiagType_t d, int n, const T *A, int lda, T *x, int ix) \
  { \
    l##trsv_(&triangles[u], &operations[t], &diagonals[d], &n, A, &lda, x, &ix); \
    OK; \
  } \
  cublasStatus_t cublas##L##gemm_v2(cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, const T *a, const T *A, int lda, const T *B, int ldb, const T *b, T *C, int ldc) \
  { \
    l##gemm_(&operations[ta], &operations[tb], &m, &n, &k, a, A, &lda, B, &ldb, b, C, &ldc); \
    OK; \
  } \
  cublasStatus_t cublas##L##trsm_v2(cublasHandle_t h, cublasSideMode_t s, cublasFillMode_t u, cublasOperation_t t, cublasDiagType_t d, int m, int n, const T *a, const T *A, int lda, T *B, int ldb) \
  { \
    l##trsm_(&sides[s], &triangles[u], &operations[t], &diagonals[d], &m, &n, a, A, &lda, B, &ldb); \
    OK; \
  } \
  cusolverStatus_t cusolverDn##L##getrf_bufferSize(cusolverDnHandle_t h, int m, int n, T *A, int lda, int *size) \
  { \
    *size = 1; \
    return CUSOLVER_STATUS_SUCCESS; \
  } \
  cusolverStatus_t cusolverDn##L##getrf(cusolverDnHandle_t h, int m, int n, T *A, int lda, T *work, int *pivots, int *info) \
  { \
    l##getrf_(&m, &n, A, &lda, pivots, info); \
    return CUSOLVER_STATUS_SUCCESS; \
  } \
  cusolverStatus_t cusolverDn##L##getrs(cusolverDnHandle_t h, cublasOperation_t t, int n, int k, const T *A, int lda, const int *pivots, T *B, int ldb, int *info) \
  { \
    l##getrs_(&operations[t], &n, &k, A, &lda, pivots, B, &ldb, info); \
    return CUSOLVER_STATUS_SUCCESS; \
  } \
  cusolverStatus_t cusolverDn##L##potrf_bufferSize(cusolverDnHandle_t h, cublasFillMode_t u, int n, T *A, int lda, int *size) \
  { \
    *size = 1; \
    return CUSOLVER_STATUS_SUCCESS; \
  } \
  cusolverStatus_t cusolverDn##L##potrf(cusolverDnHandle_t h, cublasFillMode_t u, int n, T *A, int lda, T *work, int size, int *info) \
  { \
    l##potrf_(&triangles[u], &n, A, &lda, info); \
    return CUSOLVER_STATUS_SUCCESS; \
  } \
  cusolverStatus_t cusolverDn##L##potrs(cusolverDnHandle_t h, cublasFillMode_t u, int n, int k, const T *A, int lda, T *B, int ldb, int *info) \
  { \
    l##potrs_(&triangles[u], &n, &k, A, &lda, B, &ldb, info); \
    return CUSOLVER_STATUS_SUCCESS; \
  } \
  cusolverStatus_t cusolverDn##L##potri_bufferSize(cusolverDnHandle_t h, cublasFillMode_t u, int n, T *A, int lda, int *size) \
  { \
    *size = 1; \
    return CUSOLVER_STATUS_SUCCESS; \
  } \
  cusolverStatus_t cusolverDn##L##potri(cusolverDnHandle_t h, cublasFillMode_t u, int n, T *A, int lda, T *work, int size, int *info) \
  { \
    l##potri_(&triangles[u], &n, A, &lda, info); \
    return CUSOLVER_STATUS_SUCCESS; \
  }
/* What real types have in another way than complex ones. */
#define DEFINE_REAL(L, l, T) \
  T    l##dot_(const int *, const T *, const int *, const T *, const int *), l##nrm2_(const int *, const T *, const int *), l##asum_(const int *, const T *, const int *); \
  int  i##l##amax_(const int *, const T *, const int *); \
  void l##symv_(); \
\
  cublasStatus_t cublas##L##dot_v2(cublasHandle_t h, int n, const T *x, int ix, const T *y, int iy, T *result) \
  { \
    *result = l##dot_(&n, x, &ix, y, &iy); \
    OK; \
  } \
  cublasStatus_t cublas##L##nrm2_v2(cublasHandle_t h, int n, const T *x, int ix, T *result) \
  { \
    *result = l##nrm2_(&n, x, &ix); \
    OK; \
  } \
  cublasStatus_t cublas##L##asum_v2(cublasHandle_t h, int n, const T *x, int ix, T *result) \
  { \
    *result = l##asum_(&n, x, &ix); \
    OK; \
  } \
  cublasStatus_t cublasI##l##amax_v2(cublasHandle_t h, int n, const T *x, int ix, int *result) \
  { \
    *result = i##l##amax_(&n, x, &ix); \
    OK; \
  } \
  cublasStatus_t cublas##L##symv_v2(cublasHandle_t h, cublasFillMode_t u, int n, const T *a, const T *A, int lda, const T *x, int ix, const T *b, T *y, int iy) \
  { \
    l##symv_(&triangles[u], &n, a, A, &lda, x, &ix, b, y, &iy); \
    OK; \
  }

DEFINE_BLAS(D, d, double)
DEFINE_BLAS(S, s, float)
DEFINE_BLAS(Z, z, cuDoubleComplex)
DEFINE_REAL(D, d, double)
DEFINE_REAL(S, s, float)

typedef double _Complex Complex;
double  dznrm2_(const int *, const void *, const int *), dzasum_(const int *, const void *, const int *);
int     izamax_(const int *, const void *, const int *);
Complex zdotc_(const int *, const void *, const int *, const void *, const int *), zdotu_(const int *, const void *, const int *, const void *, const int *);
void    zhemv_();

cublasStatus_t cublasDznrm2_v2(cublasHandle_t h, int n, const cuDoubleComplex *x, int ix, double *result)
{
  *result = dznrm2_(&n, x, &ix);
  OK;
}

cublasStatus_t cublasDzasum_v2(cublasHandle_t h, int n, const cuDoubleComplex *x, int ix, double *result)
{
  *result = dzasum_(&n, x, &ix);
  OK;
}

cublasStatus_t cublasIzamax_v2(cublasHandle_t h, int n, const cuDoubleComplex *x, int ix, int *result)
{
  *result = izamax_(&n, x, &ix);
  OK;
}

cublasStatus_t cublasZdotc_v2(cublasHandle_t h, int n, const cuDoubleComplex *x, int ix, const cuDoubleComplex *y, int iy, cuDoubleComplex *result)
{
  *(Complex *)result = zdotc_(&n, x, &ix, y, &iy);
  OK;
}

cublasStatus_t cublasZdotu_v2(cublasHandle_t h, int n, const cuDoubleComplex *x, int ix, const cuDoubleComplex *y, int iy, cuDoubleComplex *result)
{
  *(Complex *)result = zdotu_(&n, x, &ix, y, &iy);
  OK;
}

cublasStatus_t cublasZhemv_v2(cublasHandle_t h, cublasFillMode_t u, int n, const cuDoubleComplex *a, const cuDoubleComplex *A, int lda, const cuDoubleComplex *x, int ix, const cuDoubleComplex *b,
                              cuDoubleComplex *y, int iy)
{
  zhemv_(&triangles[u], &n, a, A, &lda, x, &ix, b, y, &iy);
  OK;
}

/* Numbers above 0 and up to 1. */
#define DEFINE_UNIFORM(name, T) \
  int name(void *generator, T *to, size_t n) \
  { \
    for (size_t i = 0; i < n; i++) to[i] = (T)(1 - drand48()); \
    return 0; \
  }
DEFINE_UNIFORM(curandGenerateUniform, float)
DEFINE_UNIFORM(curandGenerateUniformDouble, double)
