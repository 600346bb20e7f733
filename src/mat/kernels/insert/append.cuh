#pragma once
/*
  New entries of a sorted batch are appended to the rows they belong to (King, Gilray, Kirby, Might, Dynamic-CSR, ISC 2016, section 3), so that the cost is that of
  the touched rows and not of the matrix. For the new entries of a row, in this order:

    in place  - the last segment has room and few entries: they are merged there, backwards, by one thread;
    segment   - the row may have another segment: a new one for them, with slack behind;
    relocate  - otherwise the last segment is merged with them into a new and longer one; the pool loses the old one until it is defragmented.

  Segments stay sorted, which makes lookups and defragmenting binary searches. Positions in the pool come from a prefix sum, not from atomics: the same input gives
  the same storage.
*/
#include "batch.cuh"

namespace
{

constexpr int32_t IN_PLACE = 64; // entries of a segment that one thread still merges

/* Pool entries, and old entries that move. */
struct Needs {
  PetscCount pool, moved;
};

struct AddNeeds {
  __host__ __device__ Needs operator()(const Needs &a, const Needs &b) const { return Needs{a.pool + b.pool, a.moved + b.moved}; }
};

/* What happens to a row. */
struct RowPlan {
  PetscInt   segment;   // that the new entries go to
  int32_t    num_old;   // entries of it that are merged with them
  PetscCount old_begin; // of these
  int32_t    row_size;  // before
  int32_t    new_size;  // entries of the segment afterwards
  int32_t    length;    // pool entries to take for it; 0: in place
};

template <typename Offset>
__device__ RowPlan PlanRow(const DCSRView &view, PetscInt row, int32_t num_new, double slack)
{
  RowPlan    plan   = {0, 0, 0, view.row_sizes[row], num_new, 0};
  PetscCount left   = plan.row_size, length;
  int32_t    unused = 0;

  for (; left > 0; plan.segment++) {
    const Offset *pair = (const Offset *)view.segments + 2 * (row + plan.segment * view.pitch);

    length         = pair[1] - pair[0];
    plan.old_begin = pair[0];
    plan.num_old   = (int32_t)(left < length ? left : length);
    unused         = (int32_t)(length - plan.num_old);
    left -= plan.num_old;
    if (left == 0) break;
  }
  if (plan.row_size > 0 && unused >= num_new && plan.num_old + num_new <= IN_PLACE) plan.new_size = plan.num_old + num_new;
  else {
    const double extra = slack * ((double)plan.row_size + num_new);

    if (plan.row_size > 0 && plan.segment + 1 < view.max_segments) {
      plan.segment++;
      plan.num_old = 0;
    }
    plan.new_size = plan.num_old + num_new;
    plan.length   = plan.new_size + (extra < DCSR_MAX_SLACK ? (int32_t)ceil(extra) : DCSR_MAX_SLACK);
  }
  return plan;
}

/* The new entries by rows: q is the first of its row, a leader, when the one before it is in another row. */
struct NewRows {
  NewKeys    keys;
  PetscCount num;

  __device__ bool IsLeader(PetscCount q) const { return q == 0 || keys.Row(q - 1) != keys.Row(q); }
  /* First entry of q's row. Rows are short mostly: steps grow from one. */
  __device__ PetscCount Begin(PetscCount q) const
  {
    const PetscInt row  = keys.Row(q);
    PetscCount     step = 1, begin, end = q;

    while (end >= step && keys.Row(end - step) == row) {
      end -= step;
      step *= 2;
    }
    begin = end >= step ? end - step + 1 : 0;
    return PartitionPoint(begin, end, [&](PetscCount k) { return keys.Row(k) < row; });
  }
  /* Behind the last entry of q's row. */
  __device__ PetscCount End(PetscCount q) const
  {
    const PetscInt row  = keys.Row(q);
    PetscCount     step = 1, begin = q, end;

    while (begin + step < num && keys.Row(begin + step) == row) {
      begin += step;
      step *= 2;
    }
    end = begin + step < num ? begin + step : num;
    return PartitionPoint(begin + 1, end, [&](PetscCount k) { return keys.Row(k) == row; });
  }
  /* How many of [begin, end) have smaller columns. */
  __device__ PetscCount CountBelowColumn(PetscCount begin, PetscCount end, int32_t column) const
  {
    return PartitionPoint(begin, end, [&](PetscCount k) { return keys.Column(k) < column; }) - begin;
  }
};

template <typename Offset>
struct Appending {
  DCSRView           view;
  NewRows            rows;
  const PetscScalar *values; // of the batch
  const Needs       *before;
  double             slack;

  __device__ RowPlan Plan(PetscCount first) const { return PlanRow<Offset>(view, rows.keys.Row(first), (int32_t)(rows.End(first) - first), slack); }
  __device__ void    Put(PetscCount k, PetscCount q) const
  {
    view.columns[k] = rows.keys.Column(q);
    if (view.values) view.values[k] = values[rows.keys.Entry(q)];
  }
};

/* Old entry e of those that move goes to its row's new segment. */
template <typename Offset>
struct MoveOld {
  Appending<Offset> a;

  __device__ PetscCount FindRow(PetscCount e) const // the last new entry with no more than e moved before it
  {
    return PartitionPoint((PetscCount)0, a.rows.num, [&](PetscCount q) { return a.before[q].moved <= e; }) - 1;
  }
  __device__ void operator()(PetscCount e) const
  {
    const PetscCount first = FindRow(e), index = e - a.before[first].moved;
    const RowPlan    plan   = a.Plan(first);
    const PetscCount from   = plan.old_begin + index;
    const int32_t    column = a.view.columns[from];
    const PetscCount to     = a.view.used + a.before[first].pool + index + a.rows.CountBelowColumn(first, a.rows.End(first), column);

    a.view.columns[to] = column;
    if (a.view.values) a.view.values[to] = a.view.values[from];
  }
};

/* A new entry goes to its position; where the row is merged in place, its first new entry does all of it. */
template <typename Offset>
struct PositionNew {
  Appending<Offset> a;

  __device__ void MergeInPlace(PetscCount first, const RowPlan &plan) const
  {
    int32_t i = plan.num_old - 1, j = plan.new_size - plan.num_old - 1;

    for (PetscCount k = plan.old_begin + plan.new_size - 1; j >= 0; k--) {
      if (i >= 0 && a.view.columns[plan.old_begin + i] > a.rows.keys.Column(first + j)) {
        a.view.columns[k] = a.view.columns[plan.old_begin + i];
        if (a.view.values) a.view.values[k] = a.view.values[plan.old_begin + i];
        i--;
      } else a.Put(k, first + j--);
    }
  }
  __device__ void operator()(PetscCount q) const
  {
    const PetscCount first = a.rows.Begin(q);
    const RowPlan    plan  = a.Plan(first);

    if (plan.length == 0) {
      if (q == first) MergeInPlace(first, plan);
      return;
    }
    a.Put(a.view.used + a.before[first].pool + (q - first) + (LowerBound(a.view.columns, plan.old_begin, plan.old_begin + plan.num_old, a.rows.keys.Column(q)) - plan.old_begin), q);
  }
};

/* Afterwards the rows learn of it. */
template <typename Offset>
struct CommitRow {
  Appending<Offset> a;

  __device__ void operator()(PetscCount q) const
  {
    if (!a.rows.IsLeader(q)) return;
    const PetscInt   row   = a.rows.keys.Row(q);
    const RowPlan    plan  = a.Plan(q);
    const PetscCount begin = a.view.used + a.before[q].pool;
    Offset          *pair  = (Offset *)a.view.segments + 2 * (row + plan.segment * a.view.pitch);

    if (plan.length > 0) {
      // only the last segment may be partly used
      if (plan.segment > 0 && plan.num_old == 0) {
        Offset *last = pair - 2 * a.view.pitch;
        Offset  left = plan.row_size;

        for (PetscInt s = 0; s + 1 < plan.segment; s++) left -= pair[2 * (s - plan.segment) * a.view.pitch + 1] - pair[2 * (s - plan.segment) * a.view.pitch];
        last[1] = last[0] + left;
      }
      pair[0] = (Offset)begin;
      pair[1] = (Offset)(begin + plan.length);
    }
    a.view.row_sizes[row] = plan.row_size + (plan.new_size - plan.num_old);
  }
};

} // namespace
