#include "oracle.h"

/* Operations on the pattern: insertion, deletion, transposition, submatrices. */

/* A few values at positions that exist, inserted or added. */
static PetscErrorCode SetExisting(Oracle o)
{
  const InsertMode mode = OracleFlip(o, 2) ? INSERT_VALUES : ADD_VALUES;
  PetscInt         begin, end, count, col;
  const PetscInt  *cols;
  Mat              pattern; /* A itself is not assembled in between */

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatDuplicate(o->A, MAT_DO_NOT_COPY_VALUES, &pattern));
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  for (PetscInt i = begin; i < end; i++) {
    if (OracleHash(o->fill, (uint64_t)i, 1) % 4) continue;
    PetscCall(MatGetRow(pattern, i, &count, &cols, NULL));
    col = count ? cols[OracleHash(o->fill, (uint64_t)i, 2) % (uint64_t)count] : -1; /* negative: to be ignored */
    PetscCall(MatRestoreRow(pattern, i, &count, &cols, NULL));
    OracleBoth(MatSetValue(o->A, i, col, OracleReal(o->fill, (uint64_t)i, 3), mode), MatSetValue(o->B, i, col, OracleReal(o->fill, (uint64_t)i, 3), mode));
  }
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDestroy(&pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Values anywhere, on any rank: new positions are made, or ignored. */
static PetscErrorCode SetAnywhere(Oracle o)
{
  const PetscBool ignore = OracleFlip(o, 4);
  const PetscInt  count  = 1 + OracleShared(o, 10);
  PetscInt        M, N;

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetSize(o->A, &M, &N));
  if (M == 0 || N == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2; k++) {
    const Mat X = k ? o->B : o->A;

    PetscCall(MatSetOption(X, MAT_NEW_NONZERO_LOCATIONS, (PetscBool)!ignore));
    for (PetscInt c = 0; c < count; c++) {
      const uint64_t h = OracleHash(o->fill, (uint64_t)o->rank, (uint64_t)c);

      PetscCall(MatSetValue(X, (PetscInt)(h % (uint64_t)M), (PetscInt)((h >> 24) % (uint64_t)N), OracleReal(h, 1, 1), ADD_VALUES));
    }
  }
  PetscCall(OracleAssemble(o, MAT_FINAL_ASSEMBLY));
  for (int k = 0; k < 2; k++) PetscCall(MatSetOption(k ? o->B : o->A, MAT_NEW_NONZERO_LOCATIONS, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New matrices of the same sizes in coordinate format, with repeated, ignored and off-process entries, filled twice. */
static PetscErrorCode Coordinates(Oracle o)
{
  const PetscInt count = OracleFlip(o, 8) ? 0 : 1 + OracleShared(o, 300);
  PetscInt       m, n, M, N, *i, *j;
  PetscScalar   *v;
  Mat            X[2];

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetSize(o->A, &M, &N));
  PetscCall(MatGetLocalSize(o->A, &m, &n));
  if (M == 0 || N == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(count, &i, count, &j, count, &v));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatCreate(o->comm, &X[k]));
    PetscCall(MatSetSizes(X[k], m, n, M, N));
    PetscCall(MatSetBlockSizesFromMats(X[k], o->A, o->A));
    PetscCall(MatSetType(X[k], k ? o->type : MATAIJ));
    for (PetscInt c = 0; c < count; c++) {
      const uint64_t h = OracleHash(o->fill, (uint64_t)o->rank, (uint64_t)(c / 2)); /* each twice */

      i[c] = h % 17 == 0 ? -1 : (PetscInt)(h % (uint64_t)M);
      j[c] = h % 19 == 0 ? -1 : (PetscInt)((h >> 24) % (uint64_t)N);
    }
    PetscCall(MatSetPreallocationCOO(X[k], count, i, j));
    for (uint64_t pass = 0; pass < 2; pass++) {
      for (PetscInt c = 0; c < count; c++) v[c] = OracleReal(o->fill + pass, (uint64_t)o->rank, (uint64_t)c);
      PetscCall(MatSetValuesCOO(X[k], v, pass ? ADD_VALUES : INSERT_VALUES));
    }
  }
  PetscCall(PetscFree3(i, j, v));
  PetscCall(OracleCompareMult(o, X[0], X[1], 1));
  if (OracleFlip(o, 2)) PetscCall(OracleReplace(o, X[0], X[1]));
  else PetscCall(OracleCompareAndDestroy(o, &X[0], &X[1], PETSC_TRUE, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New, used again, in place; now and then the transpose takes the place of the matrix. */
static PetscErrorCode Transpose(Oracle o)
{
  const PetscInt  which = OracleShared(o, 4);
  const PetscBool stay  = OracleFlip(o, 3);
  Mat             A, B;

  PetscFunctionBegin;
  if (OracleFlip(o, 4)) PetscCall(OracleFragment(o, o->B));
  if (which == 3) {
    OracleBoth(MatTranspose(o->A, MAT_INPLACE_MATRIX, &o->A), MatTranspose(o->B, MAT_INPLACE_MATRIX, &o->B));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (which < 2) {
    OracleBoth(MatTranspose(o->A, MAT_INITIAL_MATRIX, &A), MatTranspose(o->B, MAT_INITIAL_MATRIX, &B));
    for (PetscInt pass = 0; which == 1 && pass < 2; pass++) {
      OracleBoth(MatScale(o->A, 0.5), MatScale(o->B, 0.5));
      OracleBoth(MatTranspose(o->A, MAT_REUSE_MATRIX, &A), MatTranspose(o->B, MAT_REUSE_MATRIX, &B));
    }
  } else {
    OracleBoth(MatDuplicate(o->A, MAT_COPY_VALUES, &A), MatDuplicate(o->B, MAT_COPY_VALUES, &B));
    OracleBoth(MatTranspose(A, MAT_INPLACE_MATRIX, &A), MatTranspose(B, MAT_INPLACE_MATRIX, &B));
  }
  PetscCall(OracleCompareMult(o, A, B, o->norm));
  PetscCall(OracleCompareMat(o, A, B, PETSC_TRUE, o->norm));
  if (stay) PetscCall(OracleReplace(o, A, B));
  else OracleBoth(MatDestroy(&A), MatDestroy(&B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transpose is one, with another row it may not be. Other patterns are left out: MATAIJ reads behind its arrays there, and in parallel takes a square matrix for granted. */
static PetscErrorCode IsTranspose(Oracle o)
{
  const PetscBool other  = OracleFlip(o, 2);
  const PetscReal tol    = (PetscReal)1e-6 * o->norm;
  PetscBool       is[2]  = {PETSC_FALSE, PETSC_FALSE};
  const Mat       own[2] = {o->A, o->B};
  PetscInt        M, row, begin, end;
  Mat             T[2];
  Vec             l;

  PetscFunctionBegin;
  if (!o->square && o->size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetSize(o->A, NULL, &M));
  row = OracleShared(o, M);
  for (int k = 0; k < 2; k++) {
    PetscCall(MatTranspose(own[k], MAT_INITIAL_MATRIX, &T[k]));
    PetscCall(MatCreateVecs(T[k], NULL, &l));
    PetscCall(VecSet(l, 1));
    PetscCall(VecGetOwnershipRange(l, &begin, &end));
    if (other && row >= begin && row < end) PetscCall(VecSetValue(l, row, 1.5, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(l));
    PetscCall(VecAssemblyEnd(l));
    PetscCall(MatDiagonalScale(T[k], l, NULL));
    PetscCall(MatIsTranspose(own[k], T[k], tol, &is[k]));
    PetscCall(VecDestroy(&l));
  }
  PetscCheck(is[0] == is[1] && (is[0] || other), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %d with MATAIJ, %d with %s", o->operation, is[0], is[1], o->type);
  PetscCall(OracleCompareAndDestroy(o, &T[0], &T[1], PETSC_TRUE, o->norm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random part of [begin, end), sorted or in another order. */
static PetscErrorCode RandomPart(Oracle o, MPI_Comm comm, PetscInt begin, PetscInt end, PetscBool sorted, PetscInt one_in, IS *is)
{
  PetscInt n = 0, *indices;

  PetscFunctionBegin;
  o->fill++;
  PetscCall(PetscMalloc1(end - begin, &indices));
  for (PetscInt i = begin; i < end; i++)
    if (OracleHash(o->fill, (uint64_t)i, 5) % (uint64_t)one_in == 0) indices[n++] = i;
  for (PetscInt i = 0; !sorted && i < n / 2; i++) {
    const PetscInt t = indices[i];

    indices[i]         = indices[n - 1 - i];
    indices[n - 1 - i] = t;
  }
  PetscCall(ISCreateGeneral(comm, n, indices, PETSC_OWN_POINTER, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* [begin, end) as it is shuffled. */
static PetscErrorCode Shuffled(Oracle o, MPI_Comm comm, PetscInt begin, PetscInt end, IS *is)
{
  PetscInt *indices;

  PetscFunctionBegin;
  o->fill++;
  PetscCall(PetscMalloc1(end - begin, &indices));
  for (PetscInt i = 0; i < end - begin; i++) indices[i] = begin + i;
  for (PetscInt i = end - begin - 1; i > 0; i--) {
    const PetscInt j = (PetscInt)(OracleHash(o->fill, (uint64_t)i, 9) % (uint64_t)(i + 1)), t = indices[i];

    indices[i] = indices[j];
    indices[j] = t;
  }
  PetscCall(ISCreateGeneral(comm, end - begin, indices, PETSC_OWN_POINTER, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An index set of any kind with indices of [begin, end); distinct, and ascending unless any. */
static PetscErrorCode IndexSet(Oracle o, PetscInt begin, PetscInt end, PetscBool any, IS *is)
{
  const PetscInt kind = OracleShared(o, any ? 8 : 5), step = 1 + OracleShared(o, 3), skip = OracleShared(o, 4);
  const PetscInt first = PetscMin(begin + skip, end), n = (end - first + step - 1) / step;

  PetscFunctionBegin;
  switch (kind) {
  case 0: /* all, sparse or not */
  case 1:
    PetscCall(RandomPart(o, o->comm, begin, end, PETSC_TRUE, 1 + kind, is));
    break;
  case 2:
    PetscCall(ISCreateStride(o->comm, n, first, step, is));
    break;
  case 3: /* neighbours */
    PetscCall(ISCreateStride(o->comm, (end - first + 1) / 2, first, 1, is));
    break;
  case 4: /* a stride that does not say so */
    PetscCall(ISCreateStride(o->comm, n, first, step, is));
    PetscCall(ISToGeneral(*is));
    break;
  case 5:
    PetscCall(RandomPart(o, o->comm, begin, end, PETSC_FALSE, 2, is));
    break;
  case 6:
    PetscCall(Shuffled(o, o->comm, begin, end, is));
    break;
  default: /* backwards */
    PetscCall(ISCreateStride(o->comm, n, first + (n - 1) * step, -step, is));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers below N, some or all of them, dealt out to the ranks; ascending on each, or mixed up. */
static PetscErrorCode Dealt(Oracle o, PetscInt N, PetscBool ascending, IS *is)
{
  const PetscInt  part = 1 + OracleShared(o, 3);
  PetscInt        n    = 0, *indices;
  const PetscInt *shuffled;
  IS              all;

  PetscFunctionBegin;
  PetscCall(Shuffled(o, PETSC_COMM_SELF, 0, N, &all)); // alike on all ranks
  PetscCall(PetscMalloc1(N, &indices));
  PetscCall(ISGetIndices(all, &shuffled));
  for (PetscInt i = 0; i < N; i++) {
    const uint64_t h = OracleHash(o->fill, (uint64_t)i, 10);

    if (h % (uint64_t)part == 0 && (PetscMPIInt)((h >> 20) % (uint64_t)o->size) == o->rank) indices[n++] = shuffled[i];
  }
  PetscCall(ISRestoreIndices(all, &shuffled));
  PetscCall(ISDestroy(&all));
  if (ascending) PetscCall(PetscSortInt(n, indices));
  PetscCall(ISCreateGeneral(o->comm, n, indices, PETSC_OWN_POINTER, is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Own rows in any order, and own ascending columns, or any on one rank, or both of any rank; now and then the submatrix takes the place of the matrix. */
static PetscErrorCode SubMatrix(Oracle o)
{
  const PetscBool stay = OracleFlip(o, 4), all_columns = OracleFlip(o, 8), same = (PetscBool)(o->size == 1 && o->square && OracleFlip(o, 4));
  const PetscBool dealt_rows = OracleFlip(o, 2), dealt_columns = OracleFlip(o, 2);
  PetscInt        begin, end, cbegin, cend, M, N;
  IS              rows, cols;
  Mat             A, B;

  PetscFunctionBegin;
  PetscCall(MatGetSize(o->A, &M, &N));
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  PetscCall(MatGetOwnershipRangeColumn(o->A, &cbegin, &cend));
  if (dealt_rows) PetscCall(Dealt(o, M, PETSC_FALSE, &rows));
  else PetscCall(IndexSet(o, begin, end, PETSC_TRUE, &rows));
  if (dealt_columns) PetscCall(Dealt(o, N, PETSC_TRUE, &cols)); // ascending: MATMPIAIJ leaves ghost columns unsorted when own columns are mixed up
  else PetscCall(IndexSet(o, cbegin, cend, (PetscBool)(o->size == 1), &cols));
  if (same) {
    PetscCall(ISDestroy(&cols));
    PetscCall(PetscObjectReference((PetscObject)rows));
    cols = rows;
  } else if (all_columns) PetscCall(ISDestroy(&cols));
  if (OracleFlip(o, 4)) PetscCall(OracleFragment(o, o->B));
  OracleBoth(MatCreateSubMatrix(o->A, rows, cols, MAT_INITIAL_MATRIX, &A), MatCreateSubMatrix(o->B, rows, cols, MAT_INITIAL_MATRIX, &B));
  PetscCall(OracleCompareMat(o, A, B, PETSC_TRUE, o->norm));
  OracleBoth(MatScale(o->A, -0.5), MatScale(o->B, -0.5));
  OracleBoth(MatCreateSubMatrix(o->A, rows, cols, MAT_REUSE_MATRIX, &A), MatCreateSubMatrix(o->B, rows, cols, MAT_REUSE_MATRIX, &B));
  PetscCall(OracleCompareMat(o, A, B, PETSC_TRUE, o->norm));
  if (stay) PetscCall(OracleReplace(o, A, B));
  else PetscCall(OracleCompareAndDestroy(o, &A, &B, PETSC_TRUE, o->norm));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SubMatrices(Oracle o)
{
  const PetscBool sorted = (PetscBool)!OracleFlip(o, 3);
  PetscInt        M, N;
  IS              rows[2], cols[2];
  Mat            *A, *B;

  PetscFunctionBegin;
  PetscCall(MatGetSize(o->A, &M, &N));
  for (int k = 0; k < 2; k++) {
    PetscCall(RandomPart(o, PETSC_COMM_SELF, 0, M, sorted, 2 + k, &rows[k]));
    PetscCall(RandomPart(o, PETSC_COMM_SELF, 0, N, PETSC_TRUE, 2, &cols[k]));
  }
  OracleBoth(MatCreateSubMatrices(o->A, 2, rows, cols, MAT_INITIAL_MATRIX, &A), MatCreateSubMatrices(o->B, 2, rows, cols, MAT_INITIAL_MATRIX, &B));
  for (int pass = 0; pass < 2; pass++) {
    for (int k = 0; k < 2; k++) PetscCall(OracleCompareMat(o, A[k], B[k], PETSC_TRUE, o->norm));
    if (pass) break;
    OracleBoth(MatScale(o->A, 2), MatScale(o->B, 2));
    OracleBoth(MatCreateSubMatrices(o->A, 2, rows, cols, MAT_REUSE_MATRIX, &A), MatCreateSubMatrices(o->B, 2, rows, cols, MAT_REUSE_MATRIX, &B));
  }
  OracleBoth(MatDestroySubMatrices(2, &A), MatDestroySubMatrices(2, &B));
  for (int k = 0; k < 2; k++) {
    PetscCall(ISDestroy(&rows[k]));
    PetscCall(ISDestroy(&cols[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows (and columns) of this rank and of others are made zero, with and without a right-hand side; ranks may give none, and rows more than once. */
static PetscErrorCode ZeroRows(Oracle o)
{
  const PetscBool   columns = OracleFlip(o, 2), keep = OracleFlip(o, 2), rhs = OracleFlip(o, 2), repeats = OracleFlip(o, 2), few = OracleFlip(o, 4);
  const PetscScalar diagonal = OracleFlip(o, 3) ? 0 : 2;
  PetscInt          M, n = 0, rows[6];
  Vec               x[2], b[2];

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetSize(o->A, &M, NULL));
  for (; M && n < 6 && n < M; n++) rows[n] = (PetscInt)(OracleHash(o->fill, (uint64_t)o->rank, (uint64_t)n) % (uint64_t)M);
  if (few && o->rank % 2) n = 0;
  if (repeats && n > 1) rows[n - 1] = rows[0];
  if (!repeats) PetscCall(PetscSortRemoveDupsInt(&n, rows));
  if (OracleFlip(o, 3)) PetscCall(OracleFragment(o, o->B));
  PetscCall(OracleCreateVec(o, o->B, PETSC_FALSE, &x[0], &x[1]));
  PetscCall(OracleCreateVec(o, o->B, PETSC_TRUE, &b[0], &b[1]));
  for (int k = 0; k < 2; k++) {
    const Mat X = k ? o->B : o->A;

    PetscCall(MatSetOption(X, MAT_KEEP_NONZERO_PATTERN, keep));
    if (diagonal != 0.0) PetscCall(MatShift(X, 1)); /* a diagonal to write to */
    if (columns) PetscCall(MatZeroRowsColumns(X, n, rows, diagonal, rhs ? x[k] : NULL, rhs ? b[k] : NULL));
    else PetscCall(MatZeroRows(X, n, rows, diagonal, rhs ? x[k] : NULL, rhs ? b[k] : NULL));
  }
  PetscCall(OracleCompareVec(o, b[0], b[1], o->norm + 1));
  for (int k = 0; k < 2; k++) {
    PetscCall(VecDestroy(&x[k]));
    PetscCall(VecDestroy(&b[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of any matrix, without diagonal entries. */
static PetscErrorCode RemoveRows(Oracle o)
{
  const PetscBool keep = OracleFlip(o, 2);
  PetscInt        begin, end, n = 0, rows[4];

  PetscFunctionBegin;
  o->fill++;
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  /* Rows may repeat, but no more of them than there are: MatZeroRows_MPIAIJ() of PETSc 3.26 has room for the local rows alone with MAT_NO_OFF_PROC_ZERO_ROWS. */
  for (; n < PetscMin(4, end - begin); n++) rows[n] = begin + (PetscInt)(OracleHash(o->fill, (uint64_t)o->rank, (uint64_t)n) % (uint64_t)(end - begin));
  if (OracleFlip(o, 3)) PetscCall(OracleFragment(o, o->B));
  for (int k = 0; k < 2; k++) {
    const Mat X = k ? o->B : o->A;

    PetscCall(MatSetOption(X, MAT_KEEP_NONZERO_PATTERN, keep));
    PetscCall(MatSetOption(X, MAT_NO_OFF_PROC_ZERO_ROWS, PETSC_TRUE));
    PetscCall(MatZeroRows(X, n, rows, 0, NULL, NULL));
    PetscCall(MatSetOption(X, MAT_NO_OFF_PROC_ZERO_ROWS, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EliminateZeros(Oracle o)
{
  const PetscBool keep = OracleFlip(o, 2), left = OracleFlip(o, 2);
  PetscScalar    *array;
  PetscInt        n;
  Vec             l[2];

  PetscFunctionBegin;
  PetscCall(OracleCreateVec(o, o->B, left, &l[0], &l[1]));
  PetscCall(VecGetLocalSize(l[0], &n));
  PetscCall(VecGetArray(l[0], &array));
  for (PetscInt i = 0; i < n; i++)
    if (OracleHash(o->fill, (uint64_t)i, (uint64_t)o->rank) % 3 == 0) array[i] = 0;
  PetscCall(VecRestoreArray(l[0], &array));
  PetscCall(VecCopy(l[0], l[1]));
  if (OracleFlip(o, 3)) PetscCall(OracleFragment(o, o->B));
  for (int k = 0; k < 2; k++) {
    PetscCall(MatDiagonalScale(k ? o->B : o->A, left ? l[k] : NULL, left ? NULL : l[k]));
    PetscCall(MatEliminateZeros(k ? o->B : o->A, keep));
    PetscCall(VecDestroy(&l[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Filter(Oracle o)
{
  const PetscBool compress = OracleFlip(o, 2), keep = OracleFlip(o, 2);
  const PetscReal tol = (PetscReal)0.0123456789 * o->norm;

  PetscFunctionBegin;
  OracleBoth(MatFilter(o->A, tol, compress, keep), MatFilter(o->B, tol, compress, keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank gets of all numbers below N, mixed up: those at positions [begin, end). */
static PetscErrorCode Slice(Oracle o, PetscInt N, PetscInt begin, PetscInt end, IS *is)
{
  const PetscInt *shuffled;
  IS              all;

  PetscFunctionBegin;
  PetscCall(Shuffled(o, PETSC_COMM_SELF, 0, N, &all)); // alike on all ranks
  PetscCall(ISGetIndices(all, &shuffled));
  PetscCall(ISCreateGeneral(o->comm, end - begin, shuffled + begin, PETSC_COPY_VALUES, is));
  PetscCall(ISRestoreIndices(all, &shuffled));
  PetscCall(ISDestroy(&all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns in another order, each rank's among themselves, or all of them. */
static PetscErrorCode Permute(Oracle o)
{
  const PetscBool shuffle = OracleFlip(o, 2), same = (PetscBool)(o->square && OracleFlip(o, 2));
  const PetscBool far = OracleFlip(o, 2);
  PetscInt        begin, end, cbegin, cend, M, N;
  IS              rows, cols;
  Mat             A, B;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(o->A, &begin, &end));
  PetscCall(MatGetOwnershipRangeColumn(o->A, &cbegin, &cend));
  PetscCall(MatGetSize(o->A, &M, &N));
  PetscCall(far ? Slice(o, M, begin, end, &rows) : shuffle ? Shuffled(o, o->comm, begin, end, &rows) : RandomPart(o, o->comm, begin, end, PETSC_FALSE, 1, &rows));
  if (same) {
    PetscCall(PetscObjectReference((PetscObject)rows));
    cols = rows;
  } else PetscCall(far ? Slice(o, N, cbegin, cend, &cols) : shuffle ? Shuffled(o, o->comm, cbegin, cend, &cols) : RandomPart(o, o->comm, cbegin, cend, PETSC_FALSE, 1, &cols));
  PetscCall(ISSetPermutation(rows));
  PetscCall(ISSetPermutation(cols));
  if (OracleFlip(o, 4)) PetscCall(OracleFragment(o, o->B));
  OracleBoth(MatPermute(o->A, rows, cols, &A), MatPermute(o->B, rows, cols, &B));
  PetscCall(OracleCompareMat(o, A, B, PETSC_TRUE, o->norm));
  if (OracleFlip(o, 3)) PetscCall(OracleReplace(o, A, B));
  else PetscCall(OracleCompareAndDestroy(o, &A, &B, PETSC_TRUE, o->norm));
  PetscCall(ISDestroy(&rows));
  PetscCall(ISDestroy(&cols));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const OracleOperation OracleStructureOperations[] = {{"MatSetValues at existing places", 5, SetExisting, PETSC_FALSE, 0},
                                                     {"MatSetValues anywhere", 5, SetAnywhere, PETSC_FALSE, 0},
                                                     {"MatSetValuesCOO", 3, Coordinates, PETSC_FALSE, 0},
                                                     {"MatTranspose", 4, Transpose, PETSC_FALSE, 0},
                                                     {"MatIsTranspose", 2, IsTranspose, PETSC_FALSE, 0},
                                                     {"MatCreateSubMatrix", 4, SubMatrix, PETSC_FALSE, 0},
                                                     {"MatCreateSubMatrices", 2, SubMatrices, PETSC_FALSE, 0},
                                                     {"MatZeroRows(Columns)", 3, ZeroRows, PETSC_TRUE, 0},
                                                     {"MatZeroRows without diagonal", 2, RemoveRows, PETSC_FALSE, 0},
                                                     {"MatEliminateZeros", 2, EliminateZeros, PETSC_FALSE, 0},
                                                     {"MatFilter", 1, Filter, PETSC_FALSE, 0},
                                                     {"MatPermute", 2, Permute, PETSC_FALSE, 0},
                                                     {NULL, 0, NULL, PETSC_FALSE, 0}};
