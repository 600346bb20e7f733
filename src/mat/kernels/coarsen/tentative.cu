/*
  The tentative prolongator: its structure, its values where the near null space is the vector of ones of single unknowns, and the rows of the near null space. Factorizations are in
  factor.cu.
*/
#include "../common/foreach.cuh"
#include "../common/offsets.cuh"
#include "../common/preload.cuh"
#include <petscsparsecuda/tentative.h>

namespace
{

/* The number of the aggregate that a vertex belongs to: of its root here, or by its place where the roots are elsewhere. */
struct NumberOf {
  DCSRAggregation a;
  bool            own;
  const int32_t  *numbers;

  __host__ __device__ int32_t operator()(PetscInt vertex, int32_t position) const { return own ? numbers[(PetscInt)a.parent[vertex] - a.begin] : numbers[position]; }
};

/* A row: its offset, and its columns, which are consecutive. */
struct FillRow {
  NumberOf        number;
  const int32_t  *positions;
  PetscInt        num_rows, row_block, num_columns;
  Offsets         offsets;
  int32_t        *columns;
  __device__ void operator()(PetscInt row) const
  {
    const PetscInt   vertex   = row / row_block;
    const int32_t    position = positions[vertex];
    const bool       has      = row < num_rows && positions[vertex + 1] > position;
    const PetscCount offset   = ((PetscCount)position * row_block + (has ? row - vertex * row_block : 0)) * num_columns;

    offsets.Set(row, offset);
    if (has) {
      const int32_t first = (int32_t)(number(vertex, position) * num_columns);

      for (PetscInt k = 0; k < num_columns; k++) columns[offset + k] = first + (int32_t)k;
    }
  }
};

/* LAPACK's reflector of m ones is -1 / sqrt(m) in each, and the identity for a single one. */
struct ConstantValue {
  NumberOf        number;
  const int32_t  *positions, *counts;
  PetscScalar    *values;
  __device__ void operator()(PetscInt vertex) const
  {
    const int32_t position = positions[vertex];

    if (positions[vertex + 1] > position) {
      const int32_t m = number.own ? counts[number(vertex, position)] : counts[position];

      values[position] = m == 1 ? (PetscReal)1 : -1 / PetscSqrtReal((PetscReal)m);
    }
  }
};

struct ConstantCoarse {
  const int32_t  *counts;
  PetscReal      *coarse;
  __device__ void operator()(PetscInt k) const { coarse[k] = counts[k] == 1 ? (PetscReal)1 : -PetscSqrtReal((PetscReal)counts[k]); }
};

struct PlaceRow {
  PetscInt           width;
  const int32_t     *places;
  const PetscScalar *from;
  PetscScalar       *to;
  __device__ void    operator()(PetscCount k) const { to[k] = from[places ? (PetscCount)places[k / width] * width + k % width : k]; }
};

struct PackRow {
  const int32_t   *vertices;
  PetscInt         num_rows, row_block, num_columns;
  const PetscReal *data;
  PetscReal       *packed;
  __device__ void  operator()(PetscCount k) const
  {
    const PetscCount packed_row = k / num_columns, column = k % num_columns;

    packed[k] = data[column * num_rows + vertices[packed_row / row_block] * (PetscCount)row_block + packed_row % row_block];
  }
};

struct Component {
  PetscInt        num_rows, row_block;
  PetscReal      *data;
  __device__ void operator()(PetscCount k) const { data[k] = (k % num_rows) % row_block == k / num_rows ? 1 : 0; }
};

struct One {
  PetscReal      *vector;
  __device__ void operator()(PetscInt k) const { vector[k] = 1; }
};

struct RealPart {
  const PetscScalar *x;
  PetscReal         *vector;
  __device__ void    operator()(PetscInt k) const { vector[k] = PetscRealPart(x[k]); }
};

} // namespace

/*
  DCSRTentativeStructure - Row offsets and columns of a block of the tentative prolongator; owner says which: own or foreign roots. Asynchronous
  positions [num_vertices + 1], device: of DCSRAggregatesPositions() for the same owner. numbers, device: [num_vertices] of DCSRAggregatesNumber(), or for foreign roots [positions] by position, in
  the numbering
  that columns are to have. row_block: rows of a vertex. num_columns: columns of an aggregate.
  view is compact, with num_vertices * row_block rows, allocated for as many entries as the positions have. Zeros of Q are stored, so that the structure depends on the aggregates alone.
*/
PetscErrorCode DCSRTentativeStructure(DCSRAggregation a, DCSRRootOwner owner, const int32_t positions[], const int32_t numbers[], PetscInt row_block, PetscInt num_columns, cudaStream_t stream,
                                      DCSRView view)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(view.num_rows + 1, FillRow{NumberOf{a, owner == DCSR_ROOT_OWN, numbers}, positions, view.num_rows, row_block, num_columns, Offsets(view), view.columns}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRTentativeConstant - Values [positions] (device) of a block of the tentative prolongator of single unknowns and the vector of ones; owner says which: own or foreign roots. Asynchronous
  positions and numbers are as for DCSRTentativeStructure(); numbers are not used for foreign roots. counts, device: sizes of the aggregates, [num_roots], or for foreign roots [positions] by position.
*/
PetscErrorCode DCSRTentativeConstant(DCSRAggregation a, DCSRRootOwner owner, const int32_t positions[], const int32_t numbers[], const int32_t counts[], PetscScalar values[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (a.num_vertices > 0) PetscCallCUDA(DCSRForEach(a.num_vertices, ConstantValue{NumberOf{a, owner == DCSR_ROOT_OWN, numbers}, positions, counts, values}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRTentativeConstantCoarse - R of aggregates of so many single unknowns and the vector of ones: counts and coarse [num_roots] on the device. Asynchronous on the stream. */
PetscErrorCode DCSRTentativeConstantCoarse(PetscInt num_roots, const int32_t counts[], PetscReal coarse[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (num_roots > 0) PetscCallCUDA(DCSRForEach(num_roots, ConstantCoarse{counts, coarse}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRTentativePackData - Rows of the near null space for other processes, of n vertices with row_block rows each. Asynchronous
  On the device: vertices [n], data [num_columns][num_rows], packed [n][row_block][num_columns].
*/
PetscErrorCode DCSRTentativePackData(PetscInt n, const int32_t vertices[], PetscInt num_rows, PetscInt row_block, PetscInt num_columns, const PetscReal data[], PetscReal packed[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (n > 0) PetscCallCUDA(DCSRForEach((PetscCount)n * row_block * num_columns, PackRow{vertices, num_rows, row_block, num_columns, data, packed}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRTentativePlaceRows - Row k of to [n][width] is row places[k] of from, or row k where places is NULL; all on the device. Asynchronous */
PetscErrorCode DCSRTentativePlaceRows(PetscInt n, PetscInt width, const int32_t places[], const PetscScalar from[], PetscScalar to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach((PetscCount)n * width, PlaceRow{width, places, from, to}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRTentativeSetComponents - The near null space of constant components: data [row_block][num_rows] on the device. Asynchronous on the stream. */
PetscErrorCode DCSRTentativeSetComponents(PetscInt num_rows, PetscInt row_block, PetscReal data[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (num_rows > 0) PetscCallCUDA(DCSRForEach((PetscCount)num_rows * row_block, Component{num_rows, row_block, data}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRTentativeSetOnes - A vector of ones [num_rows] on the device. Asynchronous on the stream. */
PetscErrorCode DCSRTentativeSetOnes(PetscInt num_rows, PetscReal vector[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (num_rows > 0) PetscCallCUDA(DCSRForEach(num_rows, One{vector}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRTentativeSetRealPart - The real part of x, both [num_rows] on the device. Asynchronous on the stream. */
PetscErrorCode DCSRTentativeSetRealPart(PetscInt num_rows, const PetscScalar x[], PetscReal vector[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (num_rows > 0) PetscCallCUDA(DCSRForEach(num_rows, RealPart{x, vector}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// of nearly every setup of PCGAMG
DCSRPreload(DCSRForEachKernel<PetscInt, FillRow>);
