#pragma once
/*
  What all our types share as subclasses of MATSEQAIJ and MATMPIAIJ: the data of a matrix, and its state.

  The device copy is the matrix. The host arrays (i, j, a of Mat_SeqAIJ) are a copy, made when somebody asks: every inherited operation is called through
  a wrapper that first makes them current and afterwards notes what the operation may have written.
*/
#include "../../../../petsc/mat.h"
#include <petscsparsecuda.h>
#include <petscsparsecuda/blocklist.h>
#include <petscsparsecuda/spmm.h>
#include <petscsparsecuda/spmv.h>
#include <petscsparsecuda/spmvtranspose.h>
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/entries.h>
#include <petscsparsecuda/hisparse.h>
#include <petscsparsecuda/insert.h>
#include <petscsparsecuda/pattern.h>
#include <petscsparsecuda/skirental.h>
#include <petscsparsecuda/submatrix.h>
#include <petscsparsecuda/storage.h>
#include "../exchange/exchange.h"

/* What a host operation needs of the host copy and leaves behind. */
typedef enum {
  HOST_READ_STRUCTURE  = 1, /* i, j, ilen, imax */
  HOST_READ_VALUES     = 2, /* a */
  HOST_WRITE_VALUES    = 4, /* a afterwards is newer than the device */
  HOST_WRITE_STRUCTURE = 8  /* i, j afterwards are newer than the device */
} HostAccess;

#define HOST_READ  (HOST_READ_STRUCTURE | HOST_READ_VALUES)
#define HOST_WRITE (HOST_READ | HOST_WRITE_VALUES)
#define HOST_BUILD (HOST_READ | HOST_WRITE_VALUES | HOST_WRITE_STRUCTURE)

/* When fragmented storage becomes compact: what -mat_dcsr_defragment says. */
typedef enum {
  DCSR_DEFRAGMENT_AUTO,  /* after so many products that the time they lost would have paid for it */
  DCSR_DEFRAGMENT_NEVER, /* when an operation needs sorted rows, and when the pool is full */
  DCSR_DEFRAGMENT_ALWAYS /* insertion leaves compact storage */
} DCSRDefragmentKind;

/* Device scratch for vectors that live on the host. */
typedef struct {
  PetscScalar *array; /* [n], owned, NULL until a host vector came */
  PetscInt     n;
} HostVecBuffer;

/* What the CSR beside a storage is for, until the structure changes. */
typedef enum {
  CSR_MAY_GO,   /* the storage replaces it, if it is one that does */
  CSR_STAYS,    /* somebody asked for it after the storage had replaced it: it is kept beside the storage */
  CSR_ALONE,    /* products go by it: the storage does not pay for this structure */
  CSR_BORROWED, /* the same: somebody holds its values and may read and write them at any time */
} MatCSRUse;

/* When storage is made, where nothing chooses. */
typedef enum {
  STORAGE_FIRST, /* with the first product: no structure had it yet, */
  STORAGE_MADE,  /* or this one is the first that had it */
  STORAGE_WAITS  /* an earlier structure had it: when products have lost what making it costs */
} MatStorageTurn;

/* What is known of the products that will follow. */
typedef enum {
  HINT_NONE,
  HINT_EXACT,   /* so many with this structure, */
  HINT_AT_LEAST /* and more may come */
} MatHint;

/* What happened to values; what is not said to be copied has new ones. */
typedef enum {
  VALUES_NONE, /* of a new matrix, or one that becomes ours: the host's, if there are any */
  VALUES_WRITTEN_ON_HOST,
  VALUES_WRITTEN_IN_CSR,
  VALUES_WRITTEN_IN_STORAGE,
  VALUES_COPIED_TO_HOST,
  VALUES_COPIED_TO_DEVICE,  /* from the host to CSR */
  VALUES_COPIED_TO_CSR,     /* from storage */
  VALUES_COPIED_TO_STORAGE, /* from CSR */
  VALUES_GONE_FROM_HOST,    /* of the host: it has another array now */
  VALUES_GONE_FROM_STORAGE  /* which is freed */
} MatValuesChange;

/* States of a sequential matrix (state.c). Open ones are those of an assembly, from the set-up, a preallocation or the first value to MatAssemblyEnd(). */
typedef enum {
  STATE_NEW,           /* no entries yet */
  STATE_HOST_OPEN,     /* MATSEQAIJ's code inserts into the host arrays, which may have gaps: nothing else uses them */
  STATE_DEVICE_OPEN,   /* the device inserts; values wait in the stage */
  STATE_HOST,          /* the host alone has structure and values */
  STATE_HOST_NEWER,    /* the device has the structure, and old values */
  STATE_EQUAL,         /* host and CSR have the newest values */
  STATE_EQUAL_STORAGE, /* host and storage, perhaps CSR, have them */
  STATE_CSR,           /* CSR alone */
  STATE_CSR_STORAGE,   /* CSR, unless it is released, and storage */
  STATE_STORAGE        /* storage alone */
} MatSeqAIJCUDAState;

/* A sequential matrix on the device. */
typedef struct {
  DCSRView         view;         /* compact or fragmented CSR, its arrays are owned; without arrays there is no device copy, or the storage has replaced it, and sizes are left */
  PetscObjectState nonzerostate; /* of the matrix when view was made */

  /* What storage.h is about */
  const MatDeviceStorageOps *csr, *storage; /* what works on view, and the storage of this type; the same for DCSR */
  const MatDeviceChooserOps *chooser;       /* what chooses between the two; NULL: nothing does */
  void                      *data;          /* storage beside view; NULL until an operation wants it */
  MatDeviceValues            newest;        /* who of view and storage has the newest values of the device */
  MatCSRUse                  csr_use;
  MatStorageTurn             turn;
  void                      *choice;                     /* what the chooser keeps; owned, NULL until it needs something */
  MatHint                    hint;                       /* MatAutoCUDASetProducts(), MatAutoCUDASetMinimumProducts() */
  PetscCount                 expected[2];                /* products with the matrix and with its transpose that the hint says, in all with one structure; 0: not known */
  PetscCount                 products[DEVICE_NUM_WORKS]; /* with vectors since the structure changed, by whatever storage */
  PetscCount                 last_products;              /* all of them with the last structure before that had some; 0: none had */
  PetscBool                  recorded;                   /* launches that use it may have been recorded (MatDeviceStorageSettle()) */
} MatDeviceCopy;

/* Whose a sequential matrix is. */
typedef enum {
  ROLE_FOREIGN, /* it may be a block of a MATMPIAIJ, which fills and reads host arrays itself: made by -mat_seqaij_type or a conversion */
  ROLE_USER,    /* made by MatSetType() */
  ROLE_BLOCK    /* block of a parallel matrix of ours: public functions of PETSc (MatMPIAIJGetLocalMat(), ...) read its structure on the host directly, most of them announced */
} MatRole;

/* Test guard -mat_dcsr_test_hide_host: i, j and a of an assembled matrix are NULL while no host access is under way, so that every direct read is a crash. */
typedef struct {
  PetscBool    computed; /* a device operation was asked for; scratch matrices inside host products never get there, and are not hidden */
  PetscInt    *i, *j;    /* what they are meanwhile; NULL while shown */
  PetscScalar *a;        /* the same for a */
} MatHiddenArrays;

/* What is noted of the host arrays of the Mat_SeqAIJ, a copy of the device's; absent ones, i == NULL, are made on demand. */
typedef struct {
  MatRole          role;
  PetscBool        at_once;    /* the structure on the host is made at once after every change, of a block after every assembly: host code that reads it directly was met, or may come */
  PetscInt         active;     /* depth of host accesses under way (wrappers, array getters) */
  PetscInt         operations; /* those of wrappers alone */
  PetscInt         row_access; /* depth of MatGetRowUpperTriangular() for a matrix that is not bound to the CPU, as which it counts meanwhile */
  MatHiddenArrays *hidden;     /* owned; NULL without the test guard */
} MatHostCopy;

/* Values in single precision beside those of a CSR view, for products of preconditioners. */
typedef struct {
  void            *values;    /* [nnz] owned; NULL until the first such product, and with diagonals */
  HiSparse         diagonals; /* of a finest matrix that has them, in single precision or FP16; owned */
  PetscBool        half;      /* FP16 was asked for */
  PetscObjectState state;     /* object state of the matrix when they were rounded */
  DCSRSpMVPlan     plan;      /* by the launch rule of single precision, owned; NULL: the plan of full precision serves */
} MatSingleValues;

/* What is made of the structure on the device and goes with it. */
typedef struct {
  DCSRBlockList         list;     /* of the full blocks of compact storage, or room for it: a reference, which MatOperandNoteBlockSizes() lends; NULL before, and with a storage in place of CSR */
  uint64_t             *hash;     /* [DCSR_PATTERN_WORDS] device, owned: of the pattern; NULL until asked for */
  DCSRSpMVPlan          spmv;     /* NULL until the first product */
  DCSRSpMVTransposePlan spmvt;    /* the same for transpose products */
  DCSROverflow          overflow; /* of fragmented storage with a base, whose plans spmv and spmvt are then; NULL until the first product with it */
  PetscObjectState      overflow_state;   /* object state of the matrix when the values of overflow were copied */
  DCSRSpMMPlan          spmm;             /* the same for products with dense matrices */
  DCSRView              transpose;        /* explicit transpose, arrays and list owned; values NULL until first asked for */
  void                 *permutation;      /* of DCSRTransposeKeep(), owned; NULL without explicit transpose */
  DCSRSpMVPlan          spmv_transpose;   /* plan of the explicit transpose; NULL without one */
  PetscObjectState      transpose_state;  /* object state of A when the values of the transpose were gathered */
  MatSingleValues       single;           /* of the matrix */
  MatSingleValues       transpose_single; /* of the explicit transpose */
  PetscInt             *wide_i, *wide_j;  /* [m + 1], [nnz] PetscInt copies for device code of programs, where the device's arrays have another width; NULL until asked for */
  PetscCount            fragmented_mults; /* products with vectors with fragmented storage since its structure changed */
  PetscCount            compact_from;     /* of fragmented_mults: rows may become compact, for which there was no memory before */
  PetscCount            transpose_mults;  /* transpose products with spmvt */
} MatPlans;

/* Values on their way to the device, and what decides that they go there. */
typedef struct {
  DCSRStage        stage;            /* values of MatSetValues(); NULL until the first */
  InsertMode       mode;             /* of what is in the stage */
  PetscBool        device_assembly;  /* set up or preallocated without host arrays: the first values, too, go to the device */
  PetscInt         diagonal;         /* column of the diagonal entry of row 0, which MAT_IGNORE_ZERO_ENTRIES does not ignore; DCSR_NO_DIAGONAL in an off-diagonal block */
  PetscObjectId    coo_list;         /* container of the list of coordinates whose pattern this matrix or block had, 0: none, */
  PetscObjectState coo_nonzerostate; /* when its nonzerostate was this one (coopattern.c) */
} MatStaging;

/* What the options say. */
typedef struct {
  PetscInt              stage_size;       /* -mat_dcsr_stage_size: bytes of a pinned buffer of the stage */
  PetscInt              stage_entries;    /* -mat_dcsr_stage_entries: entries that wait on the device until they are merged */
  DCSRDefragmentKind    defragment;       /* -mat_dcsr_defragment */
  PetscReal             slack;            /* -mat_dcsr_slack: unused entries behind a segment that insertion makes, as a part of the row */
  PetscInt              max_segments;     /* -mat_dcsr_max_segments */
  PetscBool             eager;            /* -mat_dcsr_host_structure eager; the default with -mat_seqaij_type */
  PetscBool             deterministic;    /* -mat_dcsr_deterministic */
  PetscBool             blocks;           /* -mat_dcsr_blocks: full blocks of the layouts' sizes are looked for */
  DCSRSpMVKind          spmv_kind;        /* -mat_dcsr_spmv */
  DCSRSpMVTransposeKind spmvt_kind;       /* -mat_dcsr_spmv_transpose */
  PetscInt              product_slices;   /* -mat_dcsr_product_slices: of products of three matrices whose first one this is; 0 is automatic */
  PetscInt              storage_format;   /* of the storage beside CSR, which reads the option (setfromoptions()) and says what it means; 0 is the default */
  PetscInt              storage_products; /* for a storage that chooses: so many products follow each change of the structure; 0: not known */
} MatAIJCUDAOptions;

/* The spptr of a sequential matrix of ours. */
typedef struct {
  MatType           type; /* as it was registered; PETSc takes the name away before it destroys the data in MatHeaderMerge() */
  MatDeviceCopy     device;
  MatHostCopy       host;
  MatPlans          plans;
  MatStaging        staging;
  MatAIJCUDAOptions options;
  HostVecBuffer     x, y, z;       /* scratch for vectors that live on the host */
  struct _MatOps    parent;        /* operations of MATSEQAIJ as this matrix last had them */
  struct _MatOps    installed;     /* the table as we last left it; what differs later was put there by the parent */
  Mat_SeqAIJOps     parent_arrays; /* array hooks of MATSEQAIJ */
  PetscBool         no_device;     /* no usable device: bound to the CPU for good */
} Mat_SeqAIJCUDA;

/* What all processes learn from each other in MatAssemblyBegin(): each but the last is true when it is on some process. */
typedef enum {
  FLAG_HOST,        /* values were given to the parent, which has to assemble */
  FLAG_OFF_PROCESS, /* values wait for other processes, */
  FLAG_DEVICE,      /* some of them on the device, */
  FLAG_NEW_PATTERN, /* or they do not fit the pattern of the last exchange */
  FLAG_INSERT,      /* INSERT_VALUES was used */
  FLAG_ADD,         /* ADD_VALUES was used */
  FLAG_ERROR,       /* the largest error code of those that failed, 0: none did */
  FLAG_INSTALLED,   /* all processes have just set both blocks: nothing waits, and nobody has to be asked */
  NUM_ASSEMBLY_FLAGS
} AssemblyFlag;

/*
  The state of a parallel matrix. PARALLEL_HOST is the same on all processes. Otherwise the ghost columns ascend on all (parallel/ghosts.h), and values go to the device.

  Not A->assembled, which MATMPIAIJ changes on single processes when it disassembles.
*/
typedef enum {
  PARALLEL_HOST,        /* the parent assembles */
  PARALLEL_HOST_OPEN,   /* the assembly under way has given values to the parent on this process, which assembles */
  PARALLEL_DEVICE_OPEN, /* the first assembly since the set-up; goes on as it began when the matrix is bound to the CPU meanwhile */
  PARALLEL_DEVICE
} MatMPIAIJCUDAState;

/* The spptr of a parallel matrix of ours (field of Mat_MPIAIJ). */
typedef struct {
  const MatAIJCUDATypes *types;     /* the family of its type, which says the types of its blocks; PETSc takes the name away before it destroys the data in MatHeaderMerge() */
  struct _MatOps         parent;    /* operations of MATMPIAIJ as this matrix last had them */
  struct _MatOps         installed; /* the table as we last left it; what differs later was put there by the parent */
  PetscBool              no_device; /* no usable device on some process: bound to the CPU for good */

  DCSRStage          stage[2];    /* values on their way to the diagonal block and, with global columns, to the off-diagonal one; NULL until the first */
  InsertMode         stage_mode;  /* of what is in the stages */
  OffProcessStash    off_process; /* what the next assembly sends */
  PetscInt          *indices;     /* [num_indices] scratch for the indices of a block, owned */
  PetscInt           num_indices; /* its length */
  MatMPIAIJCUDAState state;
  PetscBool          columns_changed;           /* garray has columns that the scatter of products does not know yet */
  PetscBool          installed_blocks;          /* FLAG_INSTALLED of the assembly that follows */
  int                flags[NUM_ASSEMBLY_FLAGS]; /* of the assembly under way; meaningful between its begin and its end, and then the same on all processes */
  PetscInt           row_access;                /* depth of MatGetRowUpperTriangular() for a matrix that is not bound to the CPU, as which it and its blocks count meanwhile */
} Mat_MPIAIJCUDA;

static inline Mat_SeqAIJCUDA *MatSeqAIJCUDAGet(Mat A)
{
  return (Mat_SeqAIJCUDA *)A->spptr;
}

static inline Mat_MPIAIJCUDA *MatMPIAIJCUDAGet(Mat A)
{
  return (Mat_MPIAIJCUDA *)((Mat_MPIAIJ *)A->data)->spptr;
}

/* The diagonal block of a parallel matrix, k = 0, or the off-diagonal one, k = 1. */
static inline Mat MatMPIAIJCUDAGetBlock(Mat A, int k)
{
  return k ? ((Mat_MPIAIJ *)A->data)->B : ((Mat_MPIAIJ *)A->data)->A;
}

/* How many ghost columns a parallel matrix has on this process: none while its off-diagonal block has global columns. */
static inline PetscInt MatMPIAIJCUDANumGhosts(Mat A)
{
  const Mat_MPIAIJ *a = (const Mat_MPIAIJ *)A->data;

  return a->garray != NULL ? a->B->cmap->n : 0;
}

/* What MatAssemblyEnd() forgets of symmetry, but for the first time, where MATAIJ assembles and ours need not: what solvers and PCGAMG ask of a matrix must not depend on its type. */
static inline void MatAIJCUDAForgetSymmetry(Mat A)
{
  if (A->num_ass++ > 0) {
    if (!A->symmetry_eternal) A->symmetric = A->hermitian = PETSC_BOOL3_UNKNOWN;
    if (!A->structural_symmetry_eternal && A->ass_nonzerostate != A->nonzerostate) A->structurally_symmetric = PETSC_BOOL3_UNKNOWN;
    if (!A->spd_eternal) A->spd = PETSC_BOOL3_UNKNOWN;
  }
  A->ass_nonzerostate = A->nonzerostate;
}

/* Whether the structure on the host is made at once after every change of a sequential matrix of ours that is no block of a parallel one. */
static inline PetscBool MatSeqAIJCUDAKeepsStructure(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  return (PetscBool)(d->host.role != ROLE_BLOCK && (d->options.eager || d->host.at_once));
}

/* Whether there is a device copy of a sequential matrix of ours, in CSR or in a storage that has replaced it. */
static inline PetscBool MatSeqAIJCUDAHasDevice(Mat A)
{
  const MatDeviceCopy *device = &MatSeqAIJCUDAGet(A)->device;

  return (PetscBool)(device->view.row_offsets != NULL || device->view.segments != NULL || device->data != NULL);
}

/* Whether the device copy has the structure of now. */
static inline PetscBool MatSeqAIJCUDADeviceHasStructure(Mat A)
{
  return (PetscBool)(MatSeqAIJCUDAHasDevice(A) && MatSeqAIJCUDAGet(A)->device.nonzerostate == A->nonzerostate);
}

/* Whether there are host arrays, which have the structure of now then. */
static inline PetscBool MatSeqAIJCUDAHasHostArrays(Mat A)
{
  const MatHiddenArrays *hidden = MatSeqAIJCUDAGet(A)->host.hidden;

  return (PetscBool)(((const Mat_SeqAIJ *)A->data)->i != NULL || (hidden != NULL && hidden->i != NULL));
}

/* Whether the host has the structure of now: without a device copy it is the matrix, also before it has arrays. */
static inline PetscBool MatSeqAIJCUDAHasHost(Mat A)
{
  return (PetscBool)(MatSeqAIJCUDAHasHostArrays(A) || !MatSeqAIJCUDAHasDevice(A));
}

/*
  Whether the host arrays of a sequential matrix of ours have room between its entries, as MATSEQAIJ leaves them between the first MatSetValues() and the assembly: nothing but its code may use them
  then.
*/
static inline PetscBool MatSeqAIJCUDAHostHasGaps(Mat A)
{
  const Mat_SeqAIJ *a = (const Mat_SeqAIJ *)A->data;

  return (PetscBool)(a->i != NULL && a->i[A->rmap->n] != a->nz);
}

/* Blocks with fewer rows and nonzeros together get their structure on the host at once in any case: factorizations of coarse levels read it, and it costs little. */
PETSC_INTERN PetscInt MatAIJCUDASmallBlock;

/* Whether the structure on the host is made at once after every change of a block of a parallel matrix. */
static inline PetscBool MatSeqAIJCUDABlockKeepsStructure(Mat A)
{
  const Mat_SeqAIJCUDA *d = MatSeqAIJCUDAGet(A);

  return (PetscBool)(d->host.role == ROLE_BLOCK && (d->host.at_once || d->options.eager || (d->host.hidden == NULL && A->rmap->n + ((Mat_SeqAIJ *)A->data)->nz < MatAIJCUDASmallBlock)));
}

/* Calls that go up the layers: what a module needs of one above it. The table is filled where all modules are known (src/init/hooks.c). */
typedef struct {
  PetscErrorCode (*finish_insertion_mpi)(Mat);                  /* entries on their way to the blocks of a parallel matrix are merged before host arrays or the device copy are used */
  PetscErrorCode (*from_seqaij)(Mat, MatType, MatReuse, Mat *); /* conversions that make a matrix of the type, and MATAIJ of it, */
  PetscErrorCode (*from_mpiaij)(Mat, MatType, MatReuse, Mat *); /* for blocks that the parent makes, and for conversions by way of MATAIJ; */
  PetscErrorCode (*to_seqaij)(Mat, MatType, MatReuse, Mat *);   /* from_seqaij and from_mpiaij look at the MatType, any name of a family or a sequential type with a storage; a matrix of */
  PetscErrorCode (*to_mpiaij)(Mat, MatType, MatReuse, Mat *);   /* another one of our types becomes one of this type, with MAT_INPLACE_MATRIX where it is */
  PetscErrorCode (*restore_composed)(Mat, MatType);             /* puts the parent's composed functions back into a MATSEQAIJ that was made of the header of a matrix of this type */
  PetscBool (*listens)(void);                                   /* whether readers of host arrays that PETSc announces find them (host/events.c) */
} MatAIJCUDAHooks;

PETSC_INTERN const MatAIJCUDAHooks MatAIJCUDAHook;

/*
  PetscCallGpuTime - PetscCall() for work on the device, whose time is logged (-log_view_gpu_time), also when it fails.

  PetscCallGpuTimeGoto - PetscCallGoto() for it.
*/
#define PetscCallGpuTime(...) \
  do { \
    PetscErrorCode ierr_, ended_; \
\
    PetscCall(PetscLogGpuTimeBegin()); \
    ierr_  = __VA_ARGS__; \
    ended_ = PetscLogGpuTimeEnd(); \
    PetscCall(ierr_); \
    PetscCall(ended_); \
  } while (0)
#define PetscCallGpuTimeGoto(ierr, label, ...) \
  do { \
    PetscErrorCode ended_; \
\
    PetscCallGoto(ierr, label, PetscLogGpuTimeBegin()); \
    ierr   = __VA_ARGS__; \
    ended_ = PetscLogGpuTimeEnd(); \
    PetscCallGoto(ierr, label, ierr != PETSC_SUCCESS ? ierr : ended_); \
  } while (0)

/* How many scopes of a kind are under way. */
typedef struct {
  PetscInt host;      /* host accesses to any matrix (MatAIJCUDAHostBegin()) */
  PetscInt deferrals; /* setups that make no storage (MatDeviceStorageDefer()) */
  PetscInt single;    /* cycles that read values in single precision (MatDeviceStorageUseSingle()) */

  MatDeviceRounding rounding; /* of the innermost of these */
} MatAIJCUDAScopes;

PETSC_INTERN MatAIJCUDAScopes MatAIJCUDAScope;

/* state.c */
PETSC_INTERN void               MatSeqAIJCUDANoteValues(Mat, MatValuesChange);
PETSC_INTERN void               MatSeqAIJCUDAUnnoteValues(Mat, PetscOffloadMask);
PETSC_INTERN void               MatMPIAIJCUDANoteAssembled(Mat);
PETSC_INTERN MatSeqAIJCUDAState MatSeqAIJCUDAGetState(Mat);
PETSC_INTERN const char *const  MatSeqAIJCUDAStates[]; /* by MatSeqAIJCUDAState, for viewers */

/* copies.c: between host arrays and compact CSR */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAHideHostArrays(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADownloadStructure(Mat, DCSRView);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADownloadValues(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACopyHostStructure(Mat, Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUploadStructure(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUploadValues(Mat);

/* host.c, ensure.c */
PETSC_INTERN PetscErrorCode MatIsSeqAIJCUDA(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatIsMPIAIJCUDA(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatAIJCUDAHostBegin(Mat, int);
PETSC_INTERN PetscErrorCode MatAIJCUDAHostBegin_Private(Mat, int, const char[]);
PETSC_INTERN PetscErrorCode MatAIJCUDAHostEnd(Mat, int);
PETSC_INTERN PetscErrorCode MatAIJCUDAArrayBegin(Mat, int);
PETSC_INTERN PetscErrorCode MatAIJCUDAArrayEnd(Mat, int);
PETSC_INTERN PetscErrorCode MatAIJCUDAHostFinish(Mat, int, PetscErrorCode);
PETSC_INTERN PetscErrorCode MatAIJCUDAHostBeginTwo_Private(Mat, int, Mat, int, const char[]);
/* The report says which function wanted the host copy: the caller. */
#define MatAIJCUDAHostBegin(A, access)                   MatAIJCUDAHostBegin_Private(A, access, PETSC_FUNCTION_NAME)
#define MatAIJCUDAHostBeginTwo(A, access_a, B, access_b) MatAIJCUDAHostBeginTwo_Private(A, access_a, B, access_b, PETSC_FUNCTION_NAME)
PETSC_INTERN PetscErrorCode MatAIJCUDAHostFinishTwo(Mat, int, Mat, int, PetscErrorCode);
PETSC_INTERN PetscBool      MatAIJCUDAInHostCode(void);
PETSC_INTERN PetscErrorCode MatAIJCUDAShowToReader(Mat, int);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAKeepStructure(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUpdateKept(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUpdateBlock(Mat);
PETSC_INTERN void           MatSeqAIJCUDAInheritKept(Mat, Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADiscardHostArrays(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADuplicateHostStructure(Mat, Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAShowHostArrays(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUseDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACopyToDevice(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACompact(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACompactIfRoom(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAGetCompact(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADropDevice(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADropPlans(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADeviceChanged(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAValuesChanged(Mat, MatValuesChange);
PETSC_INTERN PetscBool      MatSeqAIJCUDADeviceIsCurrent(Mat);

/* replace.c */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAStructureOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADiscardStaged(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetDeviceMatrix(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetEmpty(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAStructureChanged(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACreateFromView(Mat, PetscInt, PetscInt, DCSRView *, Mat *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDATakeStorage(Mat *, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDATakeValues(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAReuseView(Mat, PetscBool, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetRowLimits(Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDATakeRowLimits(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAGetRowLimits(Mat, const PetscInt *[]);

/* join.c */
PETSC_INTERN DCSRNewEntries MatSeqAIJCUDANewEntries(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAInsertBatch(Mat, const DCSRBatch *, InsertMode);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAInsertList(Mat, DCSRList *, const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAInsertSmall(Mat, DCSRSmallList *, InsertMode, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAFinishInsertion(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACheckRowLimits(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACheckUnused(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAFillsPreallocation(Mat, PetscBool *);

/* nonzerostate.c */
PETSC_INTERN void           MatAIJCUDASetNonzeroState(Mat, PetscObjectState);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDARaiseSum(Mat, PetscObjectState);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASumNonzeroState(Mat);
PETSC_INTERN PetscErrorCode MatAIJCUDARaiseNonzeroState(Mat, PetscObjectState);
