#include "oracle.h"
#include "../../../src/petsc/sys.h"
#include <petscdevice_cuda.h>
#include <stdio.h>

/* Copies, conversions, files, direct access, binding: the matrix itself must not change. */

static PetscErrorCode Rows(Oracle o)
{
  PetscFunctionBegin;
  PetscCall(OracleCompareMat(o, o->A, o->B, PETSC_TRUE, o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Values(Oracle o)
{
  PetscInt    begin, end, N, cols[5], rows[3], n = 0;
  PetscScalar a[15], b[15];

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  PetscCall(MatGetSize(o->A, NULL, &N));
  if (N == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = begin; i < end && n < 3; i++, n++) rows[n] = i;
  for (PetscInt j = 0; j < 5; j++) cols[j] = (PetscInt)(OracleHash(o->fill, (uint64_t)j, 1) % (uint64_t)N);
  OracleBoth(MatGetValues(o->A, n, rows, 5, cols, a), MatGetValues(o->B, n, rows, 5, cols, b));
  for (PetscInt k = 0; k < n * 5; k++) PetscCall(OracleCompareReal(o, PetscRealPart(a[k]), PetscRealPart(b[k]), o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Duplicate(Oracle o)
{
  const MatDuplicateOption options[] = {MAT_COPY_VALUES, MAT_DO_NOT_COPY_VALUES, MAT_SHARE_NONZERO_PATTERN};
  const PetscInt           which     = OracleShared(o, 3);
  Mat                      A, B;

  PetscFunctionBegin;
  OracleBoth(MatDuplicate(o->A, options[which], &A), MatDuplicate(o->B, options[which], &B));
  PetscCall(OracleCompareMult(o, A, B, o->norm));
  if (which == 0 && OracleFlip(o, 2)) PetscCall(OracleReplace(o, A, B));
  else {
    if (which) OracleBoth(MatCopy(o->A, A, SAME_NONZERO_PATTERN), MatCopy(o->B, B, SAME_NONZERO_PATTERN));
    PetscCall(OracleCompareAndDestroy(o, &A, &B, PETSC_TRUE, o->norm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Into a matrix of the same or of a larger pattern. */
static PetscErrorCode Copy(Oracle o)
{
  const PetscBool same = OracleFlip(o, 2);
  Mat             A, B;

  PetscFunctionBegin;
  OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, &A), MatDuplicate(o->B, MAT_COPY_VALUES, &B));
  if (!same && o->square) OracleBoth(MatShift(A, 3), MatShift(B, 3));
  OracleBoth(MatScale(A, 5), MatScale(B, 5));
  OracleBoth(MatCopy(o->A, A, same ? SAME_NONZERO_PATTERN : DIFFERENT_NONZERO_PATTERN), MatCopy(o->B, B, same ? SAME_NONZERO_PATTERN : DIFFERENT_NONZERO_PATTERN));
  PetscCall(OracleCompareAndDestroy(o, &A, &B, PETSC_TRUE, o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Convert(Oracle o)
{
  const PetscInt which = OracleShared(o, 3);
  Mat            X;

  PetscFunctionBegin;
  if (which == 2) {
    PetscCall(MatConvert(o->B, MATAIJ, MAT_INPLACE_MATRIX, &o->B));
    PetscCall(OracleCompareMat(o, o->A, o->B, PETSC_TRUE, o->norm));
    PetscCall(MatConvert(o->B, o->type, MAT_INPLACE_MATRIX, &o->B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatConvert(o->B, MATAIJ, MAT_INITIAL_MATRIX, &X));
  PetscCall(OracleCompareMat(o, o->A, X, PETSC_TRUE, o->norm));
  if (which == 1) {
    OracleBoth(MatScale(o->A, -2), MatScale(o->B, -2));
    PetscCall(MatConvert(o->B, MATAIJ, MAT_REUSE_MATRIX, &X));
    PetscCall(OracleUpdateNorm(o));
    PetscCall(OracleCompareMat(o, o->A, X, PETSC_TRUE, o->norm));
    PetscCall(MatConvert(X, o->type, MAT_REUSE_MATRIX, &o->B));
    PetscCall(MatDestroy(&X));
  } else {
    PetscCall(MatConvert(X, o->type, MAT_INPLACE_MATRIX, &X));
    PetscCall(PetscObjectReference((PetscObject)o->A));
    PetscCall(OracleReplace(o, o->A, X));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bound or not, the matrix stays so until the next time. */
static PetscErrorCode Bind(Oracle o)
{
  PetscFunctionBegin;
  PetscCall(MatBindToCPU(o->B, OracleFlip(o, 2)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ViewAndLoad(Oracle o)
{
  char        name[64];
  Mat         X;
  PetscViewer viewer;
  PetscInt    m, n, M, N;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(name, sizeof(name), "oracle-%d-%s-%" PetscInt_FMT ".bin", o->size, o->type, o->seed));
  PetscCall(PetscViewerBinaryOpen(o->comm, name, FILE_MODE_WRITE, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(MatView(o->B, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCall(MatGetSize(o->A, &M, &N));
  PetscCall(MatGetLocalSize(o->A, &m, &n));
  PetscCall(MatCreate(o->comm, &X));
  PetscCall(MatSetSizes(X, m, n, M, N));
  PetscCall(MatSetBlockSizesFromMats(X, o->A, o->A));
  PetscCall(MatSetType(X, o->type));
  PetscCall(PetscViewerBinaryOpen(o->comm, name, FILE_MODE_READ, &viewer));
  PetscCall(PetscViewerBinarySetSkipInfo(viewer, PETSC_TRUE));
  PetscCall(MatLoad(X, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  PetscCallMPI(MPI_Barrier(o->comm));
  if (o->rank == 0) (void)remove(name);
  PetscCall(OracleCompareMult(o, o->A, X, o->norm));
  PetscCall(OracleCompareMat(o, o->A, X, PETSC_TRUE, o->norm));
  PetscCall(PetscObjectReference((PetscObject)o->A));
  PetscCall(OracleReplace(o, o->A, X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Equal(Oracle o)
{
  PetscBool a, b;
  Mat       A, B;

  PetscFunctionBegin;
  OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, &A), MatDuplicate(o->B, MAT_COPY_VALUES, &B));
  OracleBoth(MatEqual(o->A, A, &a), MatEqual(o->B, B, &b));
  PetscCheck(a == b, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d with MATAIJ, %d with %s", o->operation, a, b, o->type);
  OracleBoth(MatScale(A, 2), MatScale(B, 2));
  OracleBoth(MatEqual(o->A, A, &a), MatEqual(o->B, B, &b));
  PetscCheck(a == b, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d with MATAIJ, %d with %s", o->operation, a, b, o->type);
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Symmetric(Oracle o)
{
  PetscBool a, b;
  Mat       X[2], T;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(MatDuplicate(k ? o->B : o->A, MAT_COPY_VALUES, &X[k]));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatTranspose(X[k], MAT_INITIAL_MATRIX, &T));
    PetscCall(MatAXPY(X[k], 1, T, DIFFERENT_NONZERO_PATTERN)); /* MATAIJ reads behind its arrays when the pattern is not symmetric */
    PetscCall(MatDestroy(&T));
  }
  if (OracleFlip(o, 2)) {
    Vec l[2];

    PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &l[0], &l[1]));
    for (int k = 0; k < 2; k++) PetscCall(MatDiagonalScale(X[k], l[k], NULL));
    for (int k = 0; k < 2; k++) PetscCall(VecDestroy(&l[k]));
  }
  OracleBoth(MatIsSymmetric(X[0], 1e-6 * o->norm, &a), MatIsSymmetric(X[1], 1e-6 * o->norm, &b));
  PetscCheck(a == b, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d with MATAIJ, %d with %s", o->operation, a, b, o->type);
  PetscCall(OracleCompareAndDestroy(o, &X[0], &X[1], PETSC_TRUE, o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Info(Oracle o)
{
  const MatInfoType type = OracleFlip(o, 2) ? MAT_LOCAL : MAT_GLOBAL_SUM;
  MatInfo           a, b;
  PetscInt          bs[4];

  PetscFunctionBegin;
  OracleBoth(MatGetInfo(o->A, type, &a), MatGetInfo(o->B, type, &b));
  PetscCheck(a.nz_used == b.nz_used, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %g entries with MATAIJ, %g with %s", o->operation, (double)a.nz_used, (double)b.nz_used, o->type);
  OracleBoth(MatGetBlockSizes(o->A, &bs[0], &bs[1]), MatGetBlockSizes(o->B, &bs[2], &bs[3]));
  PetscCheck(bs[0] == bs[2] && bs[1] == bs[3], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: block sizes differ", o->operation);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The blocks of M on this rank, diagonal and off-diagonal, and what their columns mean (NULL: themselves). */
static PetscErrorCode Blocks(Oracle o, Mat M, PetscInt *n, Mat blocks[2], const PetscInt *maps[2])
{
  PetscFunctionBegin;
  *n        = 1;
  blocks[0] = M;
  maps[0] = maps[1] = NULL;
  if (o->size > 1) {
    PetscCall(MatMPIAIJGetSeqAIJ(M, &blocks[0], &blocks[1], &maps[1]));
    *n = 2;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Array(Oracle o)
{
  const PetscInt     which = OracleShared(o, 3); /* read, write over, read and write */
  PetscInt           n;
  Mat                a[2], b[2];
  MatInfo            info;
  const PetscScalar *ra, *rb;
  PetscScalar       *wa, *wb;
  const PetscInt    *ma[2], *mb[2];

  PetscFunctionBegin;
  o->fill++;
  PetscCall(Blocks(o, o->A, &n, a, ma));
  PetscCall(Blocks(o, o->B, &n, b, mb));
  for (PetscInt k = 0; k < n; k++) {
    PetscInt nz;

    PetscCall(MatGetInfo(a[k], MAT_LOCAL, &info));
    nz = (PetscInt)info.nz_used;
    if (which == 0) {
      OracleBoth(MatSeqAIJGetArrayRead(a[k], &ra), MatSeqAIJGetArrayRead(b[k], &rb));
      for (PetscInt i = 0; i < nz; i++) PetscCall(OracleCompareReal(o, PetscRealPart(ra[i]), PetscRealPart(rb[i]), o->norm));
      OracleBoth(MatSeqAIJRestoreArrayRead(a[k], &ra), MatSeqAIJRestoreArrayRead(b[k], &rb));
    } else if (which == 1) {
      OracleBoth(MatSeqAIJGetArrayWrite(a[k], &wa), MatSeqAIJGetArrayWrite(b[k], &wb));
      for (PetscInt i = 0; i < nz; i++) wa[i] = wb[i] = OracleReal(o->fill, (uint64_t)i, (uint64_t)(o->rank + 10 * k));
      OracleBoth(MatSeqAIJRestoreArrayWrite(a[k], &wa), MatSeqAIJRestoreArrayWrite(b[k], &wb));
    } else {
      OracleBoth(MatSeqAIJGetArray(a[k], &wa), MatSeqAIJGetArray(b[k], &wb));
      for (PetscInt i = 0; i < nz; i++) {
        PetscCall(OracleCompareReal(o, PetscRealPart(wa[i]), PetscRealPart(wb[i]), o->norm));
        wa[i] += (PetscReal)(i % 3);
        wb[i] += (PetscReal)(i % 3);
      }
      OracleBoth(MatSeqAIJRestoreArray(a[k], &wa), MatSeqAIJRestoreArray(b[k], &wb));
    }
  }
  for (int k = 0; k < 2; k++) PetscCall(PetscObjectStateIncrease((PetscObject)(k ? o->B : o->A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The CSR arrays, wherever they are, against the reference's. */
static PetscErrorCode CompareCSR(Oracle o, Mat a, const PetscInt map_a[], Mat b, const PetscInt map_b[])
{
  const PetscInt *i, *j, *ia, *ja;
  PetscInt       *hi, *hj, n;
  PetscScalar    *v, *hv, *va;
  PetscMemType    type, type_a;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(a, &n, NULL));
  PetscCall(MatSeqAIJGetCSRAndMemType(a, &ia, &ja, &va, &type_a));
  PetscCall(MatSeqAIJGetCSRAndMemType(b, &i, &j, &v, &type));
  PetscCall(PetscMalloc3(n + 1, &hi, ia[n], &hj, ia[n], &hv));
  if (PetscMemTypeDevice(type)) {
    PetscCallCUDA(cudaDeviceSynchronize()); /* PETSc's stream may be one that others do not wait for */
    PetscCallCUDA(cudaMemcpy(hi, i, (size_t)(n + 1) * sizeof(*hi), cudaMemcpyDeviceToHost));
    if (ia[n]) PetscCallCUDA(cudaMemcpy(hj, j, (size_t)(ia[n]) * sizeof(*hj), cudaMemcpyDeviceToHost));
    if (ia[n]) PetscCallCUDA(cudaMemcpy(hv, v, (size_t)(ia[n]) * sizeof(*hv), cudaMemcpyDeviceToHost));
  } else {
    PetscCall(PetscArraycpy(hi, i, n + 1));
    PetscCall(PetscArraycpy(hj, j, ia[n]));
    PetscCall(PetscArraycpy(hv, v, ia[n]));
  }
  for (PetscInt k = 0; k <= n; k++)
    PetscCheck(hi[k] == ia[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row offset %" PetscInt_FMT " is %" PetscInt_FMT ", with MATAIJ %" PetscInt_FMT, o->operation, k, hi[k], ia[k]);
  for (PetscInt k = 0; k < ia[n]; k++) {
    const PetscInt ca = map_a ? map_a[ja[k]] : ja[k], cb = map_b ? map_b[hj[k]] : hj[k];

    PetscCheck(ca == cb, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: column of entry %" PetscInt_FMT " is %" PetscInt_FMT ", with MATAIJ %" PetscInt_FMT, o->operation, k, cb, ca);
    PetscCall(OracleCompareReal(o, PetscRealPart(va[k]), PetscRealPart(hv[k]), o->norm));
  }
  PetscCall(PetscFree3(hi, hj, hv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CSR(Oracle o)
{
  PetscInt        n;
  Mat             a[2], b[2];
  const PetscInt *ma[2], *mb[2];

  PetscFunctionBegin;
  PetscCall(Blocks(o, o->A, &n, a, ma));
  PetscCall(Blocks(o, o->B, &n, b, mb));
  for (PetscInt k = 0; k < n; k++) PetscCall(CompareCSR(o, a[k], ma[k], b[k], mb[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LocalMatrix(Oracle o)
{
  Mat A, B;

  PetscFunctionBegin;
  if (o->size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  OracleBoth(MatMPIAIJGetLocalMat(o->A, MAT_INITIAL_MATRIX, &A), MatMPIAIJGetLocalMat(o->B, MAT_INITIAL_MATRIX, &B));
  PetscCall(OracleCompareMat(o, A, B, PETSC_TRUE, o->norm));
  OracleBoth(MatScale(o->A, -1), MatScale(o->B, -1));
  OracleBoth(MatMPIAIJGetLocalMat(o->A, MAT_REUSE_MATRIX, &A), MatMPIAIJGetLocalMat(o->B, MAT_REUSE_MATRIX, &B));
  PetscCall(OracleCompareMat(o, A, B, PETSC_TRUE, o->norm));
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode HeaderReplace(Oracle o)
{
  Mat X;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(o->B, MAT_COPY_VALUES, &X));
  if (OracleFlip(o, 2)) PetscCall(MatHeaderReplace(o->B, &X));
  else PetscCall(MatHeaderMerge(o->B, &X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleAccessOperations[] = {{"MatGetRow", 3, Rows, PETSC_FALSE, 0},
                                                  {"MatGetValues", 2, Values, PETSC_FALSE, 0},
                                                  {"MatDuplicate", 4, Duplicate, PETSC_FALSE, 0},
                                                  {"MatCopy", 3, Copy, PETSC_FALSE, 0},
                                                  {"MatConvert", 4, Convert, PETSC_FALSE, 0},
                                                  {"MatBindToCPU", 5, Bind, PETSC_FALSE, 0},
                                                  {"MatView and MatLoad", 1, ViewAndLoad, PETSC_FALSE, 0},
                                                  {"MatEqual", 2, Equal, PETSC_FALSE, 0},
                                                  {"MatIsSymmetric", 1, Symmetric, PETSC_TRUE, 0},
                                                  {"MatGetInfo", 1, Info, PETSC_FALSE, 0},
                                                  {"MatSeqAIJGetArray", 4, Array, PETSC_FALSE, 0},
                                                  {"MatSeqAIJGetCSRAndMemType", 3, CSR, PETSC_FALSE, 0},
                                                  {"MatMPIAIJGetLocalMat", 2, LocalMatrix, PETSC_FALSE, 0},
                                                  {"MatHeaderReplace and -Merge", 1, HeaderReplace, PETSC_FALSE, 0},
                                                  {NULL, 0, NULL, PETSC_FALSE, 0}};
