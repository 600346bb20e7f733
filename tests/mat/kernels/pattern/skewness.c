static char help[] = "The skewness of patterns: zero for symmetric ones and for no others, as a whole and in blocks of two processes.\n\n";

#include "../entries/kerneltest.h"
#include <petscsparsecuda/pattern.h>

/* A or A + A^T, structure alone, on the host. */
static PetscErrorCode Symmetrize(const KernelTestMatrix *A, KernelTestMatrix *S)
{
  PetscInt *next;

  PetscFunctionBegin;
  S->name = "symmetrized";
  S->m = S->n = A->m;
  PetscCall(PetscCalloc1(A->m + 1, &S->i));
  PetscCall(PetscMalloc2(2 * A->nz, &S->j, 2 * A->nz, &S->a));
  PetscCall(PetscCalloc1(A->m + 1, &next));
  for (PetscInt r = 0; r < A->m; r++) {
    next[r + 1] += A->i[r + 1] - A->i[r];
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) next[A->j[k] + 1]++;
  }
  for (PetscInt r = 0; r < A->m; r++) next[r + 1] += next[r];
  for (PetscInt r = 0; r <= A->m; r++) S->i[r] = next[r];
  for (PetscInt r = 0; r < A->m; r++) {
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
      S->j[next[r]++]       = A->j[k];
      S->j[next[A->j[k]]++] = r;
    }
  }
  S->nz = 0;
  for (PetscInt r = 0; r < A->m; r++) {
    PetscInt n = S->i[r + 1] - S->i[r], *row = S->j + S->i[r];

    PetscCall(PetscSortRemoveDupsInt(&n, row));
    S->i[r] = (PetscInt)S->nz;
    for (PetscInt k = 0; k < n; k++) S->j[S->nz++] = row[k];
  }
  S->i[A->m] = (PetscInt)S->nz;
  for (PetscCount k = 0; k < S->nz; k++) S->a[k] = 1;
  PetscCall(PetscFree(next));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Check(const KernelTestMatrix *A, const uint64_t skewness[], PetscBool symmetric, const char what[])
{
  PetscFunctionBegin;
  PetscCheck((PetscBool)(skewness[0] == 0 && skewness[1] == 0) == symmetric, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: should be %s", A->name, what, symmetric ? "symmetric" : "skew");
  PetscCheck(symmetric || (skewness[0] != 0 && skewness[1] != 0), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: one of the sums is zero", A->name, what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows [begin, end) and the columns among these, or the others, by their positions in ghosts, which ascend. */
static PetscErrorCode GetBlock(const KernelTestMatrix *A, PetscInt begin, PetscInt end, PetscBool own, PetscInt positions[], PetscInt ghosts[], KernelTestMatrix *B)
{
  PetscFunctionBegin;
  B->name = A->name;
  B->m    = end - begin;
  B->n    = own ? end - begin : 0;
  B->nz   = 0;
  PetscCall(PetscMalloc1(B->m + 1, &B->i));
  PetscCall(PetscMalloc2(A->nz, &B->j, A->nz, &B->a));
  for (PetscInt c = 0; c < A->n; c++) positions[c] = -1;
  for (PetscInt k = A->i[begin]; k < A->i[end]; k++)
    if (A->j[k] < begin || A->j[k] >= end) positions[A->j[k]] = 0;
  for (PetscInt c = 0; c < A->n && !own; c++) {
    if (positions[c] < 0) continue;
    ghosts[B->n] = c;
    positions[c] = B->n++;
  }
  for (PetscInt r = begin; r < end; r++) {
    B->i[r - begin] = (PetscInt)B->nz;
    for (PetscInt k = A->i[r]; k < A->i[r + 1]; k++) {
      const PetscBool inside = (PetscBool)(A->j[k] >= begin && A->j[k] < end);

      if (inside == own) B->j[B->nz++] = own ? A->j[k] - begin : positions[A->j[k]];
    }
  }
  B->i[B->m] = (PetscInt)B->nz;
  for (PetscCount k = 0; k < B->nz; k++) B->a[k] = 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The four blocks of two processes add up. */
static PetscErrorCode TestBlocks(const KernelTestMatrix *A, PetscBool symmetric, cudaStream_t stream)
{
  const KernelTestStorage compact = {"compact", PETSC_FALSE, 0, 0};
  PetscInt               *positions, *ghosts;
  uint64_t                sum[DCSR_PATTERN_WORDS] = {0, 0}, part[DCSR_PATTERN_WORDS];

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(A->n, &positions, A->n, &ghosts));
  for (int block = 0; block < 4; block++) {
    const PetscInt   begin = block / 2 ? A->m / 3 : 0, end = block / 2 ? A->m : A->m / 3;
    const PetscBool  own = (PetscBool)(block % 2 == 0);
    KernelTestMatrix B;
    DCSRView         view;
    int32_t         *device = NULL;

    PetscCall(GetBlock(A, begin, end, own, positions, ghosts, &B));
    PetscCall(KernelTestViewCreate(&B, &compact, stream, &view));
    if (!own) {
      PetscCall(PetscSparseCUDAMalloc(B.n, "ghost columns", stream, &device));
      PetscCall(DCSRCopyColumnsToDevice(B.n, ghosts, device, stream));
    }
    PetscCall(DCSRPatternSkewness(view, begin, begin, device, stream, part));
    for (int k = 0; k < DCSR_PATTERN_WORDS; k++) sum[k] += part[k];
    PetscCall(PetscSparseCUDAFree(&device, stream));
    PetscCall(KernelTestViewDestroy(&view, stream));
    PetscCall(KernelTestMatrixDestroy(&B));
  }
  PetscCall(Check(A, sum, symmetric, "in blocks"));
  PetscCall(PetscFree2(positions, ghosts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestWhole(const KernelTestMatrix *A, const KernelTestStorage *storage, PetscBool symmetric, cudaStream_t stream)
{
  DCSRView view;
  uint64_t skewness[DCSR_PATTERN_WORDS];

  PetscFunctionBegin;
  PetscCall(KernelTestViewCreate(A, storage, stream, &view));
  PetscCall(DCSRPatternSkewness(view, 0, 0, NULL, stream, skewness));
  PetscCall(Check(A, skewness, symmetric, storage->name));
  PetscCall(KernelTestViewDestroy(&view, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, PETSC_UNUSED DCSRView view, cudaStream_t stream)
{
  KernelTestMatrix S;

  PetscFunctionBegin;
  if (A->m != A->n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Symmetrize(A, &S));
  PetscCall(TestWhole(A, storage, (PetscBool)(A->nz == S.nz), stream));
  PetscCall(TestWhole(&S, storage, PETSC_TRUE, stream));
  PetscCall(TestBlocks(A, (PetscBool)(A->nz == S.nz), stream));
  PetscCall(TestBlocks(&S, PETSC_TRUE, stream));
  PetscCall(KernelTestMatrixDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  return (int)KernelTestMain(argc, argv, help, Test);
}

/*TEST

   test:
      suffix: 1
      requires: cuda
      output_file: output/empty.out

TEST*/
