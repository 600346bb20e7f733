/*
  The 27-point stencil of PETSc's bench_kspsolve on a box: entries of the rows of a process, on its device or on the host.
*/
#include "scaling.h"

#define NUM_ENTRIES 27 // of a row, those outside of the box included
#define NUM_THREADS 256

/* Offset of a neighbor by its number, 0 to 26: -1, 0 or 1 in each direction. */
__host__ __device__ static inline int Offset(int number, int direction)
{
  const int digits = direction == 0 ? number : direction == 1 ? number / 3 : number / 9;

  return digits % 3 - 1;
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
    for (int number = 0; number < NUM_ENTRIES; number++) {
      const int  dx = Offset(number, 0), dy = Offset(number, 1), dz = Offset(number, 2);
      const bool inside = x + dx >= 0 && x + dx < g.nx && y + dy >= 0 && y + dy < g.ny && z + dz >= 0 && z + dz < g.nz;

      if ((dx != 0) + (dy != 0) + (dz != 0) != away) continue;
      i[k] = inside ? row : -1;
      j[k] = inside ? row + dx + g.nx * (dy + g.ny * dz) : -1;
      v[k] = h * StencilValue(away);
      k++;
    }
  }
}

__global__ void WriteRowsKernel(ScalingGrid g, PetscInt begin, PetscInt num_rows, double h, PetscInt *i, PetscInt *j, PetscScalar *v)
{
  const PetscCount r = (PetscCount)blockIdx.x * NUM_THREADS + threadIdx.x;

  if (r < num_rows) WriteRow(g, begin + (PetscInt)r, h, i + NUM_ENTRIES * r, j + NUM_ENTRIES * r, v + NUM_ENTRIES * r);
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
  e->n = (PetscCount)e->num_rows * NUM_ENTRIES;
  PetscCall(Allocate(e));
  if (!e->device) {
    for (PetscInt r = 0; r < e->num_rows; r++) WriteRow(*grid, begin + r, h, e->i + NUM_ENTRIES * (PetscCount)r, e->j + NUM_ENTRIES * (PetscCount)r, e->v + NUM_ENTRIES * (PetscCount)r);
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
