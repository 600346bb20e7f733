static char help[] = "Aggregates in order: numbers of roots, places, sizes, vertices with roots elsewhere, members of each aggregate; out of memory at each allocation.\n\n";

#include "../entries/kerneltest.h"
#include "aggregation.h"
#include "../../../lib/sys.h"

/* Numbers of roots, and sizes of aggregates. */
static PetscErrorCode TestNumbers(const TestAggregation *t, const int32_t numbers[], cudaStream_t stream)
{
  const PetscInt n      = t->a.num_vertices;
  int32_t       *counts = NULL, *host, *sizes;

  PetscFunctionBegin;
  PetscCall(TestToHost((size_t)n, numbers, stream, &host));
  for (PetscInt v = 0; v < n; v++)
    PetscCheck(t->numbers[v] < 0 || host[v] == t->numbers[v], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Root %" PetscInt_FMT " has number %d, not %d", v, (int)host[v], (int)t->numbers[v]);
  PetscCall(PetscSparseCUDAMalloc(t->a.num_roots, "sizes", stream, &counts));
  if (t->a.num_roots > 0) PetscCallCUDA(cudaMemsetAsync(counts, 0, (size_t)t->a.num_roots * sizeof(*counts), stream));
  PetscCall(DCSRAggregatesCount(t->a, numbers, counts, stream));
  PetscCall(TestToHost((size_t)t->a.num_roots, counts, stream, &sizes));
  for (PetscInt k = 0; k < t->foreign.num; k++) sizes[t->arrays[k]]++;
  for (PetscInt k = 0; k < t->a.num_roots; k++)
    PetscCheck(sizes[k] == t->offsets[k + 1] - t->offsets[k], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Aggregate %" PetscInt_FMT " has %d members, not %d", k, (int)sizes[k],
               (int)(t->offsets[k + 1] - t->offsets[k]));
  PetscCall(PetscFree(host));
  PetscCall(PetscFree(sizes));
  PetscCall(PetscSparseCUDAFree(&counts, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vertices with roots here, or elsewhere and then their list. */
static PetscErrorCode TestPositions(const TestAggregation *t, DCSRRootOwner owner, cudaStream_t stream)
{
  const PetscInt n         = t->a.num_vertices;
  int32_t       *positions = NULL, *host, *lists = NULL, *listed, position = 0;
  PetscInt       num;

  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAMalloc((size_t)n + 1, "places", stream, &positions));
  PetscCall(DCSRAggregatesPositions(t->a, owner, positions, stream));
  PetscCall(TestToHost((size_t)n + 1, positions, stream, &host));
  num = host[n];
  PetscCall(PetscSparseCUDAMalloc(3 * (size_t)num, "lists", stream, &lists));
  if (owner == DCSR_ROOT_FOREIGN) PetscCall(DCSRAggregatesListForeign(t->a, positions, lists, lists + num, lists + 2 * num, stream));
  PetscCall(TestToHost(3 * (size_t)num, lists, stream, &listed));
  for (PetscInt v = 0; v < n; v++) {
    const PetscBool own = (PetscBool)(t->parent[v] >= t->a.begin && t->parent[v] < t->a.begin + n);

    PetscCheck(host[v] == position, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Vertex %" PetscInt_FMT " at place %d, not %d", v, (int)host[v], (int)position);
    if (t->parent[v] < 0 || own != (owner == DCSR_ROOT_OWN)) continue;
    if (owner == DCSR_ROOT_FOREIGN) {
      const int32_t group = t->a.by_number ? 0 : t->a.first != NULL && t->first[v] != t->parent[v] ? 4 : 2;

      PetscCheck(listed[position] == v && listed[num + position] == t->parent[v] && listed[2 * num + position] == group, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Vertex %" PetscInt_FMT " is listed as %d with root %d in group %d", v, (int)listed[position], (int)listed[num + position], (int)listed[2 * num + position]);
    }
    position++;
  }
  PetscCheck(host[n] == position, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%d places, not %d", (int)host[n], (int)position);
  PetscCall(PetscFree(host));
  PetscCall(PetscFree(listed));
  PetscCall(PetscSparseCUDAFree(&positions, stream));
  PetscCall(PetscSparseCUDAFree(&lists, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Fails at one allocation after the other until all succeed; what fails leaves nothing behind. */
static PetscErrorCode SortFailing(const TestAggregation *t, const int32_t numbers[], cudaStream_t stream, DCSRMembers *m)
{
  PetscErrorCode ierr = PETSC_ERR_MEM;
  size_t         before, after;

  PetscFunctionBegin;
  for (PetscInt n = 1; ierr != PETSC_SUCCESS; n++) {
    PetscCheck(n < 200, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Never succeeds");
    PetscCall(KernelTestMemoryInUse(stream, &before));
    TestLibCallFailing(n, ierr, DCSRAggregatesSort(t->a, numbers, t->foreign, stream, m));
    PetscCall(KernelTestMemoryInUse(stream, &after));
    PetscCheck(ierr == PETSC_SUCCESS || after == before, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%zu bytes in use after an error, %zu before", after, before);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestOrder(const TestAggregation *t, const int32_t numbers[], PetscBool failing, cudaStream_t stream)
{
  const PetscInt n        = t->a.num_roots;
  PetscCount     max_size = 0;
  DCSRMembers    m;
  int64_t       *offsets;
  uint32_t      *members;

  PetscFunctionBegin;
  if (failing) PetscCall(SortFailing(t, numbers, stream, &m));
  else PetscCall(DCSRAggregatesSort(t->a, numbers, t->foreign, stream, &m));
  PetscCheck(m.num_aggregates == n && m.num_members == t->offsets[n], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscInt_FMT " aggregates with %" PetscCount_FMT " members", m.num_aggregates,
             m.num_members);
  PetscCall(PetscMalloc2(n + 1, &offsets, m.num_members, &members));
  if (n > 0) PetscCall(KernelTestToHost(((size_t)n + 1) * sizeof(*offsets), m.offsets, stream, offsets));
  PetscCall(KernelTestToHost((size_t)m.num_members * sizeof(*members), m.members, stream, members));
  for (PetscInt k = 0; k < n; k++) {
    max_size = PetscMax(max_size, (PetscCount)(t->offsets[k + 1] - t->offsets[k]));
    PetscCheck(offsets[k] == t->offsets[k] && offsets[k + 1] == t->offsets[k + 1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Aggregate %" PetscInt_FMT " begins at %d, not %d", k, (int)offsets[k],
               (int)t->offsets[k]);
    for (int64_t p = offsets[k]; p < offsets[k + 1]; p++)
      PetscCheck(members[p] == t->members[p], PETSC_COMM_SELF, PETSC_ERR_PLIB, "Member %d of aggregate %" PetscInt_FMT " is %u, not %u", (int)(p - offsets[k]), k, members[p], t->members[p]);
  }
  PetscCheck(m.max_size == max_size, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Largest aggregate of %" PetscCount_FMT ", not %" PetscCount_FMT, m.max_size, max_size);
  PetscCall(PetscFree2(offsets, members));
  PetscCall(DCSRMembersDestroy(&m, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const TestAggregationKind *kind, cudaStream_t stream)
{
  TestAggregation t;
  int32_t        *numbers = NULL;

  PetscFunctionBegin;
  PetscCall(TestAggregationCreate(kind, stream, &t));
  PetscCall(PetscSparseCUDAMalloc(kind->n, "numbers", stream, &numbers));
  PetscCall(DCSRAggregatesNumber(t.a, numbers, stream));
  PetscCall(TestNumbers(&t, numbers, stream));
  PetscCall(TestPositions(&t, DCSR_ROOT_OWN, stream));
  PetscCall(TestPositions(&t, DCSR_ROOT_FOREIGN, stream));
  PetscCall(TestOrder(&t, numbers, (PetscBool)(kind->n == 60), stream));
  PetscCall(PetscSparseCUDAFree(&numbers, stream));
  PetscCall(TestAggregationDestroy(&t, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  cudaStream_t stream;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscSparseCUDAGetStream(&stream));
  for (PetscInt k = 0; k < TestAggregationNumKinds; k++) PetscCall(Test(&TestAggregationKinds[k], stream));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   test:
      requires: cuda
      output_file: output/empty.out

TEST*/
