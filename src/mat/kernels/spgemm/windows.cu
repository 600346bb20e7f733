/* The rows of B as windows of neighboring columns, {window, mask of its columns}. They are made once, and read for every entry of A that meets the row. */
#include "table.cuh"
#include "../common/preload.cuh"
#include "../common/scan.h"

namespace
{

/* Writes the windows of each row, or counts them when words is NULL. A group of lanes takes a row. */
template <int Lanes, typename Offset>
__global__ void __launch_bounds__(SPGEMM_THREADS)
  WindowsKernel(PetscCount num_rows, const Offset *b_offsets, const int32_t *b_columns, const Offset *offsets, int32_t *counts, unsigned long long *words)
{
  const PetscCount row  = ((PetscCount)blockIdx.x * SPGEMM_THREADS + threadIdx.x) / Lanes;
  const int        lane = threadIdx.x % Lanes, shift = threadIdx.x % 32 / Lanes * Lanes;
  const Offset     begin = row < num_rows ? b_offsets[row] : 0, end = row < num_rows ? b_offsets[row + 1] : 0;
  const int        length = (int)(end - begin), longest = __reduce_max_sync(FULL_WARP, length);
  const int32_t   *columns  = b_columns + begin;
  Offset           position = words && row < num_rows ? offsets[row] : 0;
  int              num      = 0;

  for (int first = 0; first < longest; first += Lanes) {
    const int      k      = first + lane;
    const bool     begins = k < length && BeginsWindow(columns, k);
    const unsigned all = __ballot_sync(FULL_WARP, begins), ballot = Lanes == 32 ? all : all >> shift & ((1u << Lanes % 32) - 1);

    if (words && begins) {
      const unsigned window = WindowOf(columns[k]);
      unsigned       mask   = 0;

      for (int j = k; j < length && WindowOf(columns[j]) == window; j++) mask |= BitOf(columns[j]);
      words[position + num + __popc(ballot & ((1u << lane) - 1))] = (unsigned long long)mask << 32 | window;
    }
    num += __popc(ballot);
  }
  if (!words && lane == 0 && row < num_rows) counts[row] = num;
}

template <int Lanes, typename Offset>
PetscErrorCode Launch(DCSRView B, const SpGEMMWindows *windows, int32_t *counts, cudaStream_t stream)
{
  const unsigned int blocks = DCSRNumBlocks((PetscCount)B.num_rows * Lanes, SPGEMM_THREADS);

  PetscFunctionBegin;
  WindowsKernel<Lanes><<<blocks, SPGEMM_THREADS, 0, stream>>>((PetscCount)B.num_rows, (const Offset *)B.row_offsets, B.columns, (const Offset *)windows->offsets, counts, windows->words);
  PetscCallCUDA(cudaGetLastError());
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode LaunchLanes(DCSRView B, const SpGEMMWindows *windows, int32_t *counts, cudaStream_t stream)
{
  const PetscCount mean = B.num_nonzeros / PetscMax(B.num_rows, 1);

  PetscFunctionBegin;
  if (mean <= 5) PetscCall((Launch<4, Offset>(B, windows, counts, stream)));
  else if (mean <= 12) PetscCall((Launch<8, Offset>(B, windows, counts, stream)));
  else PetscCall((Launch<32, Offset>(B, windows, counts, stream)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <typename Offset>
PetscErrorCode MakeWindows(DCSRView B, cudaStream_t stream, SpGEMMWindows *windows)
{
  const PetscCount n      = (PetscCount)B.num_rows + 1;
  PetscErrorCode   ierr   = PETSC_SUCCESS;
  int32_t         *counts = NULL;
  Offset           total;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "numbers of windows of the rows of a factor", stream, &counts));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc_Private((size_t)n * sizeof(Offset), "row offsets of the windows of a factor", stream, &windows->offsets));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemsetAsync(counts + n - 1, 0, sizeof(*counts), stream));
  PetscCallGoto(ierr, cleanup, LaunchLanes<Offset>(B, windows, counts, stream));
  PetscCallGoto(ierr, cleanup, DCSRExclusiveSumTo("workspace to sum windows of a factor", counts, n, (Offset *)windows->offsets, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(&total, (Offset *)windows->offsets + n - 1, sizeof(total), cudaMemcpyDeviceToHost, stream));
  PetscCallCUDAGoto(ierr, cleanup, cudaStreamSynchronize(stream));
  windows->num_words = (PetscCount)total;
  PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(windows->num_words, "windows of a factor", stream, &windows->words));
  PetscCallGoto(ierr, cleanup, LaunchLanes<Offset>(B, windows, NULL, stream));
cleanup:
  PetscCall(PetscSparseCUDAFree(&counts, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  SpGEMMMakeWindows - The rows of B, compact with sorted rows, as windows; synchronizes once, for their number
  windows are to be freed with SpGEMMFreeWindows(), after an error, too. Memory: 8 bytes a window and the row offsets; 4 bytes a row for a while.
*/
PetscErrorCode SpGEMMMakeWindows(DCSRView B, cudaStream_t stream, SpGEMMWindows *windows)
{
  PetscFunctionBegin;
  PetscCall(PetscArrayzero(windows, 1));
  if (B.wide) PetscCall(MakeWindows<int64_t>(B, stream, windows));
  else PetscCall(MakeWindows<int32_t>(B, stream, windows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* SpGEMMFreeWindows - Frees what SpGEMMMakeWindows() made; it is zero afterwards. */
PetscErrorCode SpGEMMFreeWindows(SpGEMMWindows *windows, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&windows->offsets, stream));
  PetscCall(PetscSparseCUDAFree(&windows->words, stream));
  PetscCall(PetscArrayzero(windows, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(WindowsKernel<8, int32_t>);
