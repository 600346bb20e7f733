#pragma once
#include <petscsparsecuda/dcsr.h>

/* The kernels of Mult. -mat_dcsr_spmv chooses; DCSR_SPMV_AUTO lets the launch rule choose. */
typedef enum {
  DCSR_SPMV_AUTO,
  DCSR_SPMV_SPLIT,  /* strict nonzero splitting (Hola), a group of lanes sums a row */
  DCSR_SPMV_SCAN,   /* strict nonzero splitting, rows summed by a segmented scan */
  DCSR_SPMV_WARP,   /* strict nonzero splitting, a warp sums its share in registers */
  DCSR_SPMV_VECTOR, /* a group of lanes a row */
  DCSR_SPMV_BLOCKS  /* a group of lanes a row of full blocks; of a structure that has others what DCSR_SPMV_AUTO gives */
} DCSRSpMVKind;
PETSC_INTERN const char *const DCSRSpMVKinds[]; /* for PetscOptionsEnum(): names, type name, prefix, NULL */

/*
  What becomes of the sum of a row before it is written:

    y_i = alpha d_i (b_i - (A x)_i) + beta x_i + gamma q_i    or, without b,    y_i = y_i - alpha d_i (A x)_i

  The first is a residual or a step of a smoother, the second adds what an off-diagonal block has to it. y may be q or b, which a thread reads before it writes y; it is not x, and not d.
*/
typedef struct {
  AlignedScalar      alpha; /* step size */
  const PetscScalar *d;     /* [num_rows] diagonal preconditioner, device; NULL: ones */
  const PetscScalar *b;     /* [num_rows] right-hand side, device; NULL: the second form, which has neither beta nor gamma */
  AlignedScalar      beta;  /* factor of x, whose entries have the numbers of rows then; 0: none is read */
  AlignedScalar      gamma; /* factor of q */
  const PetscScalar *q;     /* [num_rows] earlier iterate, device; not read where gamma is 0 */
} DCSRSpMVEpilogue;

typedef struct _n_DCSRSpMVPlan *DCSRSpMVPlan; /* everything cached from structure: facts, block-to-row table, long rows, launch configuration */

PETSC_INTERN PetscErrorCode DCSRSpMVPlanCreate(DCSRView view, DCSRSpMVKind kind, cudaStream_t stream, DCSRSpMVPlan *plan);
PETSC_INTERN PetscErrorCode DCSRSpMVPlanDestroy(DCSRSpMVPlan *plan, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSpMVPlanGetInfo(DCSRSpMVPlan plan, DCSRSpMVKind *kind, DCSRFacts *facts, size_t *bytes, const char **info);
/* y = A x + z; z == NULL means y = A x; z == y is allowed. x [num_columns], y and z [num_rows], device. Bitwise reproducible. */
PETSC_INTERN PetscErrorCode DCSRSpMVApply(DCSRSpMVPlan plan, DCSRView view, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSpMVApplyEpilogue(DCSRSpMVPlan plan, DCSRView view, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream, PetscBool *done);
/*
  Fragmented storage with a base, as insertion leaves it (spmvoverflow.cu): a plan of the base, DCSRViewGetBase(), and the overflow, all entries outside of the base, sorted. DCSROverflowIsFor() says
  whether a view can be multiplied so.
*/
typedef struct _n_DCSROverflow *DCSROverflow;

PETSC_INTERN PetscBool      DCSROverflowIsFor(DCSRView view);
PETSC_INTERN PetscErrorCode DCSROverflowCreate(DCSRView view, cudaStream_t stream, DCSROverflow *overflow);
PETSC_INTERN PetscErrorCode DCSROverflowPlan(DCSROverflow overflow, PetscBool transpose, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSROverflowSetValues(DCSROverflow overflow, DCSRView view, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSROverflowMerge(DCSRView view, DCSRView to, cudaStream_t stream, PetscBool *done);
PETSC_INTERN PetscErrorCode DCSROverflowDestroy(DCSROverflow *overflow, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSROverflowGetBytes(DCSROverflow overflow, size_t *bytes);
PETSC_INTERN PetscErrorCode DCSROverflowAdd(DCSROverflow overflow, const PetscScalar x[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSROverflowAddEpilogue(DCSROverflow overflow, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSROverflowAddTranspose(DCSROverflow overflow, PetscBool conjugate, const PetscScalar x[], PetscScalar y[], cudaStream_t stream);
/* The same with values in single precision, rounded by DCSRRoundValues(), in place of those of the view */
PETSC_INTERN PetscBool      DCSRSpMVPlanHasSingle(DCSRSpMVPlan plan);
PETSC_INTERN PetscErrorCode DCSRSpMVApplySingle(DCSRSpMVPlan plan, DCSRView view, const void *values, const PetscScalar x[], const PetscScalar z[], PetscScalar y[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSpMVApplyEpilogueSingle(DCSRSpMVPlan plan, DCSRView view, const void *values, const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[],
                                                        cudaStream_t stream, PetscBool *done);
/* The epilogue of a product that is there already, or is zero (spmvepilogue.cu) */
PETSC_INTERN PetscErrorCode DCSRSpMVEpilogueApply(PetscInt num_rows, const PetscScalar product[], const PetscScalar x[], const DCSRSpMVEpilogue *epilogue, PetscScalar y[], cudaStream_t stream);
