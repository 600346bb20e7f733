static char help[] = "Work that is recorded is done by launches of its graph, not before; memory cannot be asked for meanwhile; what was there at a recording and goes is noticed.\n\n";

#include <petscsparsecuda.h>
#include <petscsparsecuda/densemult.h>
#include <petscsparsecuda/record.h>

#define N 3

/* y = B x with B = 2 I and what x is now. */
static PetscErrorCode CheckProduct(const PetscScalar y[], PetscScalar expected, const char what[])
{
  PetscScalar  host[N];
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDACopyToHost(host, y, sizeof(host), stream));
  PetscCallCUDA(cudaStreamSynchronize(stream));
  for (PetscInt i = 0; i < N; i++)
    PetscCheck(host[i] == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: entry %" PetscInt_FMT " is %g, not %g", what, i, (double)PetscRealPart(host[i]), (double)PetscRealPart(expected));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetX(PetscScalar x[], PetscScalar value)
{
  PetscScalar  host[N];
  cudaStream_t stream;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < N; i++) host[i] = value;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDACopyToDevice(x, host, sizeof(host), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two products one after the other: z = B B x. */
static PetscErrorCode Work(const PetscScalar B[], const PetscScalar x[], PetscScalar y[], PetscScalar z[])
{
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(DCSRDenseMult(N, N, B, x, y, stream));
  PetscCall(DCSRDenseMult(N, N, B, y, z, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestLaunches(PetscScalar all[])
{
  const PetscScalar  diagonal[N * N] = {2.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 2.0};
  PetscScalar *const B = all, *const x = all + N * N, *const y = x + N, *const z = y + N;
  cudaGraphExec_t graph;
  size_t          nodes;
  cudaStream_t    stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDACopyToDevice(B, diagonal, sizeof(diagonal), stream));
  PetscCall(SetX(x, 1.0));
  PetscCall(SetX(z, 7.0));
  PetscCall(PetscSparseCUDARecordBegin());
  PetscCall(Work(B, x, y, z));
  PetscCall(PetscSparseCUDARecordEnd(&graph, &nodes));
  PetscCheck(graph != NULL && nodes == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %zu launches", graph == NULL ? "No graph" : "A graph", nodes);
  PetscCall(CheckProduct(z, 7.0, "Recorded, not launched"));
  PetscCall(PetscSparseCUDAGraphUpload(graph));
  for (int k = 1; k < 4; k++) {
    PetscCall(SetX(x, (PetscScalar)k));
    PetscCall(PetscSparseCUDAGraphLaunch(graph));
    PetscCall(CheckProduct(z, (PetscScalar)(4 * k), "Launched"));
  }
  PetscCall(PetscSparseCUDAGraphDestroy(&graph));
  PetscCheck(graph == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A graph was destroyed and is still there");
  PetscCall(SetX(x, 9.0));
  PetscCall(Work(B, x, y, z));
  PetscCall(CheckProduct(z, 36.0, "Done after a recording"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory is neither given nor taken while work is recorded; afterwards all is as before. */
static PetscErrorCode TestMemoryMeanwhile(PetscScalar all[])
{
  PetscScalar    *more = NULL, *kept = all;
  cudaGraphExec_t graph;
  size_t          nodes;
  cudaStream_t    stream;
  PetscErrorCode  ierr[2];

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDARecordBegin());
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr[0] = PetscSparseCUDAMalloc(N, "a test", stream, &more);
  ierr[1] = PetscSparseCUDAFree(&kept, stream);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSparseCUDARecordEnd(&graph, &nodes));
  PetscCheck(ierr[0] != PETSC_SUCCESS && more == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Memory was given while work was recorded");
  PetscCheck(ierr[1] != PETSC_SUCCESS && kept == all, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Memory was taken while work was recorded");
  PetscCall(PetscSparseCUDAGraphDestroy(&graph));
  PetscCall(TestLaunches(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckChanges(PetscInt64 all, PetscInt64 lost, const char what[])
{
  static PetscInt64 all_before = 0, lost_before = 0;
  PetscInt64        now[2];

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetMemoryChanges(&now[0], &now[1]));
  PetscCheck(all < 0 || (now[0] - all_before == all && now[1] - lost_before == lost), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %" PetscInt64_FMT " changes and %" PetscInt64_FMT " losses, not %" PetscInt64_FMT " and %" PetscInt64_FMT, what, now[0] - all_before, now[1] - lost_before, all, lost);
  all_before  = now[0];
  lost_before = now[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestChanges(void)
{
  PetscScalar *blocks[3], *none = NULL;
  cudaStream_t stream;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAMalloc(N, "a test", stream, &blocks[k]));
  PetscCall(PetscSparseCUDAWatchMemory());
  PetscCall(CheckChanges(-1, 0, ""));
  PetscCall(PetscSparseCUDAMalloc(N, "a test", stream, &blocks[2]));
  PetscCall(CheckChanges(1, 0, "An allocation"));
  PetscCall(PetscSparseCUDAFree(&blocks[2], stream));
  PetscCall(CheckChanges(1, 0, "What came later goes"));
  PetscCall(PetscSparseCUDAFree(&none, stream));
  PetscCall(CheckChanges(0, 0, "Nothing goes"));
  PetscCall(PetscSparseCUDAFree(&blocks[0], stream));
  PetscCall(CheckChanges(1, 1, "What was there goes"));
  PetscCall(PetscSparseCUDAMalloc(N, "a test", stream, &blocks[0])); // perhaps at the same address
  PetscCall(PetscSparseCUDAFree(&blocks[0], stream));
  PetscCall(CheckChanges(2, 0, "It comes again and goes"));
  PetscCall(PetscSparseCUDAMalloc(N, "a test", stream, &blocks[0]));
  PetscCall(PetscSparseCUDAWatchMemory());
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&blocks[k], stream));
  PetscCall(CheckChanges(3, 2, "Watched again"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscScalar *all;
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDAGetStream(&stream));
  PetscCall(PetscSparseCUDAMalloc(N * N + 3 * N, "a test", stream, &all));
  PetscCall(TestLaunches(all));
  PetscCall(TestMemoryMeanwhile(all));
  PetscCall(TestChanges());
  PetscCall(PetscSparseCUDAFree(&all, stream));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    requires: cuda
    args: -malloc_dump
    output_file: output/empty.out
    test:
    test:
      suffix: nonblocking
      args: -root_device_context_stream_type nonblocking

TEST*/
