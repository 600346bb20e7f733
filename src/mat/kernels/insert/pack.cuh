#pragma once
/*
  What a row and a column become: a key.
*/
#include <petscsparsecuda/insert.h>

namespace
{

constexpr uint64_t NO_KEY  = ~(uint64_t)0;      // of an entry that does not count
constexpr uint64_t BAD_ROW = (uint64_t)1 << 63; // in place of the key of an entry whose row is too large, with the row; without this bit: the column

/* The key of an entry, NO_KEY when it does not count; the index itself, and *bad, when that is too large. */
struct PackEntry {
  DCSRWindow      window;
  const PetscInt *rows, *columns;
  int             column_bits;

  /* Of given entry k. */
  __device__ uint64_t operator()(PetscCount k, bool *bad) const { return Key(rows[k], columns[k], bad); }

  __device__ uint64_t Key(PetscInt row, PetscInt column, bool *bad) const
  {
    bool inside;

    if (row < 0 || column < 0) return NO_KEY;
    *bad = row >= window.num_global_rows || column >= window.num_global_columns;
    if (*bad) return row >= window.num_global_rows ? BAD_ROW | (uint64_t)row : (uint64_t)column;
    if (row < window.row_begin || row >= window.row_end) return NO_KEY;
    inside = column >= window.column_begin && column < window.column_end;
    if (inside == (bool)window.outside) return NO_KEY;
    return (uint64_t)(row - window.row_begin) << column_bits | (uint64_t)(inside ? column - window.column_begin : column);
  }
};

} // namespace
