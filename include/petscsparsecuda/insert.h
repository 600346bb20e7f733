#pragma once
/*
  Insertion: lists of entries (row, column) in device memory, in any order and with repeats, become sorted lists, and sorted lists become compact storage or are inserted into storage.
*/
#include <petscsparsecuda/common.h>
#include <petscsparsecuda/dcsr.h>

/* Which entries of a list count, and what their columns become. Rows and columns are given in global numbering; negative ones are ignored. */
typedef struct {
  PetscInt  num_global_rows, num_global_columns; /* indices from here on are errors */
  PetscInt  row_begin, row_end;                  /* rows that count; the row of a key is counted from row_begin */
  PetscInt  column_begin, column_end;            /* columns that count; the column of a key is counted from column_begin */
  PetscBool outside;                             /* columns outside of this range count instead, and keep their global number */
} DCSRWindow;

#define DCSR_LIST_ROW 40 /* entries of a row that is sorted by itself; at most 64: the places by which one moves in two such rows are bytes */

/* What one pass over the keys of a list learns. */
typedef struct {
  unsigned long long num_ignored; /* entries that do not count */
  unsigned long long bad_end;     /* num_given - k of the first entry k with an index that is too large; 0 when there is none */
  unsigned int       unsorted;    /* some key is smaller than the one before it */
  unsigned int       repeated;    /* some key equals the one before it */
  unsigned int       scattered;   /* some row is smaller than the one before it or has more entries than DCSR_LIST_ROW, those that do not count included, or some row is not known */
} DCSRListFacts;

/*
  Entries of a host list that travel to the device at a time. Their 64 MiB of 32-bit indices take more than 1 ms on the bus: starting the threads of a copy does not matter
  beside that. The memory is free again when the sort begins, which wants 16 bytes an entry beside the keys.
*/
#define DCSR_LIST_CHUNK ((PetscCount)16 << 20)

/* A list that is being handed over: its entries become keys, chunk by chunk. Device arrays are owned. */
typedef struct {
  DCSRWindow     window;
  int            column_bits; /* keys are row << column_bits | column */
  PetscCount     num_given;   /* entries of the whole list */
  PetscCount     num_packed;  /* entries that are keys by now */
  uint64_t      *keys;        /* [num_given] in the order of the list, all bits set where an entry does not count; NULL when num_given is 0 and when a list has taken them */
  DCSRListFacts *facts;       /* device: about the keys by now; NULL when num_given is 0 */

  /* After DCSRListPackerSplit(). */
  PetscBool wide;      /* the next two are int64_t; PETSC_FALSE: int32_t */
  void     *positions; /* [num_given] which entries count, and from the end on which do not; NULL: they were not split, or all count */
  void     *map;       /* [num_given] where the entries came from, of those that did not count; NULL otherwise */
} DCSRListPacker;

/* A sorted list of entries and where each came from. Device arrays are owned. */
typedef struct {
  PetscCount num_given;    /* entries of the unsorted list */
  PetscCount num_entries;  /* entries that count */
  PetscCount num_distinct; /* different ones among them */
  int        column_bits;  /* keys are row << column_bits | column */
  PetscBool  wide;         /* order and runs are int64_t; PETSC_FALSE: int32_t */
  PetscBool  may_repeat;   /* nobody has looked for runs yet: num_distinct is num_entries and runs is NULL, whatever the entries */
  uint64_t  *keys;         /* [num_entries] ascending; NULL after DCSRListForgetKeys() and when num_entries is 0 */
  void      *order;        /* [num_entries] position in the unsorted list, ascending among equal keys; NULL: there are shifts, or the list was sorted and all of it counts, or none of it */
  int8_t    *shifts;       /* [num_entries] the same less the position in the sorted list, where that fits; NULL: there is an order, or none is needed */
  void      *runs;         /* [num_distinct + 1] first entry with each key; NULL: no repeats */
  PetscCount num_long_runs;
  void      *long_runs; /* [num_long_runs] distinct entries with more repeats than a thread should add up; NULL when there are none */
} DCSRList;

/* The distinct entries of a sorted list with their values. Device arrays are owned. */
typedef struct {
  PetscCount     num_entries;
  int            column_bits;
  uint64_t      *keys;   /* [num_entries] ascending, distinct */
  PetscScalar   *values; /* [num_entries] */
  unsigned char *counts; /* [num_entries] whether the entry is to be made: zeros off the diagonal are not; NULL: all are */
} DCSRBatch;

/* What to do with an entry that is not there yet. */
typedef enum {
  DCSR_NEW_ALLOW,
  DCSR_NEW_IGNORE,
  DCSR_NEW_FORBID
} DCSRNewEntries;

/* How new entries may be appended to the rows of a matrix, instead of being merged with all its entries. */
typedef struct {
  PetscReal slack;        /* unused entries behind a new segment, as a part of the row's entries; pools made anew have twice as much room */
  PetscInt  max_segments; /* segments that a row may have, 1 to DCSR_MAX_SEGMENTS; 1: nothing is appended */
} DCSRAppendRule;

/* What an insertion did. */
typedef struct {
  PetscCount num_new;         /* entries that were not there */
  PetscInt   row, column;     /* DCSR_NEW_FORBID with num_new > 0: the first of them; nothing was changed then */
  PetscBool  structure_grown; /* new entries were inserted */
  PetscBool  storage_changed; /* entries lie elsewhere, or storage is of the other kind: what was made of the old one is of no use */
  PetscBool  appended;        /* but all old entries of compact storage, or of the base, lie where they were: that is the base now */
} DCSRInsertInfo;

#define DCSR_SMALL_LIST 1024 /* entries of a list that one thread block handles */

/* A list in any order, with its values, that is short. Device arrays are the caller's. */
typedef struct {
  PetscCount         n;              /* entries */
  const uint64_t    *keys;           /* [n] row << column_bits | column, all bits set: ignored; NULL: rows and columns are given instead */
  DCSRWindow         window;         /* which rows and columns count; not read when there are keys */
  const PetscInt    *rows, *columns; /* [n] global indices, negative: ignored; NULL when there are keys */
  const PetscScalar *values;         /* [n] */
  int                column_bits;    /* of a key */
  int                key_bits;       /* of a key in all, less than 64 */
  PetscBool          ignore_zeros;   /* zeros make no entries but on the diagonal */
  PetscInt           diagonal;       /* column of the diagonal entry of row 0, DCSR_NO_DIAGONAL when there is no diagonal */
} DCSRSmallList;

/* Values of MatSetValues() on their way to the device, in program order. */
typedef struct _n_DCSRStage *DCSRStage;

#define DCSR_NO_DIAGONAL PETSC_INT_MIN

/* How the value blocks that are appended from now on are read. */
typedef struct {
  PetscInt  row_begin, column_begin; /* subtracted from the indices */
  int       column_bits;             /* keys are row << column_bits | column */
  PetscBool ignore_zeros;            /* entries that are zero and off the diagonal do not count */
  PetscInt  diagonal;                /* column of the diagonal entry of row 0, both counted from the begins; DCSR_NO_DIAGONAL when there is none */
} DCSRStageFormat;

/* A value block as it lies in a staging buffer: the rows, columns and values of one MatSetValues(). */
typedef struct {
  uint32_t first_value; /* values in the value blocks before it */
  uint32_t word;        /* where its rows, columns and values begin, in units of PetscScalar */
  int32_t  num_rows;    /* negative: values by columns */
  int32_t  num_columns;
} DCSRValueBlock;

PETSC_INTERN PetscErrorCode DCSRStageCreate(size_t max_bytes, DCSRStage *stage);
PETSC_INTERN PetscErrorCode DCSRStageAppend(DCSRStage stage, const DCSRStageFormat *format, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[],
                                            PetscBool by_columns, cudaStream_t stream);
PETSC_INTERN PetscBool      DCSRStageReserve(DCSRStage stage, const DCSRStageFormat *format, PetscInt m, PetscInt n, PetscInt **indices, PetscScalar **values);
PETSC_INTERN void           DCSRStageCommit(DCSRStage stage, PetscInt m, PetscInt n, PetscBool by_columns);
PETSC_INTERN PetscErrorCode DCSRStageTake(DCSRStage stage, cudaStream_t stream, PetscCount *n, uint64_t **keys, PetscScalar **values);
PETSC_INTERN PetscCount     DCSRStageCount(DCSRStage stage);
PETSC_INTERN PetscErrorCode DCSRStageDestroy(DCSRStage *stage, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRExpandValueBlocks(const DCSRStageFormat *format, const DCSRValueBlock blocks[], PetscCount num_blocks, PetscCount n, const PetscScalar words[], uint64_t keys[],
                                                  PetscScalar values[], cudaStream_t stream);

PETSC_INTERN PetscErrorCode DCSRListPackerCreate(const DCSRWindow *window, PetscCount n, cudaStream_t stream, DCSRListPacker *packer);
PETSC_INTERN PetscErrorCode DCSRListPackerAppend(DCSRListPacker *packer, PetscCount n, const PetscInt rows[], const PetscInt columns[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListPackerAppendFromHost(DCSRListPacker *packer, PetscCount n, const PetscInt rows[], const PetscInt columns[], PetscCount chunk, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListPackerSplit(DCSRListPacker *packer, const DCSRWindow *window, const PetscInt *const rows[2], const PetscInt *const columns[2], PetscCount split,
                                                cudaStream_t stream, DCSRListPacker *rest);
PETSC_INTERN PetscErrorCode DCSRListPackerFinish(DCSRListPacker *packer, cudaStream_t stream, DCSRList *list);
PETSC_INTERN PetscErrorCode DCSRListPackerDestroy(DCSRListPacker *packer, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListCreate(const DCSRWindow *window, PetscCount n, const PetscInt rows[], const PetscInt columns[], cudaStream_t stream, DCSRList *list);
PETSC_INTERN PetscErrorCode DCSRListCreateFromKeys(PetscInt num_rows, int column_bits, PetscCount n, uint64_t **keys, cudaStream_t stream, DCSRList *list);
PETSC_INTERN PetscErrorCode DCSRListAllocateOrder(DCSRList *list, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListFillOrder(DCSRList *list, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListSort(DCSRList *list, int bits, const DCSRListFacts *facts, PetscBool mapped, void **positions, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListSplit(const uint64_t keys[], PetscCount n, PetscCount num, const PetscInt *const rows[2], const PetscInt *const columns[2], PetscCount split, cudaStream_t stream,
                                          void **positions, void **map, PetscInt *rest[2]);
PETSC_INTERN PetscErrorCode DCSRListFindRuns(DCSRList *list, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListForgetKeys(DCSRList *list, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListDestroy(DCSRList *list, cudaStream_t stream);
/* v [split] are values of the unsorted list and more [num_given - split] its further ones, or NULL. last: the last of equal entries counts, not their sum. add: result [num_distinct] is added to. */
PETSC_INTERN PetscErrorCode DCSRListReduce(const DCSRList *list, const PetscScalar v[], const PetscScalar more[], PetscCount split, PetscBool last, PetscBool add, PetscScalar result[],
                                           cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListFlagNonzeros(const DCSRList *list, const PetscScalar v[], const uint64_t keys[], PetscInt diagonal, unsigned char flags[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListBuild(const DCSRList *list, DCSRView to, cudaStream_t stream);

/*
  v [num_given] are values of the unsorted list. last: the last of equal entries counts, not their sum. ignore_zeros: zeros make no entries but on the diagonal, whose entry in row 0 has column
  diagonal.
*/
PETSC_INTERN PetscErrorCode DCSRBatchCreate(DCSRList *list, const PetscScalar v[], PetscBool last, PetscBool ignore_zeros, PetscInt diagonal, cudaStream_t stream, DCSRBatch *batch);
PETSC_INTERN PetscErrorCode DCSRBatchDestroy(DCSRBatch *batch, cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRInsertBatch(DCSRView *view, const DCSRBatch *batch, InsertMode mode, DCSRNewEntries policy, const DCSRAppendRule *rule, cudaStream_t stream, DCSRInsertInfo *info);
/* sorted entries that are not in from (merge.cu) */
PETSC_INTERN PetscErrorCode DCSRMergeListed(DCSRView from, DCSRView to, PetscCount num, const int32_t entries[], const int32_t before[], const int32_t columns[], const PetscScalar values[],
                                            cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRInsertSmall(DCSRView *view, const DCSRSmallList *list, InsertMode mode, DCSRNewEntries policy, const DCSRAppendRule *rule, cudaStream_t stream, DCSRInsertInfo *info,
                                            DCSRBatch *batch, PetscBool *done);

/* Columns of off-diagonal blocks (columns.cu), entries for other processes (select.cu, owner.cu). */
PETSC_INTERN PetscErrorCode DCSRBatchGetColumns(const DCSRBatch *batch, cudaStream_t stream, PetscInt *num, int32_t **columns);
PETSC_INTERN PetscErrorCode DCSRViewGetColumns(DCSRView view, int bits, cudaStream_t stream, PetscInt *num, int32_t **columns);
PETSC_INTERN PetscErrorCode DCSRBatchKeepColumns(DCSRBatch *batch, PetscInt n, const int32_t sorted[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRBatchRenumber(DCSRBatch *batch, PetscInt n, const int32_t sorted[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRViewRenumber(DCSRView view, PetscInt n, const int32_t sorted[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRViewMapColumns(DCSRView view, const int32_t map[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRListRemote(PetscInt row_begin, PetscInt row_end, PetscCount n, const PetscInt rows[], const PetscInt columns[], const PetscScalar values[], cudaStream_t stream,
                                           PetscCount *num, PetscCount **where);
PETSC_INTERN PetscErrorCode DCSRGatherIndices(PetscCount n, const PetscCount where[], const PetscInt from[], PetscInt to[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRGatherValues(PetscCount n, const PetscCount where[], const PetscScalar from[], PetscScalar to[], cudaStream_t stream);
PETSC_INTERN PetscErrorCode DCSRSortByOwner(PetscInt num_owners, const PetscInt ranges[], PetscCount n, const PetscCount where[], const PetscInt rows[], cudaStream_t stream, PetscCount **order,
                                            PetscInt starts[]);
