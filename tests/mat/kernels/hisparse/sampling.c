static char help[] = "Sampling that nobody waits for: it counts what a sample counts that the host waits for, more samples at once than there are slots, and some that are given up.\n\n";

#include "../entries/kerneltest.h"
#include "../../../../src/mat/kernels/common/message.h"
#include "../../../../src/mat/kernels/hisparse/hisparseimpl.h"
#include <time.h>

#define NUM_SAMPLINGS (DCSR_NUM_POSTS + 2)

/* Work on a stream that does not go on before the host says so. A tool may make each launch wait, which must not wait forever: what is said of samples under way is left out then. */
typedef struct {
  int open, expired;
} Gate;

static void CUDART_CB WaitAtGate(void *ctx)
{
  const struct timespec ms   = {0, 1000000};
  Gate                 *gate = (Gate *)ctx;

  for (int k = 0; k < 5000 && !__atomic_load_n(&gate->open, __ATOMIC_ACQUIRE); k++) nanosleep(&ms, NULL);
  if (!__atomic_load_n(&gate->open, __ATOMIC_ACQUIRE)) __atomic_store_n(&gate->expired, 1, __ATOMIC_RELEASE);
}

static PetscErrorCode GateClose(Gate *gate, cudaStream_t stream)
{
  PetscFunctionBegin;
  gate->open = gate->expired = 0;
  PetscCallCUDA(cudaLaunchHostFunc(stream, WaitAtGate, gate));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GateOpen(Gate *gate, cudaStream_t stream)
{
  PetscFunctionBegin;
  __atomic_store_n(&gate->open, 1, __ATOMIC_RELEASE);
  PetscCallCUDA(cudaStreamSynchronize(stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool GateIsClosed(const Gate *gate)
{
  return (PetscBool)!__atomic_load_n(&gate->expired, __ATOMIC_ACQUIRE);
}

static PetscErrorCode Compare(const char name[], const HiSparseSample *got, const HiSparseSample *expected)
{
  PetscFunctionBegin;
#define COMPARE(field) \
  PetscCheck(got->field == expected->field, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, " #field ": %llu, not %llu", name, (unsigned long long)got->field, (unsigned long long)expected->field)
  COMPARE(rows);
  COMPARE(entries);
  COMPARE(in_segments);
  COMPARE(segments);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(got->not_full); k++) COMPARE(not_full[k]);
  COMPARE(block_size);
#undef COMPARE
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes a sample whose work is done, and compares it. */
static PetscErrorCode TakeAndCompare(const char name[], DCSRView view, int size, HiSparseSampling *sampling, const HiSparseSample *expected)
{
  HiSparseSample sample;

  PetscFunctionBegin;
  PetscCheck(*sampling != NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no slot is free", name);
  PetscCheck(HiSparseSamplingIsThere(*sampling), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the stream is done, and the counts have not come", name);
  PetscCall(PetscMemzero(&sample, sizeof(sample)));
  PetscCall(HiSparseSamplingTake(view, size, sampling, &sample));
  PetscCheck(*sampling == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: the sample was taken and is there", name);
  PetscCall(Compare(name, &sample, expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same counts, and the same prediction by them; nothing is left on the device. */
static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  HiSparseFormat   formats[2] = {HISPARSE_AUTO, HISPARSE_AUTO};
  HiSparseSampling sampling;
  HiSparseSample   expected[2];
  double           ratios[2];
  size_t           before, after;

  PetscFunctionBegin;
  if (storage->max_segments > 0 || A->nz == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(HiSparseSampleTake(view, 1, stream, &expected[0]));
  if (expected[0].block_size > 0) PetscCall(HiSparseSampleTake(view, expected[0].block_size, stream, &expected[1]));
  PetscCall(KernelTestMemoryInUse(stream, &before));
  PetscCall(HiSparseSamplingQueue(view, 1, stream, &sampling));
  PetscCall(KernelTestMemoryInUse(stream, &after)); // waits for the stream
  PetscCheck(before == after, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: sampling keeps %zu bytes of device memory", A->name, after - before);
  PetscCall(TakeAndCompare(A->name, view, 1, &sampling, &expected[0]));
  if (expected[0].block_size > 0) {
    PetscCall(HiSparseSamplingQueue(view, expected[0].block_size, stream, &sampling));
    PetscCallCUDA(cudaStreamSynchronize(stream));
    PetscCall(TakeAndCompare(A->name, view, expected[0].block_size, &sampling, &expected[1]));
  }
  PetscCall(HiSparsePredict(view, NULL, stream, &formats[0], &ratios[0]));
  PetscCall(HiSparsePredict(view, expected, stream, &formats[1], &ratios[1]));
  PetscCheck(formats[0] == formats[1] && ratios[0] == ratios[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %s with %g by a sample that is given, %s with %g by one that is taken", A->name,
             HiSparseFormats[formats[1]], ratios[1], HiSparseFormats[formats[0]], ratios[0]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* More samples than slots; every second one is given up while the device has not written its counts, which frees no slot before it has. */
static PetscErrorCode TestSlots(const char name[], DCSRView view, cudaStream_t stream)
{
  HiSparseSampling samplings[NUM_SAMPLINGS], one;
  HiSparseSample   expected;
  Gate             gate;

  PetscFunctionBegin;
  PetscCall(HiSparseSampleTake(view, 1, stream, &expected));
  PetscCall(GateClose(&gate, stream));
  for (int k = 0; k < NUM_SAMPLINGS; k++) {
    PetscCall(HiSparseSamplingQueue(view, 1, stream, &samplings[k]));
    PetscCheck((samplings[k] != NULL) == (k < DCSR_NUM_POSTS), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: sample %d of %d slots", name, k, DCSR_NUM_POSTS);
  }
  for (int k = 0; k < DCSR_NUM_POSTS; k++) {
    PetscCheck(!HiSparseSamplingIsThere(samplings[k]) || !GateIsClosed(&gate), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: sample %d is there before the device has counted", name, k);
    if (k % 2) HiSparseSamplingDestroy(&samplings[k]);
  }
  PetscCall(HiSparseSamplingQueue(view, 1, stream, &one));
  PetscCheck(one == NULL || !GateIsClosed(&gate), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: a slot is free that the device has still to write", name);
  HiSparseSamplingDestroy(&one);
  PetscCall(GateOpen(&gate, stream));
  for (int k = 0; k < DCSR_NUM_POSTS; k += 2) PetscCall(TakeAndCompare(name, view, 1, &samplings[k], &expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Slots of samples that were given up serve others: counts of one matrix are not taken for those of another one. */
static PetscErrorCode TestReuse(DCSRView first, DCSRView second, cudaStream_t stream)
{
  HiSparseSampling samplings[DCSR_NUM_POSTS];
  HiSparseSample   expected[2];

  PetscFunctionBegin;
  PetscCall(HiSparseSampleTake(first, 1, stream, &expected[0]));
  PetscCall(HiSparseSampleTake(second, 1, stream, &expected[1]));
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < DCSR_NUM_POSTS; k++) {
      PetscCall(HiSparseSamplingQueue((round + k) % 2 ? second : first, 1, stream, &samplings[k]));
      if ((round + k) % 3 == 0) HiSparseSamplingDestroy(&samplings[k]);
    }
    PetscCallCUDA(cudaStreamSynchronize(stream));
    for (int k = 0; k < DCSR_NUM_POSTS; k++)
      if (samplings[k] != NULL) PetscCall(TakeAndCompare("slots that serve again", (round + k) % 2 ? second : first, 1, &samplings[k], &expected[(round + k) % 2]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Full blocks of b x b entries on three diagonals of blocks. */
static PetscErrorCode CreateBlocks(const char name[], PetscInt points, PetscInt b, KernelTestMatrix *A)
{
  PetscCount k = 0;

  PetscFunctionBegin;
  A->name = name;
  A->m = A->n = points * b;
  PetscCall(PetscMalloc1(A->m + 1, &A->i));
  PetscCall(PetscMalloc2(3 * A->m * b, &A->j, 3 * A->m * b, &A->a));
  A->i[0] = 0;
  for (PetscInt row = 0; row < A->m; row++) {
    for (PetscInt p = PetscMax(row / b - 1, 0); p <= PetscMin(row / b + 1, points - 1); p++)
      for (PetscInt c = 0; c < b; c++) A->j[k++] = p * b + c;
    A->i[row + 1] = (PetscInt)k;
  }
  A->nz = k;
  for (PetscCount e = 0; e < A->nz; e++) A->a[e] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrices of which a part is the sample: scalar ones, and dense blocks. */
static PetscErrorCode TestLarge(cudaStream_t stream)
{
  const PetscInt   sizes[] = {1, 3};
  KernelTestMatrix A[2];
  DCSRView         views[2];
  HiSparseSample   sample;
  HiSparseSampling sampling;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateBlocks(k ? "blocks" : "three diagonals", 200000 / sizes[k], sizes[k], &A[k]));
    PetscCall(KernelTestViewCreate(&A[k], &KernelTestStorages[0], stream, &views[k]));
    PetscCall(Test(&A[k], &KernelTestStorages[0], views[k], stream));
    PetscCall(TestSlots(A[k].name, views[k], stream));
    PetscCall(HiSparseSampleTake(views[k], 1, stream, &sample));
    PetscCheck(sample.rows < (unsigned long long)A[k].m && sample.block_size == (k ? 3 : 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %llu rows in the sample, blocks of %d", A[k].name, sample.rows,
               sample.block_size);
  }
  PetscCall(TestReuse(views[0], views[1], stream));
  PetscCall(HiSparseSamplingQueue(views[0], 1, stream, &sampling)); // under way, and given up, when the program ends
  HiSparseSamplingDestroy(&sampling);
  for (int k = 0; k < 2; k++) {
    PetscCall(KernelTestViewDestroy(&views[k], stream));
    PetscCall(KernelTestMatrixDestroy(&A[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(KernelTestRun(Test));
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(TestLarge(stream));
  }
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    output_file: output/empty.out

TEST*/
