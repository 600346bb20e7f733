static char help[] = "Memory that goes to other processes: blocks are kept and used again, within bounds, and PetscSF and MPI get no other device memory.\n\n";

#include "../../src/mat/impls/aijcuda/exchange/exchange.h"
#include "../../src/sys/exportable.h"
#include "../../src/petsc/sys.h"
#include "../lib/sys.h"
#include <petscsparsecuda.h>
#include <dlfcn.h>

#define NUM_BLOCKS 40
#define NUM_SENT   5

static PetscBool   watching = PETSC_FALSE; /* the next functions look at what MPI is given */
static PetscInt    num_own = 0, num_others = 0;
static const char *begin = NULL, *end = NULL; /* of the arrays that are ours */

static void Watch(const void *buffer, int n)
{
  if (!watching || n == 0) return;
  if ((const char *)buffer >= begin && (const char *)buffer < end) num_own++;
  else num_others++;
}

/* MPI allows a program to have its own; calls of PETSc come here, too. The parentheses keep macros of PETSc away that count messages. */
int(MPI_Isend)(const void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
  Watch(buffer, n);
  return PMPI_Isend(buffer, n, type, rank, tag, comm, request);
}

int(MPI_Irecv)(void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
  Watch(buffer, n);
  return PMPI_Irecv(buffer, n, type, rank, tag, comm, request);
}

int(MPI_Send_init)(const void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
  Watch(buffer, n);
  return PMPI_Send_init(buffer, n, type, rank, tag, comm, request);
}

int(MPI_Recv_init)(void *buffer, int n, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request *request)
{
  Watch(buffer, n);
  return PMPI_Recv_init(buffer, n, type, rank, tag, comm, request);
}

static PetscErrorCode CheckBytes(const char what[], size_t in_use, PetscBool kept)
{
  size_t now, free_bytes;

  PetscFunctionBegin;
  ExportableGetBytes(&now, &free_bytes);
  PetscCheck(now >= in_use && now <= in_use + in_use / 4 + 4096, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes are in use and not %zu", what, now, in_use);
  PetscCheck(kept ? free_bytes > 0 : free_bytes == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: %zu bytes are kept", what, free_bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is returned comes back for a request of about its size, and for no other one. */
static PetscErrorCode TestReuse(cudaStream_t stream)
{
  char *first, *second, *third, *old;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMallocExportable(0, "a test", stream, &first));
  PetscCheck(first == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "No bytes have an address");
  PetscCall(PetscSparseCUDAMallocExportable(100000, "a test", stream, &first));
  PetscCall(CheckBytes("One block", 100000, PETSC_FALSE));
  PetscCall(PetscSparseCUDACheckExportable(first, "a test"));
  PetscCall(PetscSparseCUDACheckExportable(first + 99999, "a test"));
  old = first;
  PetscCall(PetscSparseCUDAFree(&first, stream));
  PetscCheck(first == NULL, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A freed block has an address");
  PetscCall(CheckBytes("Returned", 0, PETSC_TRUE));
  PetscCall(PetscSparseCUDAMallocExportable(1, "a test", stream, &first));
  PetscCheck(first != old, PETSC_COMM_SELF, PETSC_ERR_PLIB, "One byte takes a large block");
  PetscCall(PetscSparseCUDAMallocExportable(99000, "a test", stream, &second));
  PetscCheck(second == old, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A block that is kept is not used");
  PetscCall(PetscSparseCUDAMallocExportable(99000, "a test", stream, &third));
  PetscCheck(third != second && third != first, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A block is used twice");
  PetscCall(PetscSparseCUDAFree(&third, stream));
  PetscCall(PetscSparseCUDAFree(&second, stream));
  PetscCall(PetscSparseCUDAFree(&first, stream));
  PetscCall(PetscSparseCUDAFree(&first, stream));
  PetscCall(ExportableGiveBack(0));
  PetscCall(CheckBytes("Given back", 0, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neither many nor large blocks are kept. */
static PetscErrorCode TestBounds(size_t total, cudaStream_t stream)
{
  char  *blocks[NUM_BLOCKS], *large;
  size_t most, now, kept;

  PetscFunctionBegin;
  for (int k = 0; k < NUM_BLOCKS; k++) PetscCall(PetscSparseCUDAMallocExportable(4096 * (k + 1), "a test", stream, &blocks[k]));
  ExportableGetBytes(&most, &kept);
  for (int k = 0; k < NUM_BLOCKS; k++) PetscCall(PetscSparseCUDAFree(&blocks[k], stream));
  ExportableGetBytes(&now, &kept);
  PetscCheck(now == 0 && kept < most && kept > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Of %d blocks %zu bytes of %zu are kept", NUM_BLOCKS, kept, most);
  PetscCall(PetscSparseCUDAMallocExportable(total / 32, "a test", stream, &large));
  PetscCall(PetscSparseCUDAFree(&large, stream));
  ExportableGetBytes(&now, &kept);
  PetscCheck(kept <= total / 64, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes are kept", kept);
  PetscCall(ExportableGiveBack(0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each process sends to the next one; what is contiguous goes to MPI as it is. */
static PetscErrorCode CreateSF(PetscBool contiguous, PetscSF *sf)
{
  PetscSFNode *nodes;
  PetscMPIInt  rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc1(NUM_SENT, &nodes));
  for (PetscInt k = 0; k < NUM_SENT; k++) {
    nodes[k].rank  = (rank + 1) % size;
    nodes[k].index = contiguous ? k : k * (k + 1) / 2;
  }
  PetscCall(PetscSFCreate(PETSC_COMM_WORLD, sf));
  PetscCall(PetscSFSetGraph(*sf, NUM_SENT * NUM_SENT, NUM_SENT, NULL, PETSC_OWN_POINTER, nodes, PETSC_OWN_POINTER));
  PetscCall(PetscSFSetUp(*sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Copy(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
  PetscFunctionBegin;
  if (PetscMemTypeHost(PetscSparseCUDAExportableMemType)) PetscCall(PetscMemcpy(to, from, bytes));
  else {
    PetscCallCUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream));
    PetscCallCUDA(cudaStreamSynchronize(stream));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries arrive by PetscSF. */
static PetscErrorCode TestTravel(PetscBool contiguous, cudaStream_t stream)
{
  PetscSF     sf;
  PetscInt   *memory, *roots, *leaves, host[NUM_SENT * NUM_SENT], got[NUM_SENT * NUM_SENT];
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateSF(contiguous, &sf));
  PetscCall(PetscSparseCUDAMallocExportable(NUM_SENT * (NUM_SENT + 1), "a test", stream, &memory));
  roots  = memory;
  leaves = memory + NUM_SENT * NUM_SENT; // anywhere in a block
  for (PetscInt k = 0; k < NUM_SENT * NUM_SENT; k++) host[k] = 1000 * rank + k;
  PetscCall(Copy(roots, host, sizeof(host), stream));
  num_own = num_others = 0;
  begin                = (const char *)memory;
  end                  = (const char *)(memory + NUM_SENT * (NUM_SENT + 1));
  watching             = PETSC_TRUE;
  PetscCall(PetscSparseCUDASFBcast(sf, MPIU_INT, roots, leaves, stream));
  PetscCall(Copy(got, leaves, NUM_SENT * sizeof(*got), stream));
  for (PetscInt k = 0; k < NUM_SENT; k++) {
    const PetscInt wanted = 1000 * ((rank + 1) % size) + (contiguous ? k : k * (k + 1) / 2);

    PetscCheck(got[k] == wanted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Leaf %" PetscInt_FMT " is %" PetscInt_FMT ", not %" PetscInt_FMT, k, got[k], wanted);
  }
  watching = PETSC_FALSE;
  // this is why it matters what memory it is: a GPU-aware MPI is given our arrays
  if (size > 1 && (use_gpu_aware_mpi || PetscMemTypeHost(PetscSparseCUDAExportableMemType))) {
    const PetscInt wanted = contiguous ? 2 : 1; // roots that are not contiguous are packed

    PetscCheck(num_own == wanted && num_own + num_others == 2, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " of %" PetscInt_FMT " messages are from and to our arrays", num_own,
               num_own + num_others);
  }
  PetscCall(PetscSparseCUDAFree(&memory, stream));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages to the next process, which has none from itself. */
static PetscErrorCode CreateMessages(RowMessages *m)
{
  PetscInt   *starts;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscMalloc1(size + 1, &starts));
  starts[0] = 0;
  for (PetscMPIInt r = 0; r < size; r++) starts[r + 1] = starts[r] + (r != rank && r == (rank + 1) % size ? NUM_SENT : 0);
  PetscCall(PetscArrayzero(m, 1));
  PetscCall(RowMessagesCreateFromStarts(PETSC_COMM_WORLD, starts, m));
  PetscCall(PetscFree(starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Entries arrive by messages, pairs in a unit, forth and back; where both arrays are differs between processes. */
static PetscErrorCode TestMessages(PetscInt shift, cudaStream_t stream)
{
  RowMessages  m[2];
  PetscInt    *memory, *arrays[2], host[2][2 * NUM_SENT], got[2 * NUM_SENT], zeros[2 * NUM_SENT] = {0}, num_device = 0;
  PetscMPIInt  rank, size;
  PetscMemType mtypes[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(CreateMessages(&m[0]));
  m[1] = RowMessagesReversed(&m[0]);
  PetscCall(PetscSparseCUDAMallocExportable(4 * NUM_SENT, "a test", stream, &memory));
  begin = (const char *)memory;
  end   = (const char *)(memory + 4 * NUM_SENT);
  for (int d = 0; d < 2; d++) {
    mtypes[d] = (rank + shift) >> d & 1 ? PETSC_MEMTYPE_CUDA : PETSC_MEMTYPE_HOST;
    arrays[d] = PetscMemTypeDevice(mtypes[d]) ? memory + 2 * NUM_SENT * d : host[d];
    num_device += PetscMemTypeDevice(mtypes[d]);
  }
  for (PetscInt k = 0; k < 2 * NUM_SENT; k++) got[k] = 1000 * rank + k;
  PetscCall(Copy(arrays[0], got, sizeof(got), stream));
  num_own = num_others = 0;
  watching             = PETSC_TRUE;
  PetscCall(RowMessagesExchangeWithMemType(&m[0], MPIU_2INT, mtypes[0], arrays[0], mtypes[1], arrays[1], stream));
  if (size > 1) PetscCall(Copy(arrays[0], zeros, sizeof(zeros), stream));
  PetscCall(RowMessagesExchangeWithMemType(&m[1], MPIU_2INT, mtypes[1], arrays[1], mtypes[0], arrays[0], stream));
  watching = PETSC_FALSE;
  for (int d = 0; d < 2; d++) {
    const PetscMPIInt from = d ? (rank + size - 1) % size : rank;

    if (d == 1 && size == 1) continue;
    PetscCall(Copy(got, arrays[d], sizeof(got), stream));
    for (PetscInt k = 0; k < 2 * NUM_SENT; k++)
      PetscCheck(got[k] == 1000 * from + k, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Entry %" PetscInt_FMT " of array %d is %" PetscInt_FMT ", not %" PetscInt_FMT, k, d, got[k], 1000 * from + k);
  }
  if (size > 1 && (use_gpu_aware_mpi || PetscMemTypeHost(PetscSparseCUDAExportableMemType)))
    PetscCheck(num_own == 2 * num_device && num_own + num_others == 4, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " of %" PetscInt_FMT " messages are from and to our arrays", num_own,
               num_own + num_others);
  PetscCall(PetscSparseCUDAFree(&memory, stream));
  PetscCall(RowMessagesDestroy(&m[0]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other memory is refused, when it is for other processes. */
static PetscErrorCode TestRefusal(PetscInt *other, cudaStream_t stream)
{
  PetscSF        sf;
  RowMessages    m;
  PetscInt      *good;
  PetscMPIInt    size;
  PetscErrorCode code[4], wanted;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  wanted = size > 1 ? PETSC_ERR_PLIB : PETSC_SUCCESS;
  PetscCall(CreateSF(PETSC_TRUE, &sf));
  PetscCall(CreateMessages(&m));
  PetscCall(PetscSparseCUDAMallocExportable(NUM_SENT * NUM_SENT, "a test", stream, &good));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  code[0] = PetscSparseCUDASFBcast(sf, MPIU_INT, other, good, stream);
  code[1] = PetscSparseCUDASFBcast(sf, MPIU_INT, good, other, stream);
  code[2] = RowMessagesExchange(&m, MPIU_INT, good, other, stream);
  code[3] = RowMessagesExchange(&m, MPIU_INT, other, good, stream);
  PetscCall(PetscPopErrorHandler());
  for (int k = 0; k < 4; k++) PetscCheck(code[k] == wanted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Memory of another kind in call %d gives error %d, not %d", k, (int)code[k], (int)wanted);
  PetscCall(PetscSparseCUDAFree(&good, stream));
  PetscCall(RowMessagesDestroy(&m));
  PetscCall(PetscSFDestroy(&sf));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What CUDA says about it: the attribute CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE. */
static PetscErrorCode IsExportable(const void *ptr, PetscBool *is)
{
  void *const driver                                              = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  CUresult (*const get)(void *, CUpointer_attribute, CUdeviceptr) = (CUresult(*)(void *, CUpointer_attribute, CUdeviceptr))dlsym(driver, "cuPointerGetAttribute");
  int value                                                       = 0;

  PetscFunctionBegin;
  PetscCheck(get != NULL && get(&value, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, (CUdeviceptr)ptr) == CUDA_SUCCESS, PETSC_COMM_SELF, PETSC_ERR_GPU,
             "The driver does not say whether memory can be exported");
  *is = value ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the device: exportable memory can be exported, and the pool's cannot, which is what all this is for. An MPI that gets no device memory gets the pool's. */
static PetscErrorCode TestKinds(cudaStream_t stream)
{
  PetscInt *pooled, *exportable;
  PetscBool is;
  size_t    now, before;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAGetMemoryInUse(&before, NULL));
  PetscCall(PetscSparseCUDAMalloc(NUM_SENT * NUM_SENT, "a test", stream, &pooled));
  PetscCallCUDA(cudaMemsetAsync(pooled, 0, NUM_SENT * NUM_SENT * sizeof(*pooled), stream));
  PetscCall(PetscSparseCUDAMallocExportable(NUM_SENT * NUM_SENT, "a test", stream, &exportable));
  PetscCall(PetscSparseCUDACheckExportable(exportable, "a test"));
  PetscCall(PetscSparseCUDAGetMemoryInUse(&now, NULL));
  PetscCheck(now >= before + 2 * NUM_SENT * NUM_SENT * sizeof(*pooled), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes are in use, %zu before", now, before);
  PetscCall(IsExportable(pooled, &is));
  PetscCheck(!is, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Memory of the pool can be exported: exportable memory is of no use any more");
  PetscCall(IsExportable(exportable, &is));
  PetscCheck(is == use_gpu_aware_mpi, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Memory for MPI is of the wrong kind");
  PetscCall(TestRefusal(pooled, stream));
  PetscCall(PetscSparseCUDAFree(&exportable, stream));
  PetscCall(PetscSparseCUDAFree(&pooled, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool    usable;
  PetscInt     other[NUM_SENT * NUM_SENT] = {0};
  size_t       free_bytes, total = (size_t)1 << 30;
  cudaStream_t stream = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(PetscSparseCUDADeviceUsable(&usable));
  if (usable) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCallCUDA(cudaMemGetInfo(&free_bytes, &total));
    PetscCall(TestKinds(stream));
  } else {
    PetscSparseCUDAExportableMemType = PETSC_MEMTYPE_HOST;
    PetscCall(TestRefusal(other, stream));
  }
  PetscCall(ExportableGiveBack(0));
  if (!usable || use_gpu_aware_mpi) {
    PetscCall(TestReuse(stream));
    PetscCall(TestBounds(total, stream));
  }
  for (int k = 0; k < 2; k++) PetscCall(TestTravel((PetscBool)k, stream));
  for (PetscInt k = 0; k < 4; k++) PetscCall(TestMessages(k, stream));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  test:
    requires: cuda
    nsize: {{1 2 3}}
    output_file: output/empty.out
  test:
    suffix: host
    nsize: {{1 2 3}}
    args: -device_enable none
    output_file: output/empty.out

TEST*/
