#pragma once
/*
  Floor 3, what all our types share as subclasses of MATSEQAIJ and MATMPIAIJ.

  The device copy is the matrix. The host CSR arrays (i, j, a of Mat_SeqAIJ) are a mirror, made when somebody asks: every inherited operation is called through
  a thunk that first brings the mirror up to date and afterwards notes what the operation may have written.
*/
#include <petsc/private/matimpl.h>
#include <../src/mat/impls/aij/seq/aij.h>
#include <../src/mat/impls/aij/mpi/mpiaij.h>
#include <petscsparsecuda.h>
#include <petscsparsecuda/spmm.h>
#include <petscsparsecuda/spmv.h>
#include <petscsparsecuda/spmvtranspose.h>
#include <petscsparsecuda/convert.h>
#include <petscsparsecuda/entries.h>
#include <petscsparsecuda/insert.h>
#include <petscsparsecuda/exchange.h>
#include <petscsparsecuda/submatrix.h>
#include <petscsparsecuda/storage.h>

/* What a host operation needs of the mirror and leaves behind. */
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

/* The spptr of a sequential matrix of ours. */
typedef struct {
  DCSRView              view;                /* device storage, its arrays are owned; meaningful when device_structure */
  PetscBool             device_structure;    /* view holds the structure of state device_nonzerostate */
  PetscBool             device_values;       /* view.values is allocated and was filled once */
  PetscObjectState      device_nonzerostate; /* nonzerostate of the matrix that view was made from */
  PetscBool             host_structure;      /* i, j, ilen, imax of the Mat_SeqAIJ are current; PETSC_FALSE: absent, made on demand */
  PetscBool             is_block;            /* block of a parallel matrix: keeps the host structure, which public functions (MatMPIAIJGetLocalMat(), ...) read directly */
  PetscBool             keeps_structure;     /* host code that reads the structure directly was met, or MATMPIAIJ may have this as a block: the structure is made at once after every change */
  PetscInt              host_active;         /* depth of host accesses under way (thunks, array getters) */
  PetscInt              row_access;          /* depth of MatGetRowUpperTriangular(); meanwhile the matrix counts as bound to the CPU */
  PetscBool             row_access_bound;    /* whether it was bound before that */
  PetscBool             hide;                /* test hook -mat_dcsr_test_hide_mirror: i, j, a of the Mat_SeqAIJ are NULL while host_active is 0, */
  PetscBool             computed;            /* once a device operation was asked for; scratch matrices inside host products never get there */
  PetscInt             *hidden_i, *hidden_j; /* what they are meanwhile; NULL while shown */
  PetscScalar          *hidden_a;            /* the same for a */
  DCSRSpMVPlan          spmv;                /* NULL until the first product; dropped with the structure */
  DCSRSpMVTransposePlan spmvt;               /* the same for transpose products */
  DCSRSpMMPlan          spmm;                /* the same for products with dense matrices */
  DCSRView              transpose;           /* explicit transpose, arrays owned; values NULL until first asked for */
  void                 *permutation;         /* [nnz] entry of A behind each entry of the transpose; offsets' width; NULL without explicit transpose */
  DCSRSpMVPlan          spmv_transpose;      /* plan of the explicit transpose; NULL without one */
  PetscObjectState      transpose_state;     /* object state of A when the values of the transpose were gathered */
  PetscInt             *wide_i, *wide_j;     /* [m + 1], [nnz] PetscInt copies for foreign device code, where the device's arrays have another width; NULL until asked for */
  DCSRStage             stage;               /* values of MatSetValues() on their way to the device; NULL until the first */
  InsertMode            stage_mode;          /* of what is in the stage */
  PetscBool             created;             /* by MatSetType(), without -mat_seqaij_type; otherwise it may be a block of a MATMPIAIJ, which fills host arrays itself */
  PetscBool             device_assembly;     /* set up or preallocated without host arrays: the first values, too, go to the device */
  PetscInt              stage_size;          /* -mat_dcsr_stage_size: bytes of a pinned buffer of the stage */
  PetscInt              stage_entries;       /* -mat_dcsr_stage_entries: entries that wait on the device until they join the matrix */
  DCSRDefragmentKind    defragment;          /* -mat_dcsr_defragment */
  PetscReal             slack;               /* -mat_dcsr_slack: unused entries behind a segment that insertion makes, as a part of the row */
  PetscInt              max_segments;        /* -mat_dcsr_max_segments */
  PetscInt              diagonal;            /* column of the diagonal entry of row 0, which MAT_IGNORE_ZERO_ENTRIES does not ignore; DCSR_NO_DIAGONAL in an off-diagonal block */
  PetscInt              fragmented_mults;    /* products with vectors with fragmented storage since its structure changed */
  HostVecBuffer         x, y, z;             /* scratch for vectors that live on the host */
  struct _MatOps        parent;              /* operations of MATSEQAIJ as this matrix last had them */
  struct _MatOps        installed;           /* the table as we last left it; what differs later was put there by the parent */
  Mat_SeqAIJOps         parent_arrays;       /* array hooks of MATSEQAIJ */
  PetscObjectId         coo_list;            /* container of the list of coordinates whose pattern this matrix or block had, 0: none, */
  PetscObjectState      coo_nonzerostate;    /* when its nonzerostate was this one (coopattern.c) */
  PetscBool             eager;               /* -mat_dcsr_host_structure eager; the default with -mat_seqaij_type */
  PetscBool             deterministic;       /* -mat_dcsr_deterministic */
  PetscBool             no_device;           /* no usable device: bound to the CPU for good */
  DCSRSpMVKind          spmv_kind;           /* -mat_dcsr_spmv */
  DCSRSpMVTransposeKind spmvt_kind;          /* -mat_dcsr_spmv_transpose */
  PetscInt              product_slices;      /* -mat_dcsr_product_slices: of products of three matrices whose first one this is; 0 is automatic */

  /* What storage.h is about */
  MatType                    type;          /* as it was registered; PETSc takes the name away before it destroys the data in MatHeaderMerge() */
  const MatDeviceStorageOps *csr, *storage; /* what works on view, and the storage of this type; the same for DCSR */
  void                      *storage_data;  /* storage beside view; NULL until an operation wants it */
  MatDeviceValues            newest;        /* who of view and storage has the newest values of the device */
  PetscBool                  declined;      /* the storage does not pay for this structure */
  PetscBool                  keeps_csr;     /* somebody asked for CSR after the storage had replaced it, or holds its arrays: it stays */
} Mat_SeqAIJCUDA;

/* What all processes learn from each other in MatAssemblyBegin(): each but the last is true when it is on some process. */
typedef enum {
  FACT_HOST,        /* values were given to the parent, which has to assemble */
  FACT_OFF_PROCESS, /* values wait for other processes, */
  FACT_DEVICE,      /* some of them on the device, */
  FACT_NEW_PATTERN, /* or they do not fit the pattern of the last exchange */
  FACT_INSERT,      /* INSERT_VALUES was used */
  FACT_ADD,         /* ADD_VALUES was used */
  FACT_ERROR,       /* the largest error code of those that failed, 0: none did */
  NUM_ASSEMBLY_FACTS
} AssemblyFact;

/* The spptr of a parallel matrix of ours (field of Mat_MPIAIJ). */
typedef struct {
  struct _MatOps parent;    /* operations of MATMPIAIJ as this matrix last had them */
  struct _MatOps installed; /* the table as we last left it; what differs later was put there by the parent */
  PetscBool      no_device; /* no usable device on some process: bound to the CPU for good */

  DCSRStage       stage[2];                  /* values on their way to the diagonal block and, with global columns, to the off-diagonal one; NULL until the first */
  InsertMode      stage_mode;                /* of what is in the stages */
  OffProcessStash off_process;               /* what the next assembly sends */
  PetscInt       *indices;                   /* [num_indices] scratch for the indices of a block, owned */
  PetscInt        num_indices;               /* its length */
  PetscBool       device_assembly;           /* values go to the device; the same on all processes */
  PetscBool       first_assembly;            /* from MatMPIAIJCUDASetEmpty() to the end of the assembly, which goes on as it began when the matrix is bound to the CPU meanwhile; not A->assembled,
                                                which MATMPIAIJ changes on single processes when it disassembles */
  PetscBool       host_inserted;             /* values of this assembly were given to the parent */
  PetscBool       columns_changed;           /* garray has columns that the scatter of products does not know yet */
  int             facts[NUM_ASSEMBLY_FACTS]; /* of the assembly under way; meaningful between its begin and its end, and then the same on all processes */
  PetscInt        row_access;                /* depth of MatGetRowUpperTriangular(); meanwhile matrix and blocks count as bound to the CPU */
  PetscBool       row_access_bound;          /* whether they were bound before that */
} Mat_MPIAIJCUDA;

static inline Mat_SeqAIJCUDA *MatSeqAIJCUDAGet(Mat A)
{
  return (Mat_SeqAIJCUDA *)A->spptr;
}

static inline Mat_MPIAIJCUDA *MatMPIAIJCUDAGet(Mat A)
{
  return (Mat_MPIAIJCUDA *)((Mat_MPIAIJ *)A->data)->spptr;
}

/* Whether the structure on the host is made at once after every change of a sequential matrix of ours that is no block of a parallel one. */
static inline PetscBool MatSeqAIJCUDAKeepsStructure(Mat A)
{
  return (PetscBool)(MatSeqAIJCUDAGet(A)->eager || MatSeqAIJCUDAGet(A)->keeps_structure);
}

/* Calls that go up the house: what a room needs of one above it. The table is filled where all rooms are known (src/init/hooks.c). */
typedef struct {
  PetscErrorCode (*finish_insertion_seq)(Mat);                      /* entries on their way to the device join the matrix before the mirror or the device copy is used */
  PetscErrorCode (*finish_insertion_mpi)(Mat);                      /* the same for the blocks of a parallel matrix */
  PetscErrorCode (*from_seqaij)(Mat, MatType, MatReuse, Mat *);     /* conversions that make a matrix of the type, and MATAIJ of it, */
  PetscErrorCode (*from_mpiaij)(Mat, MatType, MatReuse, Mat *);     /* for blocks that the parent makes, and for conversions by way of MATAIJ; */
  PetscErrorCode (*to_seqaij)(Mat, MatType, MatReuse, Mat *);       /* the MatType is not looked at */
  PetscErrorCode (*to_mpiaij)(Mat, MatType, MatReuse, Mat *);
  PetscErrorCode (*restore_composed)(Mat, MatType);                 /* puts the parent's composed functions back into a MATSEQAIJ that was made of the header of a matrix of this type */
} MatAIJCUDAHooks;
PETSC_INTERN const MatAIJCUDAHooks MatAIJCUDAHook;

/* Which of our types a matrix is. */
PETSC_INTERN PetscErrorCode MatIsSeqAIJCUDA(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatIsMPIAIJCUDA(Mat, PetscBool *);

/* Mirror (mirror.c): any matrix may be given; others than ours are left alone, parallel ones are treated block by block. */
PETSC_INTERN PetscErrorCode MatAIJCUDAHostBegin(Mat, int);
PETSC_INTERN PetscErrorCode MatAIJCUDAHostEnd(Mat, int);
PETSC_INTERN PetscErrorCode MatAIJCUDAArrayBegin(Mat, int);
PETSC_INTERN PetscErrorCode MatAIJCUDAArrayEnd(Mat, int);
PETSC_INTERN PetscErrorCode MatAIJCUDAHostFinish(Mat, int, PetscErrorCode);
PETSC_INTERN PetscErrorCode MatAIJCUDAHostBeginTwo(Mat, int, Mat, int);
PETSC_INTERN PetscErrorCode MatAIJCUDAHostFinishTwo(Mat, int, Mat, int, PetscErrorCode);
PETSC_INTERN PetscBool      MatAIJCUDAInHostCode(void);
PETSC_INTERN PetscErrorCode MatAIJCUDAShowToReader(Mat, int);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAKeepStructure(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUpdateKept(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADiscardMirror(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAShowMirror(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAHideMirror(Mat);
/* Device copy (mirror.c), sequential matrices of ours only. */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAUseDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACopyToDevice(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACompact(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADropDevice(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADropPlans(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDADeviceChanged(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAValuesChanged(Mat, MatDeviceValues);
PETSC_INTERN PetscBool      MatSeqAIJCUDADeviceIsCurrent(Mat);
/* New storage, structure or values (replace.c), sequential matrices of ours only. */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAStructureOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetDeviceMatrix(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetEmpty(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAStructureChanged(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACreateFromView(Mat, PetscInt, PetscInt, DCSRView *, Mat *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDATakeValues(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAReuseView(Mat, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetRowLimits(Mat, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAGetRowLimits(Mat, const PetscInt *[]);
/* The same for parallel matrices (mpireplace.c) */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAStructureOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDADestroyInsertion(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetEmpty(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetBlocks(Mat, DCSRView[], PetscInt, const int32_t[]);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetBlock(Mat, PetscBool, DCSRView *);

/* Thunks (thunks.c, mpithunks.c, mpiprepared.c) */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetThunks(Mat, struct _MatOps *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetThunks(Mat, struct _MatOps *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetMultOps(Mat, struct _MatOps *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetEntriesOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetBlockTypes(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAUpdateGhostVector(Mat);

/* Nonzero patterns of lists of coordinates (coopattern.c) */
typedef struct _n_MatCOOPattern *MatCOOPattern;

PETSC_INTERN PetscErrorCode MatCOOPatternCreate(Mat, const DCSRView *, MatCOOPattern *);
PETSC_INTERN PetscErrorCode MatCOOPatternAttach(Mat, const char[], MatCOOPattern *);
PETSC_INTERN PetscErrorCode MatCOOPatternCheck(Mat, const char[], PetscBool *);
PETSC_INTERN PetscErrorCode MatCOOPatternDestroy(MatCOOPattern *);

/* Conversions (conversions.c, impls/dcsr), and what -mat_seqaij_type does (subclasses.c) */
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJ_SeqAIJDCSRCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJ_MPIAIJDCSRCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJDCSRCUDA_SeqAIJ(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJDCSRCUDA_MPIAIJ(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatAIJCUDAConvertToAIJ(Mat, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_AIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvertFrom_AIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatSeqAIJSetType_AIJCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatCreate_MPIAIJ_AIJCUDA(Mat);
PETSC_INTERN PetscBool      MatAIJCUDAChangesType(Mat);
PETSC_INTERN PetscErrorCode MatAIJCUDASave(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatAIJCUDAForgetSaved(void);
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterSubclasses(void);

/* Insertion on the device (insert.c, coo.c) */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAInsertsOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAInsertBatch(Mat, const DCSRBatch *, InsertMode);
PETSC_INTERN DCSRNewEntries MatSeqAIJCUDANewEntries(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAInsertList(Mat, DCSRList *, const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAFinishInsertion(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACheckRowLimits(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACheckUnused(Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAFillsPreallocation(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatCopyHashToXAIJ_AIJCUDA(Mat, Mat);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetInsertOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatAIJCUDACheckIndices(PetscInt, const PetscInt[], PetscInt, const char[]);
PETSC_INTERN PetscErrorCode MatAIJCUDACheckPreallocation(PetscInt, PetscInt, PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAInsertsOnDevice(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAParentSetPreallocation(Mat, PetscInt, const PetscInt[], PetscInt, const PetscInt[]);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAInsertOffDiagonal(Mat, DCSRList *, const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAFinishInsertion(Mat);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAInsertEntries(Mat, PetscCount, const PetscInt[], const PetscInt[], const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatAssemblyEndDevice_MPIAIJCUDA(Mat, MatAssemblyType, PetscBool *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetInsertOps(Mat, struct _MatOps *);
PETSC_INTERN PetscErrorCode MatSetPreallocationCOO_SeqAIJCUDA_Device(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatSetValuesCOO_SeqAIJCUDA_Device(Mat, const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatSetPreallocationCOO_MPIAIJCUDA_Device(Mat, PetscCount, PetscInt[], PetscInt[]);
PETSC_INTERN PetscErrorCode MatSetValuesCOO_MPIAIJCUDA_Device(Mat, const PetscScalar[], InsertMode);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDABuildView(Mat, DCSRList *, cudaStream_t, DCSRView *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetListValues(Mat, const DCSRList *, const PetscScalar[], const PetscScalar[], PetscCount, InsertMode);
PETSC_INTERN PetscErrorCode MatCOODevice_Remove(Mat);
PETSC_INTERN PetscErrorCode MatCOODevice_Has(Mat, PetscBool *);
PETSC_INTERN PetscErrorCode MatCOODevice_Check(Mat);
PETSC_INTERN PetscErrorCode PetscSparseCUDAGetDeviceCopy(const void *, size_t, cudaStream_t, const void **, void **);

/* Vectors of any memory type as device arrays (vectors.c) */
typedef enum {
  ARRAY_READ,
  ARRAY_WRITE, /* the old entries are not used */
  ARRAY_READ_WRITE
} ArrayAccess;

/* A device pointer to the local entries of a vector of any memory type, and what it takes to give them back. */
typedef struct {
  Vec          v; /* NULL: nothing to give back */
  ArrayAccess  access;
  PetscScalar *device; /* what kernels use */
  PetscScalar *host;   /* the vector's own array when it lives on the host, else NULL */
  PetscInt     n;      /* local entries */
} DeviceArray;

PETSC_INTERN PetscErrorCode GetDeviceArray(Mat, Vec, PetscInt, ArrayAccess, HostVecBuffer *, cudaStream_t, DeviceArray *);
PETSC_INTERN PetscErrorCode RestoreDeviceArray(DeviceArray *, cudaStream_t, PetscErrorCode);
PETSC_INTERN PetscErrorCode EndGpuTime(PetscErrorCode);

/* Scatters (scatter.c) */
PETSC_INTERN PetscErrorCode MatMPIAIJCUDAUseCurrentStream(Mat);

/* Products with vectors (mult.c), operations entry by entry (entries.c) */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetMultOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetEntriesOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAPrepareMult(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatColumnSumsAbs_SeqAIJCUDA(Mat, Vec);
PETSC_INTERN PetscErrorCode MatAIJCUDAShowRowSums(Vec);
PETSC_INTERN PetscErrorCode MatHost_SeqAIJCUDA_copy(Mat, Mat, MatStructure);

/* Transposes and submatrices on the device (transpose.c, submatrix.c, mpitranspose.c, mpisubmatrix.c) */
PETSC_INTERN PetscErrorCode MatAIJCUDAGetIndices(IS, PetscInt, const char[], cudaStream_t, DCSRIndices *, PetscInt **);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDAGetSubmatrixView(Mat, IS, IS, DCSRView *);
PETSC_INTERN PetscErrorCode MatIsTransposeDevice_SeqAIJCUDA(Mat, Mat, PetscReal, PetscBool, PetscBool *, PetscBool *);
PETSC_INTERN PetscErrorCode MatIsTranspose_SeqAIJCUDA(Mat, Mat, PetscReal, PetscBool *);
PETSC_INTERN PetscErrorCode MatIsHermitianTranspose_SeqAIJCUDA(Mat, Mat, PetscReal, PetscBool *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetTransposeOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetSubmatrixOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetTransposeOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetSubmatrixOps(struct _MatOps *);
/* Sums (axpy.c) */
PETSC_INTERN PetscErrorCode MatAXPY_SeqAIJCUDA(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatAXPY_MPIAIJCUDA(Mat, PetscScalar, Mat, MatStructure);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDACompleteDiagonal(Mat);

/* hypre (hypre.c) */
PETSC_INTERN PetscErrorCode MatAIJCUDABoundBegin(Mat, PetscBool[3]);
PETSC_INTERN PetscErrorCode MatAIJCUDABoundEnd(Mat, const PetscBool[3]);
PETSC_INTERN PetscErrorCode MatAIJCUDAComposeHYPRE(Mat, PetscBool);

/* Loops over rows on the host (rowaccess.c) */
PETSC_INTERN PetscErrorCode MatAIJCUDASetRowAccessOps(struct _MatOps *, PetscBool);

/* Device deletion (delete.c) */
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetDeletionOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatMPIAIJCUDASetDeletionOps(struct _MatOps *);
PETSC_INTERN PetscErrorCode MatZeroRows_MPIAIJCUDA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);
PETSC_INTERN PetscErrorCode MatEliminateZeros_MPIAIJCUDA(Mat, PetscBool);
PETSC_INTERN PetscErrorCode MatZeroRowsColumns_MPIAIJCUDA(Mat, PetscInt, const PetscInt[], PetscScalar, Vec, Vec);

/* Products, graphs, factors, array hooks */
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJCUDA(Mat);
PETSC_INTERN PetscErrorCode MatProductSetFromOptions_AIJCUDA_Mixed(Mat);
PETSC_INTERN PetscErrorCode MatCreateGraph_AIJCUDA(Mat, PetscBool, PetscBool, PetscReal, PetscInt, PetscInt[], Mat *);
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterFactors(MatType);
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterNestedFactors(void);
PETSC_INTERN PetscErrorCode MatAIJCUDARegisterForeign(void);
PETSC_INTERN PetscErrorCode MatAIJCUDAListen(void);
PETSC_INTERN PetscErrorCode MatSeqAIJCUDASetArrayHooks(Mat);
