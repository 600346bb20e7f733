/*
  Aggregates in order. Roots are numbered in the order of the vertices. One stable radix sort of all vertices by (coarse number, group) puts the members of each aggregate into the order
  that PETSc's lists have, because vertices come to it in the order of their numbers.
*/
#include "../common/foreach.cuh"
#include "../common/sort.h"
#include "../common/sum.cuh"
#include <cub/device/device_reduce.cuh>
#include <petscsparsecuda/common.h>
#include <petscsparsecuda/tentative.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

namespace
{

/* Groups of members, in the order of PETSc's lists. */
enum Group {
  GROUP_ROOT,
  GROUP_OWN,
  GROUP_FOREIGN,
  GROUP_TAKEN,        // own, from another root by this one in its row
  GROUP_FOREIGN_TAKEN // of another process, with the root in its row
};
constexpr int GROUP_BITS = 3;

/* The root of a vertex as a local number, negative or too large when it is not of this process. */
__host__ __device__ inline PetscInt LocalRoot(const DCSRAggregation &a, PetscInt vertex)
{
  return (PetscInt)a.parent[vertex] - a.begin;
}

__host__ __device__ inline bool HasOwnRoot(const DCSRAggregation &a, PetscInt vertex)
{
  return LocalRoot(a, vertex) >= 0 && LocalRoot(a, vertex) < a.num_vertices;
}

__host__ __device__ inline int GroupOf(const DCSRAggregation &a, PetscInt vertex)
{
  const bool taken = a.first != NULL && a.first[vertex] != a.parent[vertex];

  if (a.by_number || LocalRoot(a, vertex) == vertex) return GROUP_ROOT;
  if (HasOwnRoot(a, vertex)) return taken ? GROUP_TAKEN : GROUP_OWN;
  return taken ? GROUP_FOREIGN_TAKEN : GROUP_FOREIGN;
}

struct IsRoot {
  DCSRAggregation             a;
  __host__ __device__ int32_t operator()(PetscInt vertex) const { return LocalRoot(a, vertex) == vertex; }
};

/* Nothing comes behind the last vertex: the last position is their number. */
struct HasPosition {
  DCSRAggregation             a;
  bool                        own;
  __host__ __device__ int32_t operator()(PetscInt vertex) const { return vertex < a.num_vertices && a.parent[vertex] >= 0 && HasOwnRoot(a, vertex) == own; }
};

struct CountMember {
  DCSRAggregation a;
  const int32_t  *numbers;
  int32_t        *counts;
  __device__ void operator()(PetscInt vertex) const
  {
    if (HasOwnRoot(a, vertex)) atomicAdd(counts + numbers[LocalRoot(a, vertex)], 1);
  }
};

struct CountNumber {
  const int32_t  *numbers;
  int32_t        *counts;
  __device__ void operator()(PetscInt k) const { atomicAdd(counts + numbers[k], 1); }
};

struct GatherNumber {
  const int32_t  *at, *from;
  int32_t        *to;
  __device__ void operator()(PetscInt k) const { to[k] = from[at[k]]; }
};

struct ListForeign {
  DCSRAggregation          a;
  const int32_t           *positions;
  int32_t                 *vertices, *parents, *groups;
  __host__ __device__ void operator()(PetscInt vertex) const
  {
    const int32_t position = positions[vertex];

    if (positions[vertex + 1] == position) return;
    vertices[position] = (int32_t)vertex;
    parents[position]  = a.parent[vertex];
    groups[position]   = GroupOf(a, vertex);
  }
};

/* What is sorted: foreign members from below, own vertices, foreign members from above. Vertices in no aggregate get the largest key. */
template <typename Key>
struct MakeKey {
  DCSRAggregation          a;
  const int32_t           *numbers;
  DCSRForeignMembers       foreign;
  Key                     *keys;
  uint32_t                *members;
  __host__ __device__ void operator()(PetscCount p) const
  {
    const PetscCount vertex = p - foreign.num_below;

    if (vertex >= 0 && vertex < a.num_vertices) {
      keys[p]    = (Key)(HasOwnRoot(a, (PetscInt)vertex) ? numbers[LocalRoot(a, (PetscInt)vertex)] : a.num_roots) << GROUP_BITS;
      members[p] = (uint32_t)vertex;
      if (HasOwnRoot(a, (PetscInt)vertex)) keys[p] += (Key)GroupOf(a, (PetscInt)vertex);
    } else {
      const PetscCount k = vertex < 0 ? p : p - a.num_vertices;

      keys[p]    = ((Key)foreign.numbers[k] << GROUP_BITS) + (Key)foreign.groups[k];
      members[p] = (uint32_t)(a.num_vertices + foreign.slots[k]);
    }
  }
};

/* An aggregate begins where the coarse number changes. No aggregate is empty, since its root is a member. */
template <typename Key>
struct FindAggregate {
  const Key               *keys;
  PetscCount               num_keys;
  PetscInt                 num_aggregates;
  int64_t                 *offsets;
  __host__ __device__ void operator()(PetscCount p) const
  {
    const PetscCount number = p < num_keys ? (PetscCount)(keys[p] >> GROUP_BITS) : (PetscCount)num_aggregates;
    const PetscCount before = p > 0 ? (PetscCount)(keys[p - 1] >> GROUP_BITS) : -1;

    for (PetscCount k = before + 1; k <= number; k++) offsets[k] = p;
  }
};

struct SizeOfAggregate {
  const int64_t              *offsets;
  __host__ __device__ int64_t operator()(PetscInt k) const { return offsets[k + 1] - offsets[k]; }
};

/* Sorts into m->members, whose storage may be larger than it need be, and finds where aggregates begin. */
template <typename Key>
PetscErrorCode Sort(DCSRAggregation a, const int32_t numbers[], DCSRForeignMembers foreign, cudaStream_t stream, DCSRMembers *m)
{
  const PetscCount n          = a.num_vertices + (PetscCount)foreign.num;
  const int        bits       = DCSRKeyBits(a.num_roots + 1) + GROUP_BITS;
  Key             *keys[2]    = {NULL, NULL};
  uint32_t        *members[2] = {NULL, NULL};
  PetscErrorCode   ierr       = PETSC_SUCCESS;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "members of aggregates", stream, &members[k]));
  for (int k = 0; k < 2; k++) PetscCallGoto(ierr, cleanup, PetscSparseCUDAMalloc(n, "keys of members", stream, &keys[k]));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n, MakeKey<Key>{a, numbers, foreign, keys[0], members[0]}, stream));
  if constexpr (sizeof(Key) == sizeof(uint32_t)) PetscCallGoto(ierr, cleanup, DCSRSortBuffers32With32("workspace to sort members", n, bits, keys, members, stream));
  else PetscCallGoto(ierr, cleanup, DCSRSortBuffers64With32("workspace to sort members", n, bits, keys, members, stream));
  PetscCallCUDAGoto(ierr, cleanup, DCSRForEach(n + 1, FindAggregate<Key>{keys[0], n, a.num_roots, m->offsets}, stream));
  m->members = members[0];
  members[0] = NULL;
cleanup:
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&keys[k], stream));
  for (int k = 0; k < 2; k++) PetscCall(PetscSparseCUDAFree(&members[k], stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many members there are, and the size of the largest aggregate; synchronizes. */
PetscErrorCode GetFacts(cudaStream_t stream, DCSRMembers *m)
{
  const auto     sizes = thrust::make_transform_iterator(thrust::counting_iterator<PetscInt>(0), SizeOfAggregate{m->offsets});
  int64_t       *facts = NULL, host[2];
  PetscErrorCode ierr  = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc(2, "facts of aggregates", stream, &facts));
  PetscCallCUDAGoto(ierr, cleanup, cudaMemcpyAsync(facts, m->offsets + m->num_aggregates, sizeof(*facts), cudaMemcpyDeviceToDevice, stream));
  PetscCallGoto(ierr, cleanup, DCSRWithTemporary("workspace of sizes of aggregates", m->num_aggregates, stream, [&](void *storage, size_t &bytes) {
                  return cub::DeviceReduce::Max(storage, bytes, sizes, facts + 1, m->num_aggregates, stream);
                }));
  PetscCallGoto(ierr, cleanup, PetscSparseCUDACopyToHost(host, facts, sizeof(host), stream));
  m->num_members = (PetscCount)host[0];
  m->max_size    = (PetscCount)host[1];
cleanup:
  PetscCall(PetscSparseCUDAFree(&facts, stream));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace

/*
  DCSRAggregatesNumber - Numbers the roots of this process in the order of their vertices. Asynchronous
  numbers [num_vertices], device: at a root its coarse number, that of the next root elsewhere.
*/
PetscErrorCode DCSRAggregatesNumber(DCSRAggregation a, int32_t numbers[], cudaStream_t stream)
{
  const auto roots = thrust::make_transform_iterator(thrust::counting_iterator<PetscInt>(0), IsRoot{a});

  PetscFunctionBegin;
  PetscCall(DCSRSum("workspace to number roots", roots, (PetscCount)a.num_vertices, numbers, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAggregatesPlace - Numbers the vertices that have a row block in the diagonal or in the off-diagonal block of the prolongator: owner is that of their roots. Asynchronous
  positions [num_vertices + 1], device: how many of them come before; the last entry is their number.
*/
PetscErrorCode DCSRAggregatesPositions(DCSRAggregation a, DCSRRootOwner owner, int32_t positions[], cudaStream_t stream)
{
  const auto has = thrust::make_transform_iterator(thrust::counting_iterator<PetscInt>(0), HasPosition{a, owner == DCSR_ROOT_OWN});

  PetscFunctionBegin;
  PetscCall(DCSRSum("workspace to place vertices", has, (PetscCount)a.num_vertices + 1, positions, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAggregatesCount - Adds the number of own members to each aggregate. Asynchronous
  numbers [num_vertices], device: of DCSRAggregatesNumber(). counts [num_roots], device: sums of integers, the same for any order.
*/
PetscErrorCode DCSRAggregatesCount(DCSRAggregation a, const int32_t numbers[], int32_t counts[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (a.num_roots > 0) PetscCallCUDA(DCSRForEach(a.num_vertices, CountMember{a, numbers, counts}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRAggregatesCountForeign - Adds one for each of n members elsewhere: numbers [n], device, are of their aggregates. Asynchronous */
PetscErrorCode DCSRAggregatesCountForeign(PetscInt n, const int32_t numbers[], int32_t counts[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, CountNumber{numbers, counts}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* DCSRAggregatesGather - to[k] = from[at[k]], at and to [n], all on the device. Asynchronous */
PetscErrorCode DCSRAggregatesGather(PetscInt n, const int32_t at[], const int32_t from[], int32_t to[], cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCallCUDA(DCSRForEach(n, GatherNumber{at, from, to}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAggregatesListForeign - Lists the vertices of this process that belong to aggregates of others. Asynchronous
  positions [num_vertices + 1], device: of DCSRAggregatesPositions() with DCSR_ROOT_FOREIGN. Each [their number], device: vertices, their local numbers, ascending; parents, global numbers
  of their roots; groups, where the owner of the root sorts them in.
*/
PetscErrorCode DCSRAggregatesListForeign(DCSRAggregation a, const int32_t positions[], int32_t vertices[], int32_t parents[], int32_t groups[], cudaStream_t stream)
{
  PetscFunctionBegin;
  if (a.num_vertices > 0) PetscCallCUDA(DCSRForEach(a.num_vertices, ListForeign{a, positions, vertices, parents, groups}, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  DCSRAggregatesSort - The members of all aggregates of this process in the order of PETSc's lists; waits for the work
  numbers [num_vertices], device: of DCSRAggregatesNumber(). foreign: members on other processes. m is to be freed with DCSRMembersDestroy(); it is zero after an error.
  Cost: a radix sort of all vertices by as many bits as coarse numbers have, and 3 more; one readback of 16 bytes.
*/
PetscErrorCode DCSRAggregatesSort(DCSRAggregation a, const int32_t numbers[], DCSRForeignMembers foreign, cudaStream_t stream, DCSRMembers *m)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(m, 1));
  m->num_aggregates = a.num_roots;
  if (a.num_roots == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscSparseCUDAMalloc((size_t)a.num_roots + 1, "offsets of aggregates", stream, &m->offsets));
  if (DCSRKeyBits(a.num_roots + 1) + GROUP_BITS <= 32) PetscCallGoto(ierr, failed, Sort<uint32_t>(a, numbers, foreign, stream, m));
  else PetscCallGoto(ierr, failed, Sort<uint64_t>(a, numbers, foreign, stream, m));
  PetscCallGoto(ierr, failed, GetFacts(stream, m));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(DCSRMembersDestroy(m, stream));
  PetscFunctionReturn(ierr);
}

/* DCSRMembersDestroy - Frees what DCSRAggregatesSort() made; zero afterwards. */
PetscErrorCode DCSRMembersDestroy(DCSRMembers *m, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAFree(&m->offsets, stream));
  PetscCall(PetscSparseCUDAFree(&m->members, stream));
  PetscCall(PetscArrayzero(m, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}
