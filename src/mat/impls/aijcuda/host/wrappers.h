#pragma once
/*
  The inherited operations that read or write the host copy directly: one line each.

  X(operation, parameters, arguments, access): the wrapper brings the host copy of A up to date for access, calls the parent's operation, and notes what it wrote.
  Operations that are absent here either touch no array (getinfo, setup, ...), go through other operations of the blocks, or are written out by hand.
*/
#include "../core/core.h"

#define SEQ_VALUES_PARAMETERS (Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], InsertMode mode)
#define ROWIJ_PARAMETERS      (Mat A, PetscInt shift, PetscBool symmetric, PetscBool inode, PetscInt * n, const PetscInt *ia[], const PetscInt *ja[], PetscBool *done)
#define ROWIJ_ARGUMENTS       (A, shift, symmetric, inode, n, ia, ja, done)

/* What MATSEQAIJ and MATMPIAIJ have in common here */
#define AIJ_WRAPPERS(X) \
  X(setvalues, SEQ_VALUES_PARAMETERS, (A, m, rows, n, columns, v, mode), HOST_WRITE) \
  X(setvaluesrow, (Mat A, PetscInt row, const PetscScalar v[]), (A, row, v), HOST_WRITE) \
  X(getrow, (Mat A, PetscInt row, PetscInt * n, PetscInt * columns[], PetscScalar * v[]), (A, row, n, columns, v), HOST_READ) \
  X(sor, (Mat A, Vec b, PetscReal omega, MatSORType flag, PetscReal shift, PetscInt its, PetscInt lits, Vec x), (A, b, omega, flag, shift, its, lits, x), HOST_READ) \
  X(norm, (Mat A, NormType type, PetscReal * norm), (A, type, norm), HOST_READ) \
  X(zerorowscolumns, (Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b), (A, n, rows, diag, x, b), HOST_BUILD) \
  X(increaseoverlap, (Mat A, PetscInt n, IS is[], PetscInt overlap), (A, n, is, overlap), HOST_READ_STRUCTURE) \
  X(getrowmax, (Mat A, Vec v, PetscInt idx[]), (A, v, idx), HOST_READ) \
  X(getrowmin, (Mat A, Vec v, PetscInt idx[]), (A, v, idx), HOST_READ) \
  X(getrowminabs, (Mat A, Vec v, PetscInt idx[]), (A, v, idx), HOST_READ) \
  X(shift, (Mat A, PetscScalar s), (A, s), HOST_BUILD) \
  X(setrandom, (Mat A, PetscRandom r), (A, r), HOST_BUILD) \
  X(getrowij, ROWIJ_PARAMETERS, ROWIJ_ARGUMENTS, HOST_READ_STRUCTURE) \
  X(fdcoloringcreate, (Mat A, ISColoring coloring, MatFDColoring c), (A, coloring, c), HOST_READ_STRUCTURE) \
  X(permute, (Mat A, IS rows, IS columns, Mat * B), (A, rows, columns, B), HOST_READ) \
  X(findzerodiagonals, (Mat A, IS * is), (A, is), HOST_READ) \
  X(findoffblockdiagonalentries, (Mat A, IS * is), (A, is), HOST_READ) \
  X(findnonzerorows, (Mat A, IS * is), (A, is), HOST_READ) \
  X(load, (Mat A, PetscViewer viewer), (A, viewer), HOST_BUILD) \
  X(getcolumnreductions, (Mat A, PetscInt type, PetscReal r[]), (A, type, r), HOST_READ) \
  X(eliminatezeros, (Mat A, PetscBool keep), (A, keep), HOST_BUILD) \
  MISSING_DIAGONAL_WRAPPER(X)

/* MATSEQAIJ alone */
#define SEQ_WRAPPERS(X) \
  AIJ_WRAPPERS(X) \
  X(getmultiprocblock, (Mat A, MPI_Comm comm, MatReuse reuse, Mat * B), (A, comm, reuse, B), HOST_READ) \
  X(mult, (Mat A, Vec x, Vec y), (A, x, y), HOST_READ) \
  X(multadd, (Mat A, Vec x, Vec y, Vec z), (A, x, y, z), HOST_READ) \
  X(multtranspose, (Mat A, Vec x, Vec y), (A, x, y), HOST_READ) \
  X(multtransposeadd, (Mat A, Vec x, Vec y, Vec z), (A, x, y, z), HOST_READ) \
  X(getdiagonal, (Mat A, Vec d), (A, d), HOST_READ) \
  X(diagonalscale, (Mat A, Vec l, Vec r), (A, l, r), HOST_WRITE) \
  X(zeroentries, (Mat A), (A), HOST_WRITE) \
  X(zerorows, (Mat A, PetscInt n, const PetscInt rows[], PetscScalar diag, Vec x, Vec b), (A, n, rows, diag, x, b), HOST_BUILD) \
  X(getvalues, (Mat A, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], PetscScalar v[]), (A, m, rows, n, columns, v), HOST_READ) \
  X(getrowmaxabs, (Mat A, Vec v, PetscInt idx[]), (A, v, idx), HOST_READ) \
  X(getrowsumabs, (Mat A, Vec v), (A, v), HOST_READ) \
  X(scale, (Mat A, PetscScalar s), (A, s), HOST_WRITE) \
  X(diagonalset, (Mat A, Vec d, InsertMode mode), (A, d, mode), HOST_BUILD) \
  X(getcolumnij, ROWIJ_PARAMETERS, ROWIJ_ARGUMENTS, HOST_READ_STRUCTURE) \
  X(coloringpatch, (Mat A, PetscInt ncolors, PetscInt n, ISColoringValue colors[], ISColoring * is), (A, ncolors, n, colors, is), HOST_READ_STRUCTURE) \
  X(multdiagonalblock, (Mat A, Vec x, Vec y), (A, x, y), HOST_READ) \
  X(conjugate, (Mat A), (A), HOST_WRITE) \
  X(realpart, (Mat A), (A), HOST_WRITE) \
  X(imaginarypart, (Mat A), (A), HOST_WRITE) \
  X(invertblockdiagonal, (Mat A, const PetscScalar *values[]), (A, values), HOST_READ) \
  X(invertvariableblockdiagonal, (Mat A, PetscInt n, const PetscInt sizes[], PetscScalar v[]), (A, n, sizes, v), HOST_READ) \
  X(transposecoloringcreate, (Mat A, ISColoring coloring, MatTransposeColoring c), (A, coloring, c), HOST_READ) \
  X(transcoloringapplysptoden, (MatTransposeColoring coloring, Mat A, Mat dense), (coloring, A, dense), HOST_READ) \
  X(transcoloringapplydentosp, (MatTransposeColoring coloring, Mat dense, Mat A), (coloring, dense, A), HOST_WRITE) \
  X(transposesymbolic, (Mat A, Mat * B), (A, B), HOST_READ_STRUCTURE)

/* MATMPIAIJ alone */
#define MPI_WRAPPERS(X) \
  AIJ_WRAPPERS(X) \
  X(getseqnonzerostructure, (Mat A, Mat * B), (A, B), HOST_READ) \
  X(createsubmatricesmpi, (Mat A, PetscInt n, const IS rows[], const IS columns[], MatReuse reuse, Mat *B[]), (A, n, rows, columns, reuse, B), HOST_READ)

#define DECLARE_SEQ_WRAPPER(operation, parameters, arguments, access) PETSC_INTERN PetscErrorCode MatHost_SeqAIJCUDA_##operation parameters;
#define DECLARE_MPI_WRAPPER(operation, parameters, arguments, access) PETSC_INTERN PetscErrorCode MatHost_MPIAIJCUDA_##operation parameters;
SEQ_WRAPPERS(DECLARE_SEQ_WRAPPER)
MPI_WRAPPERS(DECLARE_MPI_WRAPPER)
#undef DECLARE_SEQ_WRAPPER
#undef DECLARE_MPI_WRAPPER

/* Written out by hand, one for both kinds, since they take several matrices of ours (sharedwrappers.c). */
PETSC_INTERN PetscErrorCode MatHost_AIJCUDA_axpy(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatHost_AIJCUDA_transpose(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatHost_AIJCUDA_createsubmatrices(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);
typedef PetscErrorCode (*CreateSubMatricesFn)(Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);
PETSC_INTERN PetscErrorCode MatAIJCUDACreateSubMatricesOnHost(CreateSubMatricesFn, Mat, PetscInt, const IS[], const IS[], MatReuse, Mat *[]);
PETSC_INTERN PetscErrorCode MatHost_AIJCUDA_creatempimatconcatenateseqmat(MPI_Comm, Mat, PetscInt, MatReuse, Mat *);

PETSC_INTERN PetscErrorCode MatHost_AIJCUDA_fdcoloringsetup(Mat, ISColoring, MatFDColoring); /* fdcoloring.c */
PETSC_INTERN PetscErrorCode MatHost_AIJCUDA_fdcoloringapply(Mat, MatFDColoring, Vec, void *);

PETSC_INTERN PetscErrorCode MatHost_MPIAIJCUDA_createsubmatrix(Mat, IS, IS, MatReuse, Mat *); /* mpiwrappers.c */
PETSC_INTERN PetscErrorCode MatHost_MPIAIJCUDA_getmultiprocblock(Mat, MPI_Comm, MatReuse, Mat *);

/* Put a wrapper where the parent has an operation; what the parent put there since the last time becomes the operation that the wrapper calls. */
#define INSTALL_WRAPPER(ops, parent, installed, prefix, operation) \
  do { \
    if ((ops)->operation != (installed)->operation) (parent)->operation = (ops)->operation; \
    if ((parent)->operation != NULL) (ops)->operation = prefix##operation; \
  } while (0)
#define INSTALL_SHARED_WRAPPERS(ops, parent, installed) \
  do { \
    INSTALL_WRAPPER(ops, parent, installed, MatHost_AIJCUDA_, axpy); \
    INSTALL_WRAPPER(ops, parent, installed, MatHost_AIJCUDA_, transpose); \
    INSTALL_WRAPPER(ops, parent, installed, MatHost_AIJCUDA_, createsubmatrices); \
    INSTALL_WRAPPER(ops, parent, installed, MatHost_AIJCUDA_, creatempimatconcatenateseqmat); \
    INSTALL_WRAPPER(ops, parent, installed, MatHost_AIJCUDA_, fdcoloringsetup); \
    INSTALL_WRAPPER(ops, parent, installed, MatHost_AIJCUDA_, fdcoloringapply); \
  } while (0)
