/*
  Compact storage becomes fragmented storage without moving an entry, so that insertion can give rows further segments.
*/
#include "../common/foreach.cuh"
#include "segments.cuh"

namespace
{

template <typename Offset>
struct MakeSegmentsOfRow {
  DCSRView        view;
  __device__ void operator()(PetscCount row) const { MakeSegments<Offset>(view, row); }
};

size_t SegmentBytes(const DCSRView *view, PetscCount pitch, PetscInt max_segments)
{
  return 2 * (size_t)pitch * (size_t)max_segments * (view->wide ? sizeof(int64_t) : sizeof(int32_t));
}

} // namespace

/*
  DCSRViewTrySegments - arrays for the segments of compact storage, whose arrays the caller owns, if the device has memory for them (done); for work queued on the stream
  max_segments of a row: 1 to DCSR_MAX_SEGMENTS. view has segments and row_sizes beside its row offsets, and nothing is initialized; as it was without memory.
  When the segments are made, DCSRViewKeepBase() says so; otherwise the caller frees them.
*/
PetscErrorCode DCSRViewTrySegments(DCSRView *view, PetscInt max_segments, cudaStream_t stream, PetscBool *done)
{
  const PetscCount pitch     = PetscMax((PetscCount)view->num_rows, 1);
  void            *segments  = NULL;
  int32_t         *row_sizes = NULL;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  PetscCheck(view->row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The storage is fragmented already");
  PetscCheck(max_segments >= 1 && max_segments <= DCSR_MAX_SEGMENTS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "A row has 1 to %d segments, not %" PetscInt_FMT, DCSR_MAX_SEGMENTS, max_segments);
  PetscCall(PetscSparseCUDATryMalloc_Private(SegmentBytes(view, pitch, max_segments), stream, &segments));
  if (segments != NULL) PetscCall(PetscSparseCUDATryMalloc(pitch, stream, &row_sizes));
  if (row_sizes == NULL) {
    PetscCall(PetscSparseCUDAFree(&segments, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  view->segments     = segments;
  view->row_sizes    = row_sizes;
  view->pitch        = pitch;
  view->max_segments = max_segments;
  *done              = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRViewSetSegments - makes each row of compact storage, whose arrays the caller owns, the first segment of a fragmented row. Asynchronous
  max_segments of a row from now on: 1 to DCSR_MAX_SEGMENTS. view keeps its columns and values, and where there is a base its row offsets (DCSRViewKeepBase()); as it was after an error. Cost: 8 bytes a
  segment and row (16 with 64-bit offsets), written once.
*/
PetscErrorCode DCSRViewSetSegments(DCSRView *view, PetscInt max_segments, cudaStream_t stream)
{
  DCSRView       to   = *view;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCheck(view->row_offsets != NULL, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE, "The storage is fragmented already");
  PetscCheck(max_segments >= 1 && max_segments <= DCSR_MAX_SEGMENTS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "A row has 1 to %d segments, not %" PetscInt_FMT, DCSR_MAX_SEGMENTS, max_segments);
  to.pitch        = PetscMax((PetscCount)view->num_rows, 1);
  to.max_segments = max_segments;
  to.segments     = NULL;
  to.row_sizes    = NULL;
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc_Private(SegmentBytes(&to, to.pitch, max_segments), "segments of a matrix", stream, &to.segments));
  PetscCallGoto(ierr, failed, PetscSparseCUDAMalloc(to.pitch, "row sizes of a matrix", stream, &to.row_sizes));
  if (view->wide) PetscCallCUDAGoto(ierr, failed, DCSRForEach((PetscCount)view->num_rows, MakeSegmentsOfRow<int64_t>{to}, stream));
  else PetscCallCUDAGoto(ierr, failed, DCSRForEach((PetscCount)view->num_rows, MakeSegmentsOfRow<int32_t>{to}, stream));
  PetscCall(DCSRViewKeepBase(&to, stream));
  *view = to;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(PetscSparseCUDAFree(&to.segments, stream));
  PetscCall(PetscSparseCUDAFree(&to.row_sizes, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
