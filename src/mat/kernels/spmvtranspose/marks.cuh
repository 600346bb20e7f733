#pragma once
/*
  Row marks from the row offsets, counting rows that are not empty without gaps: by a scan (planmarks.cuh has none).
*/
#include "../common/foreach.cuh"
#include "spmvtransposeimpl.h"

namespace
{

template <typename Offset>
struct MarkRow {
  const Offset      *row_offsets;
  SpMVTransposeMark *marks;

  __device__ void operator()(PetscCount row) const
  {
    const Offset begin = row_offsets[row];

    if (begin < row_offsets[row + 1]) atomicOr(&marks[begin >> 5].bits, 1u << (begin & 31));
  }
};

struct WriteNumStarts {
  const uint32_t    *num_starts;
  SpMVTransposeMark *marks;
  __device__ void    operator()(PetscCount w) const { marks[w].num_starts = num_starts[w]; }
};

template <typename Offset>
struct WriteNonemptyRow {
  const Offset            *row_offsets;
  const SpMVTransposeMark *marks;
  int32_t                 *nonempty_rows;

  __device__ void operator()(PetscCount row) const
  {
    const Offset begin = row_offsets[row];

    if (begin < row_offsets[row + 1]) {
      const SpMVTransposeMark mark = marks[begin >> 5];

      nonempty_rows[mark.num_starts + __popc(mark.bits & ((1u << (begin & 31)) - 1u))] = (int32_t)row;
    }
  }
};

inline PetscCount NumMarks(PetscCount num_nonzeros)
{
  return (num_nonzeros + 31) / 32;
}

/* Fills marks [NumMarks()] and num_starts [NumMarks() + 1], whose last entry is the number of rows that are not empty; asynchronous. */
template <typename Offset>
PetscErrorCode MarkRows(DCSRView view, SpMVTransposeMark *marks, uint32_t *num_starts, cudaStream_t stream)
{
  const PetscCount num_marks = NumMarks(view.num_nonzeros);

  PetscFunctionBegin;
  PetscCallCUDA(cudaMemsetAsync(marks, 0, (size_t)num_marks * sizeof(*marks), stream));
  PetscCallCUDA(DCSRForEach((PetscCount)view.num_rows, MarkRow<Offset>{(const Offset *)view.row_offsets, marks}, stream));
  PetscCall(SpMVTransposeCountStarts(num_marks, marks, num_starts, stream));
  PetscCallCUDA(DCSRForEach(num_marks, WriteNumStarts{num_starts, marks}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace
