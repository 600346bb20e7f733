/*
  The stage. Values of MatSetValues() come as value blocks, a dense block of rows and columns a call, and are copied into one of two pinned buffers. A full buffer travels
  to the device and becomes keys and values there while the caller fills the other one. What has arrived waits on the device until it is taken, in program order, one
  chunk a buffer: memory for it is neither copied nor held in reserve as it grows.

  A buffer holds the value blocks' indices and values from its front and their descriptions from its end. A 4 x 4 value block takes 11 bytes a value.
*/
#include <petscsparsecuda/insert.h>
#include <petscsparsecuda/report.h>

#define STAGE_FIRST_BYTES ((size_t)1 << 18) /* Small matrices do not pay for large buffers: the first ones have this size, and they grow fourfold. */
#define STAGE_ALIGNMENT   16
#define MAX_SPARE         8 /* First buffers of destroyed stages wait for the next matrices. Pinning and unpinning one takes longer than filling it. */

static char     *spare[MAX_SPARE]; /* [num_spare] pinned, of STAGE_FIRST_BYTES each */
static PetscInt  num_spare    = 0;
static PetscBool keeps_spares = PETSC_FALSE; /* whether PetscFinalize() will free them */

typedef struct {
  char       *host;       /* [bytes] pinned, owned; NULL until first used */
  size_t      bytes;      /* of it */
  size_t      front;      /* bytes of indices and values */
  PetscCount  num_blocks; /* descriptions at the end, growing downwards */
  PetscCount  num_values; /* values in the value blocks */
  cudaEvent_t sent;       /* recorded when the device has read the host buffer */
  PetscBool   busy;       /* sent was recorded and not waited for */
} StageBuffer;

/* What came out of one buffer. Arrays are owned. */
typedef struct {
  PetscCount   n;
  uint64_t    *keys;   /* [n] device; NULL when n is 0 */
  PetscScalar *values; /* [n] device; NULL when n is 0 */
} StageChunk;

struct _n_DCSRStage {
  StageBuffer     buffers[2];
  int             current;   /* the one that is filled */
  size_t          max_bytes; /* of a buffer */
  DCSRStageFormat format;    /* of the value blocks in the current buffer */
  PetscCount      n;         /* entries that wait on the device */
  StageChunk     *chunks;    /* [max_chunks] where they wait, in program order, owned; NULL until the first */
  PetscInt        num_chunks, max_chunks;
};

static PetscErrorCode FreeSpare(void)
{
  PetscFunctionBegin;
  keeps_spares = PETSC_FALSE;
  while (num_spare > 0) PetscCallCUDA(cudaFreeHost(spare[--num_spare]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gives pinned memory of a buffer back, or keeps it. */
static PetscErrorCode ReleaseHost(char *host, size_t bytes)
{
  PetscFunctionBegin;
  if (keeps_spares && bytes == STAGE_FIRST_BYTES && num_spare < MAX_SPARE) spare[num_spare++] = host;
  else PetscCallCUDA(cudaFreeHost(host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BufferDestroy(StageBuffer *b)
{
  PetscFunctionBegin;
  if (b->busy) PetscCallCUDA(cudaEventSynchronize(b->sent));
  if (b->sent != NULL) PetscCallCUDA(cudaEventDestroy(b->sent));
  if (b->host != NULL) PetscCall(ReleaseHost(b->host, b->bytes));
  PetscCall(PetscArrayzero(b, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BufferCreate(StageBuffer *b, size_t bytes)
{
  cudaError_t    error;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (!keeps_spares) {
    PetscCall(PetscRegisterFinalize(FreeSpare));
    keeps_spares = PETSC_TRUE;
  }
  b->bytes = bytes;
  if (bytes == STAGE_FIRST_BYTES && num_spare > 0) {
    b->host = spare[--num_spare];
    error   = cudaSuccess;
  } else error = cudaHostAlloc((void **)&b->host, bytes, cudaHostAllocDefault);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    b->host  = NULL;
    b->bytes = 0;
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "No %zu bytes of pinned host memory to stage inserted values; -mat_dcsr_stage_size makes it smaller", bytes);
  }
  PetscCallCUDAGoto(ierr, failed, cudaEventCreateWithFlags(&b->sent, cudaEventDisableTiming));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(BufferDestroy(b));
  PetscFunctionReturn(ierr);
}

/* DCSRStageCreate - an empty stage, to be freed with DCSRStageDestroy(); max_bytes: of each of its two pinned buffers and of their images on the device */
PetscErrorCode DCSRStageCreate(size_t max_bytes, DCSRStage *stage)
{
  PetscFunctionBegin;
  PetscCall(PetscNew(stage));
  (*stage)->max_bytes = PetscMax(max_bytes, STAGE_FIRST_BYTES) / STAGE_ALIGNMENT * STAGE_ALIGNMENT;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ChunkDestroy(StageChunk *c, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&c->keys, stream));
  PetscCall(PetscSparseCUDAFree(&c->values, stream));
  c->n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A chunk of n entries behind the last one, which is in use when num_chunks says so. */
static PetscErrorCode ChunkCreate(DCSRStage s, PetscCount n, cudaStream_t stream, StageChunk **chunk)
{
  StageChunk    *c;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (s->num_chunks == s->max_chunks) {
    const PetscInt max_chunks = PetscMax(2 * s->max_chunks, 8);

    PetscCall(PetscRealloc((size_t)max_chunks * sizeof(*s->chunks), &s->chunks));
    s->max_chunks = max_chunks;
  }
  c    = &s->chunks[s->num_chunks];
  c->n = n;
  PetscCall(PetscSparseCUDAMalloc(n, "keys of inserted entries", stream, &c->keys));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(n, "values of inserted entries", stream, &c->values));
  *chunk = c;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(ChunkDestroy(c, stream));
  PetscFunctionReturn(ierr);
}

/* Sends the current buffer and goes on with the other one. */
static PetscErrorCode Send(DCSRStage s, cudaStream_t stream)
{
  StageBuffer *const b           = &s->buffers[s->current];
  const size_t       block_bytes = (size_t)b->num_blocks * sizeof(DCSRValueBlock);
  char              *device      = NULL; // the buffer's image, for as long as the kernel reads it
  StageChunk        *chunk       = NULL;
  PetscErrorCode     ierr;

  PetscSparseCUDAReportScope outer;

  PetscFunctionBegin;
  if (b->num_blocks == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(ChunkCreate(s, b->num_values, stream, &chunk));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(b->front + block_bytes, "staging of inserted values", stream, &device));
  PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(device, b->host, b->front, cudaMemcpyHostToDevice, stream));
  PetscCallCUDAGoto(ierr, failed, cudaMemcpyAsync(device + b->front, b->host + b->bytes - block_bytes, block_bytes, cudaMemcpyHostToDevice, stream));
  PetscCallCUDAGoto(ierr, failed, cudaEventRecord(b->sent, stream));
  b->busy = PETSC_TRUE;
  PetscCall(PetscLogCpuToGpu((PetscLogDouble)(b->front + block_bytes)));
  outer = PetscSparseCUDAReportEnter(REPORT_INSERTION, NULL);
  PetscSparseCUDAReportCopy(PETSC_FALSE, b->front + block_bytes, 0); // the host does not wait for it
  PetscSparseCUDAReportLeave(outer);
  PetscCallGoto(ierr, failed,
                DCSRExpandValueBlocks(&s->format, (const DCSRValueBlock *)(device + b->front), b->num_blocks, b->num_values, (const PetscScalar *)device, chunk->keys, chunk->values, stream));
  PetscCall(PetscSparseCUDAFree(&device, stream));
  s->num_chunks++;
  s->n += b->num_values;
  b->front      = 0;
  b->num_blocks = 0;
  b->num_values = 0;
  s->current    = 1 - s->current;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&device, stream));
  PetscCall(ChunkDestroy(chunk, stream));
  PetscFunctionReturn(ierr);
}

/* Bytes of the indices of a value block, with padding. */
static inline size_t IndexBytes(PetscInt m, PetscInt n)
{
  return (((size_t)m + (size_t)n) * sizeof(PetscInt) + sizeof(PetscScalar) - 1) / sizeof(PetscScalar) * sizeof(PetscScalar);
}

/* Whether a value block of so many bytes fits behind what is in a buffer. */
static inline PetscBool HasRoom(const StageBuffer *b, size_t bytes)
{
  return (PetscBool)(b->front + bytes + (size_t)(b->num_blocks + 1) * sizeof(DCSRValueBlock) <= b->bytes);
}

static PetscErrorCode WaitFor(StageBuffer *b)
{
  PetscFunctionBegin;
  if (b->busy) PetscCallCUDA(cudaEventSynchronize(b->sent));
  b->busy = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A current buffer with room for a value block of so many bytes beside what is in it. */
static PetscErrorCode GetRoom(DCSRStage s, size_t bytes, cudaStream_t stream)
{
  StageBuffer *b = &s->buffers[s->current];
  size_t       want;

  PetscFunctionBegin;
  PetscCall(WaitFor(b));
  if (b->bytes > 0 && HasRoom(b, bytes)) PetscFunctionReturn(PETSC_SUCCESS);
  want = b->num_blocks > 0 ? PetscMin(4 * b->bytes, s->max_bytes) : STAGE_FIRST_BYTES;
  want = PetscMax(want, (bytes + sizeof(DCSRValueBlock) + STAGE_ALIGNMENT) / STAGE_ALIGNMENT * STAGE_ALIGNMENT); // one value block may be larger than any bound
  PetscCall(Send(s, stream));
  b = &s->buffers[s->current];
  PetscCall(WaitFor(b));
  if (b->bytes < want) {
    PetscCall(BufferDestroy(b));
    PetscCall(BufferCreate(b, want));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool SameFormat(const DCSRStageFormat *a, const DCSRStageFormat *b)
{
  return (PetscBool)(a->row_begin == b->row_begin && a->column_begin == b->column_begin && a->column_bits == b->column_bits && a->ignore_zeros == b->ignore_zeros && a->diagonal == b->diagonal);
}

/*
  DCSRStageReserve - room for a value block of m rows and n columns, which the caller writes himself
  indices [m + n], host: rows and behind them columns. values [m n], host. Nothing is staged before DCSRStageCommit(), which has to be the next call for this stage, or never.
  Returns PETSC_FALSE when it takes more than the buffer that is being filled, or a value block that is not empty: DCSRStageAppend() finds another one.
*/
PetscBool DCSRStageReserve(DCSRStage stage, const DCSRStageFormat *format, PetscInt m, PetscInt n, PetscInt **indices, PetscScalar **values)
{
  const StageBuffer *b           = &stage->buffers[stage->current];
  const size_t       index_bytes = IndexBytes(m, n), num_values = (size_t)m * (size_t)n;

  if (num_values == 0 || num_values > b->bytes / sizeof(PetscScalar) || b->busy || !SameFormat(&stage->format, format) || !HasRoom(b, index_bytes + num_values * sizeof(PetscScalar)))
    return PETSC_FALSE;
  *indices = (PetscInt *)(b->host + b->front);
  *values  = (PetscScalar *)(b->host + b->front + index_bytes);
  return PETSC_TRUE;
}

/* DCSRStageCommit - stages the m x n value block that was written where DCSRStageReserve() said; by_columns: its values are stored column by column */
void DCSRStageCommit(DCSRStage stage, PetscInt m, PetscInt n, PetscBool by_columns)
{
  StageBuffer *const b          = &stage->buffers[stage->current];
  const size_t       num_values = (size_t)m * (size_t)n;
  DCSRValueBlock    *block      = (DCSRValueBlock *)(b->host + b->bytes) - (b->num_blocks + 1);

  // descriptions grow downwards, so that on the device they are in descending order of address: the newest comes first
  block->first_value = (uint32_t)b->num_values;
  block->word        = (uint32_t)(b->front / sizeof(PetscScalar));
  block->num_rows    = by_columns ? -(int32_t)m : (int32_t)m;
  block->num_columns = (int32_t)n;
  b->front += IndexBytes(m, n) + num_values * sizeof(PetscScalar);
  b->num_blocks++;
  b->num_values += (PetscCount)num_values;
}

/* Copies a value block that fits into a buffer. */
static PetscErrorCode Append(DCSRStage stage, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], PetscBool by_columns, cudaStream_t stream)
{
  const size_t num_values = (size_t)m * (size_t)n, index_bytes = IndexBytes(m, n);
  StageBuffer *b;
  char        *to;

  PetscFunctionBegin;
  PetscCall(GetRoom(stage, index_bytes + num_values * sizeof(PetscScalar), stream));
  b  = &stage->buffers[stage->current];
  to = b->host + b->front;
  memcpy(to, rows, (size_t)m * sizeof(PetscInt));
  memcpy(to + (size_t)m * sizeof(PetscInt), columns, (size_t)n * sizeof(PetscInt));
  if (v) memcpy(to + index_bytes, v, num_values * sizeof(PetscScalar));
  else memset(to + index_bytes, 0, num_values * sizeof(PetscScalar));
  DCSRStageCommit(stage, m, n, by_columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRStageAppend - copies a value block of m rows and n columns; full buffers are sent on the stream
  All arrays are on the host. v [m n], by_columns: stored column by column; NULL for zeros. A value block that is too large for a buffer becomes several, of whole rows, or of whole columns when values
  are stored by columns. A row or column that is too large is cut into parts.
  After PETSC_ERR_MEM the value block is not in the stage, but parts of it that came before may be. Cost: one copy on the host; waits only when both buffers are on their way.
*/
PetscErrorCode DCSRStageAppend(DCSRStage stage, const DCSRStageFormat *format, PetscInt m, const PetscInt rows[], PetscInt n, const PetscInt columns[], const PetscScalar v[], PetscBool by_columns,
                               cudaStream_t stream)
{
  const size_t   max_values = stage->max_bytes / (2 * sizeof(PetscScalar)); // the other half is for indices
  const PetscInt outer = by_columns ? n : m, inner = by_columns ? m : n;
  const PetscInt inner_step = (PetscInt)PetscMin((size_t)inner, max_values), outer_step = (PetscInt)PetscMin((size_t)outer, inner > inner_step ? 1 : max_values / (size_t)PetscMax(inner, 1));

  PetscFunctionBegin;
  if (m == 0 || n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (!SameFormat(&stage->format, format)) {
    PetscCall(Send(stage, stream));
    stage->format = *format;
  }
  for (PetscInt o = 0; o < outer; o += PetscMin(outer_step, outer - o)) {
    const PetscInt num_outer = PetscMin(outer_step, outer - o);

    for (PetscInt k = 0; k < inner; k += PetscMin(inner_step, inner - k)) { // once, unless there is one outer index
      const PetscInt     num_inner = PetscMin(inner_step, inner - k);
      const PetscScalar *values    = v == NULL ? NULL : v + (size_t)o * (size_t)inner + (size_t)k;

      if (by_columns) PetscCall(Append(stage, num_inner, rows + k, num_outer, columns + o, values, by_columns, stream));
      else PetscCall(Append(stage, num_outer, rows + o, num_inner, columns + k, values, by_columns, stream));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRStageCount - entries in the stage, on their way or waiting; a NULL stage has none */
PetscCount DCSRStageCount(DCSRStage stage)
{
  return stage == NULL ? 0 : stage->n + stage->buffers[stage->current].num_values;
}

/* One array for the keys of all chunks, which lose theirs. */
static PetscErrorCode JoinKeys(DCSRStage s, cudaStream_t stream, uint64_t **keys)
{
  PetscCount n = 0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(s->n, "keys of inserted entries", stream, keys));
  for (PetscInt k = 0; k < s->num_chunks; k++) {
    StageChunk *const c = &s->chunks[k];

    if (c->n > 0) PetscCallCUDA(cudaMemcpyAsync(*keys + n, c->keys, (size_t)c->n * sizeof(**keys), cudaMemcpyDeviceToDevice, stream));
    PetscCall(PetscSparseCUDAFree(&c->keys, stream));
    n += c->n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for values. */
static PetscErrorCode JoinValues(DCSRStage s, cudaStream_t stream, PetscScalar **values)
{
  PetscCount n = 0;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(s->n, "values of inserted entries", stream, values));
  for (PetscInt k = 0; k < s->num_chunks; k++) {
    StageChunk *const c = &s->chunks[k];

    if (c->n > 0) PetscCallCUDA(cudaMemcpyAsync(*values + n, c->values, (size_t)c->n * sizeof(**values), cudaMemcpyDeviceToDevice, stream));
    PetscCall(PetscSparseCUDAFree(&c->values, stream));
    n += c->n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRStageTake - hands over all n entries, in program order, for work queued on the stream; the stage is empty afterwards, and can only be destroyed after an error
  keys and values [n], device: the caller frees them, also after an error. All bits of a key are set where an entry does not count.
  Cost: one copy of what came in several chunks. Memory: 24 bytes an entry for that time, first the keys and then the values.
*/
PetscErrorCode DCSRStageTake(DCSRStage stage, cudaStream_t stream, PetscCount *n, uint64_t **keys, PetscScalar **values)
{
  PetscFunctionBegin;
  *n      = 0;
  *keys   = NULL;
  *values = NULL;
  PetscCall(Send(stage, stream));
  if (stage->num_chunks == 1) {
    *keys   = stage->chunks[0].keys;
    *values = stage->chunks[0].values;
  } else {
    PetscCall(JoinKeys(stage, stream, keys));
    PetscCall(JoinValues(stage, stream, values));
  }
  *n                = stage->n;
  stage->n          = 0;
  stage->num_chunks = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRStageDestroy - frees a stage and what is in it; NULL is fine, and *stage is NULL afterwards */
PetscErrorCode DCSRStageDestroy(DCSRStage *stage, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (*stage == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BufferDestroy(&(*stage)->buffers[0]));
  PetscCall(BufferDestroy(&(*stage)->buffers[1]));
  for (PetscInt k = 0; k < (*stage)->num_chunks; k++) PetscCall(ChunkDestroy(&(*stage)->chunks[k], stream));
  PetscCall(PetscFree((*stage)->chunks));
  PetscCall(PetscFree(*stage));
  PetscFunctionReturn(PETSC_SUCCESS);
}
