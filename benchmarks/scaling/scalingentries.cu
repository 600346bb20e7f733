/*
  The 27-point stencil of PETSc's bench_kspsolve on a box: entries of the rows of a process, on its device or on the host.
*/
#include "scaling.h"

#define NUM_NEIGHBORS 27 // of a point, itself included
#define NUM_THREADS   256

/* Offset of a neighbor by its number, 0 to 26: -1, 0 or 1 in each direction. */
__host__ __device__ static inline int Offset(int number, int direction)
{
  const int digits = direction == 0 ? number : direction == 1 ? number / 3 : number / 9;

  return digits % 3 - 1;
}

/* Neighbors of x on a line of n points, itself included, and those of all points before x. */
__host__ __device__ static inline PetscCount LineCount(PetscInt n, PetscInt x)
{
  return 3 - (x == 0) - (x == n - 1);
}

__host__ __device__ static inline PetscCount LineBefore(PetscInt n, PetscInt x)
{
  return x == n ? 3 * (PetscCount)n - 2 : 3 * (PetscCount)x - (x > 0);
}

/* Entries of all rows before a row of the whole matrix; the number of rows is fine, too. */
__host__ __device__ static inline PetscCount EntriesBefore(ScalingGrid g, PetscInt row)
{
  const PetscInt   x = row % g.nx, y = row / g.nx % g.ny, z = row / g.nx / g.ny;
  const PetscCount line = LineBefore(g.nx, g.nx), plane = line * LineBefore(g.ny, g.ny);

  if (z == g.nz) return plane * LineBefore(g.nz, z);
  return plane * LineBefore(g.nz, z) + LineCount(g.nz, z) * (line * LineBefore(g.ny, y) + LineCount(g.ny, y) * LineBefore(g.nx, x));
}

/* The values of bench_kspsolve, without the factor h: corner, edge, face, center. */
__host__ __device__ static inline double StencilValue(int away)
{
  return away == 3 ? -1.0 / 13 : away == 2 ? -3.0 / 26 : away == 1 ? -3.0 / 13 : 44.0 / 13;
}

/* The entries of a row: corners, edges, faces and center one after the other. */
__host__ __device__ static inline void WriteRow(ScalingGrid g, PetscInt row, double h, PetscInt *i, PetscInt *j, PetscScalar *v)
{
  const PetscInt x = row % g.nx, y = row / g.nx % g.ny, z = row / g.nx / g.ny;
  int            k = 0;

  for (int away = 3; away >= 0; away--) {
    for (int number = 0; number < NUM_NEIGHBORS; number++) {
      const int dx = Offset(number, 0), dy = Offset(number, 1), dz = Offset(number, 2);

      if ((dx != 0) + (dy != 0) + (dz != 0) != away) continue;
      if (x + dx < 0 || x + dx >= g.nx || y + dy < 0 || y + dy >= g.ny || z + dz < 0 || z + dz >= g.nz) continue;
      i[k]   = row;
      j[k]   = row + dx + g.nx * (dy + g.ny * dz);
      v[k++] = h * StencilValue(away);
    }
  }
}

/* Rows of this process, from begin on. */
__host__ __device__ static inline void WriteOwnRow(ScalingGrid g, PetscInt begin, PetscInt r, double h, PetscInt *i, PetscInt *j, PetscScalar *v)
{
  const PetscCount k = EntriesBefore(g, begin + r) - EntriesBefore(g, begin);

  WriteRow(g, begin + r, h, i + k, j + k, v + k);
}

__global__ void WriteRowsKernel(ScalingGrid g, PetscInt begin, PetscInt num_rows, double h, PetscInt *i, PetscInt *j, PetscScalar *v)
{
  const PetscCount r = (PetscCount)blockIdx.x * NUM_THREADS + threadIdx.x;

  if (r < num_rows) WriteOwnRow(g, begin, (PetscInt)r, h, i, j, v);
}

static PetscErrorCode Allocate(ScalingEntries *e)
{
  PetscFunctionBegin;
  e->i = e->j = NULL;
  e->v        = NULL;
  if (e->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (!e->device) {
    PetscCall(PetscMalloc3(e->n, &e->i, e->n, &e->j, e->n, &e->v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  // not the library's pool: it would keep the memory, which is no part of what is measured
  PetscCallCUDA(cudaMalloc((void **)&e->i, (size_t)e->n * sizeof(*e->i)));
  PetscCallCUDA(cudaMalloc((void **)&e->j, (size_t)e->n * sizeof(*e->j)));
  PetscCallCUDA(cudaMalloc((void **)&e->v, (size_t)e->n * sizeof(*e->v)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ScalingEntriesCreate - see scaling.h */
PetscErrorCode ScalingEntriesCreate(Scaling *s, const ScalingGrid *grid, ScalingEntries *e)
{
  const double h = 1.0 / (double)(grid->nx - 1);
  PetscInt     begin;

  PetscFunctionBegin;
  PetscCheck(grid->nx > 1 && grid->ny > 1 && grid->nz > 1, s->comm, PETSC_ERR_ARG_OUTOFRANGE, "At least 2 points in each direction");
  PetscCheck((PetscReal)grid->nx * (PetscReal)grid->ny * (PetscReal)grid->nz < (PetscReal)PETSC_INT32_MAX, s->comm, PETSC_ERR_ARG_OUTOFRANGE, "Too many points for 32-bit row numbers");
  e->device     = s->device;
  e->num_rows   = PETSC_DECIDE;
  e->total_rows = grid->nx * grid->ny * grid->nz;
  PetscCall(PetscSplitOwnership(s->comm, &e->num_rows, &e->total_rows));
  PetscCallMPI(MPI_Scan(&e->num_rows, &begin, 1, MPIU_INT, MPI_SUM, s->comm));
  begin -= e->num_rows;
  e->n = EntriesBefore(*grid, begin + e->num_rows) - EntriesBefore(*grid, begin);
  PetscCall(Allocate(e));
  if (!e->device) {
    for (PetscInt r = 0; r < e->num_rows; r++) WriteOwnRow(*grid, begin, r, h, e->i, e->j, e->v);
  } else if (e->n > 0) {
    WriteRowsKernel<<<(unsigned int)((e->num_rows + NUM_THREADS - 1) / NUM_THREADS), NUM_THREADS>>>(*grid, begin, e->num_rows, h, e->i, e->j, e->v);
    PetscCallCUDA(cudaGetLastError());
    PetscCallCUDA(cudaDeviceSynchronize());
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ScalingEntriesDestroy - see scaling.h */
PetscErrorCode ScalingEntriesDestroy(ScalingEntries *e)
{
  PetscFunctionBegin;
  if (e->device) {
    PetscCallCUDA(cudaFree(e->i));
    PetscCallCUDA(cudaFree(e->j));
    PetscCallCUDA(cudaFree(e->v));
  } else PetscCall(PetscFree3(e->i, e->j, e->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}
