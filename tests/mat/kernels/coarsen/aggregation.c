/* Aggregates for the tests of kernels. */
#include "aggregation.h"
#include <stdlib.h>

#define ABOVE 100000 /* numbers of vertices of higher processes */

const TestAggregationKind TestAggregationKinds[] = {
  {0, 0, 10, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},        {1, 0, 1, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},        {5, 0, 0, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE},
  {60, 300, 7, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},       {60, 300, 7, PETSC_TRUE, PETSC_FALSE, PETSC_FALSE},     {60, 300, 7, PETSC_TRUE, PETSC_FALSE, PETSC_TRUE},
  {0, 300, 7, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},        {40, 300, 0, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE},      {2000, 0, 1, PETSC_FALSE, PETSC_TRUE, PETSC_FALSE},
  {100000, 5000, 30, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE}, {200000, 0, 999, PETSC_FALSE, PETSC_FALSE, PETSC_TRUE},
};
const PetscInt TestAggregationNumKinds = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(TestAggregationKinds);

/* The same numbers every time. */
static uint32_t Random(uint64_t *state)
{
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

/* Parents: of roots themselves, of some nothing, of many one root that they share, of others any root, here or elsewhere. */
static void SetParents(const TestAggregationKind *kind, uint64_t *state, TestAggregation *t)
{
  const PetscInt n     = kind->n;
  PetscInt      *roots = NULL, num = 0;

  roots = (PetscInt *)malloc(((size_t)n + 1) * sizeof(*roots));
  for (PetscInt v = 0; v < n; v++) {
    const PetscBool root = (PetscBool)(kind->max_root > 0 && (Random(state) % (uint32_t)kind->max_root == 0 || v == n / 2));

    t->parent[v]  = (int32_t)(root ? kind->begin + v : -1);
    t->numbers[v] = root ? (int32_t)num : -1;
    if (root) roots[num++] = v;
  }
  for (PetscInt v = 0; v < n; v++) {
    const uint32_t r = Random(state) % 100, any = Random(state);

    if (t->numbers[v] < 0 && r >= 5) {
      if (kind->foreign && r < 20) t->parent[v] = (int32_t)(r % 2 ? any % (uint32_t)kind->begin : kind->begin + n + any % 50);
      else if (num > 0) t->parent[v] = (int32_t)(kind->begin + (r < 35 ? roots[num / 2] : roots[any % (uint32_t)num]));
    }
    t->first[v] = t->parent[v];
    if (t->numbers[v] < 0 && t->parent[v] >= 0 && r % 3 == 0) t->first[v] = num > 0 && r % 2 ? (int32_t)(kind->begin + roots[0]) : -1;
  }
  t->a.num_roots = num;
  free(roots);
}

/* Foreign members from below and from above, slots backwards. */
static void SetForeign(const TestAggregationKind *kind, uint64_t *state, TestAggregation *t)
{
  const PetscInt n = t->foreign.num;

  for (PetscInt k = 0; k < n; k++) {
    t->arrays[k]         = (int32_t)(Random(state) % (uint32_t)t->a.num_roots);
    t->arrays[n + k]     = kind->by_number ? 0 : kind->two_hops && Random(state) % 2 ? 4 : 2;
    t->arrays[2 * n + k] = (int32_t)(n - 1 - k);
  }
}

typedef struct {
  int64_t  number, group, id;
  uint32_t member;
} Member;

static int Compare(const void *x, const void *y)
{
  const Member *a = (const Member *)x, *b = (const Member *)y;

  if (a->number != b->number) return a->number < b->number ? -1 : 1;
  if (a->group != b->group) return a->group < b->group ? -1 : 1;
  return a->id < b->id ? -1 : a->id > b->id;
}

/* The lists: root, own vertices, others', own that were taken away, others' that were. */
static PetscErrorCode SetMembers(const TestAggregationKind *kind, TestAggregation *t)
{
  const PetscInt num_foreign = t->foreign.num;
  PetscInt       num         = 0;
  Member        *all;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(kind->n + num_foreign, &all));
  for (PetscInt v = 0; v < kind->n; v++) {
    const PetscInt  root  = t->parent[v] - kind->begin;
    const PetscBool taken = (PetscBool)(kind->two_hops && t->first[v] != t->parent[v]);

    if (t->parent[v] < 0 || root < 0 || root >= kind->n) continue;
    all[num++] = (Member){t->numbers[root], kind->by_number || root == v ? 0 : taken ? 3 : 1, kind->begin + v, (uint32_t)v};
  }
  for (PetscInt k = 0; k < num_foreign; k++)
    all[num++] = (Member){t->arrays[k], t->arrays[num_foreign + k], k < t->foreign.num_below ? k : ABOVE * 10 + k, (uint32_t)(kind->n + t->arrays[2 * num_foreign + k])};
  qsort(all, (size_t)num, sizeof(*all), Compare);
  PetscCall(PetscCalloc1(t->a.num_roots + 1, &t->offsets));
  PetscCall(PetscMalloc1(num, &t->members));
  for (PetscInt p = 0; p < num; p++) {
    t->members[p] = all[p].member;
    t->offsets[all[p].number + 1]++;
  }
  for (PetscInt k = 0; k < t->a.num_roots; k++) t->offsets[k + 1] += t->offsets[k];
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestAggregationCreate(const TestAggregationKind *kind, cudaStream_t stream, TestAggregation *t)
{
  uint64_t state = 1234567 + (uint64_t)kind->n;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(t, 1));
  PetscCall(PetscMalloc3(kind->n, &t->parent, kind->n, &t->first, kind->n, &t->numbers));
  SetParents(kind, &state, t);
  t->foreign.num       = kind->foreign && t->a.num_roots > 0 ? t->a.num_roots / 2 + 7 : 0;
  t->foreign.num_below = t->foreign.num / 3;
  PetscCall(PetscMalloc1(3 * t->foreign.num, &t->arrays));
  SetForeign(kind, &state, t);
  PetscCall(SetMembers(kind, t));
  PetscCall(KernelTestToDevice((size_t)kind->n * sizeof(int32_t), t->parent, stream, (void **)&t->device_parent));
  PetscCall(KernelTestToDevice((size_t)kind->n * sizeof(int32_t), t->first, stream, (void **)&t->device_first));
  PetscCall(KernelTestToDevice(3 * (size_t)t->foreign.num * sizeof(int32_t), t->arrays, stream, (void **)&t->device_arrays));
  t->foreign.numbers = t->device_arrays;
  t->foreign.groups  = PetscSafePointerPlusOffset(t->device_arrays, t->foreign.num);
  t->foreign.slots   = PetscSafePointerPlusOffset(t->device_arrays, 2 * t->foreign.num);
  t->a               = (DCSRAggregation){kind->n, kind->begin, t->a.num_roots, t->device_parent, kind->two_hops ? t->device_first : NULL, kind->by_number};
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestAggregationDestroy(TestAggregation *t, cudaStream_t stream)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(t->parent, t->first, t->numbers));
  PetscCall(PetscFree(t->arrays));
  PetscCall(PetscFree(t->offsets));
  PetscCall(PetscFree(t->members));
  PetscCall(PetscSparseCUDAFree(&t->device_parent, stream));
  PetscCall(PetscSparseCUDAFree(&t->device_first, stream));
  PetscCall(PetscSparseCUDAFree(&t->device_arrays, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode TestToHost(size_t n, const int32_t *device, cudaStream_t stream, int32_t **host)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, host));
  PetscCall(KernelTestToHost(n * sizeof(**host), device, stream, *host));
  PetscFunctionReturn(PETSC_SUCCESS);
}
