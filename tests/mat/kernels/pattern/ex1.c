static char help[] = "Hashes of patterns: equal structures have equal ones, whatever their values and the width of offsets; one entry moved gives another one.\n\n";

#include "../entries/kerneltest.h"
#include <petscsparsecuda/pattern.h>

static PetscErrorCode CheckEqual(const uint64_t a[], const uint64_t b[], PetscBool expected, cudaStream_t stream, const char name[], const char what[])
{
  PetscBool equal;

  PetscFunctionBegin;
  PetscCall(DCSRPatternHashEqual(a, b, stream, &equal));
  PetscCheck(equal == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s, %s: hashes are %s", name, what, equal ? "equal" : "different");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What differs from the matrix in one place has another hash; the matrix is put back. */
static PetscErrorCode TestChanged(KernelTestMatrix *A, PetscInt *number, PetscInt change, const uint64_t hash[], uint64_t other[], cudaStream_t stream, const char what[])
{
  const KernelTestStorage compact = {"compact", PETSC_FALSE, 0, 0};
  DCSRView                view;

  PetscFunctionBegin;
  *number += change;
  PetscCall(KernelTestViewCreate(A, &compact, stream, &view));
  PetscCall(DCSRPatternHash(view, stream, other));
  PetscCall(CheckEqual(hash, other, PETSC_FALSE, stream, A->name, what));
  PetscCall(KernelTestViewDestroy(&view, stream));
  *number -= change;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two columns exchanged are the same numbers in another order. */
static PetscErrorCode TestOrder(const KernelTestMatrix *A, DCSRView view, const uint64_t hash[], uint64_t other[], cudaStream_t stream)
{
  const PetscCount last = A->nz - 1;
  int32_t          ends[2];

  PetscFunctionBegin;
  if (A->nz < 2 || A->j[0] == A->j[last]) PetscFunctionReturn(PETSC_SUCCESS);
  ends[0] = (int32_t)A->j[last];
  ends[1] = (int32_t)A->j[0];
  PetscCall(PetscSparseCUDACopyToDevice(view.columns, &ends[0], sizeof(*ends), stream));
  PetscCall(PetscSparseCUDACopyToDevice(view.columns + last, &ends[1], sizeof(*ends), stream));
  PetscCall(DCSRPatternHash(view, stream, other));
  PetscCall(CheckEqual(hash, other, PETSC_FALSE, stream, A->name, "columns exchanged"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The host finds what the device finds; one column differs in another pattern. */
static PetscErrorCode TestHost(const KernelTestMatrix *A, DCSRView view, cudaStream_t stream)
{
  DCSRPattern host, device, other;

  PetscFunctionBegin;
  PetscCall(DCSRPatternGetHost(A->m, A->i, A->j, &host));
  PetscCall(DCSRPatternGet(view, stream, &device));
  PetscCheck(DCSRPatternEqual(&host, &device), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: host and device find different patterns", A->name);
  if (A->nz == 0) {
    PetscCall(DCSRPatternGetHost(A->m, NULL, NULL, &other));
    PetscCheck(DCSRPatternEqual(&host, &other), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: no arrays are another pattern than no entries", A->name);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  A->j[A->nz / 2]++;
  PetscCall(DCSRPatternGetHost(A->m, A->i, A->j, &other));
  A->j[A->nz / 2]--;
  PetscCheck(!DCSRPatternEqual(&host, &other), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: another column is no other pattern", A->name);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Test(const KernelTestMatrix *A, const KernelTestStorage *storage, DCSRView view, cudaStream_t stream)
{
  KernelTestStorage turned  = *storage;
  KernelTestMatrix  changed = *A;
  DCSRView          same;
  uint64_t         *hash, *other;

  PetscFunctionBegin;
  if (view.row_offsets == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(TestHost(A, view, stream));
  turned.wide = (PetscBool)!storage->wide;
  PetscCall(PetscSparseCUDAMalloc(DCSR_PATTERN_WORDS, "a hash", stream, &hash));
  PetscCall(PetscSparseCUDAMalloc(DCSR_PATTERN_WORDS, "a hash", stream, &other));
  PetscCall(DCSRPatternHash(view, stream, hash));
  PetscCall(KernelTestViewCreate(A, &turned, stream, &same));
  if (A->nz > 0) PetscCallCUDA(cudaMemsetAsync(same.values, 0, (size_t)A->nz * sizeof(PetscScalar), stream));
  PetscCall(DCSRPatternHash(same, stream, other));
  PetscCall(CheckEqual(hash, other, PETSC_TRUE, stream, A->name, "the same with other offsets and values"));
  PetscCall(TestOrder(A, same, hash, other, stream));
  PetscCall(KernelTestViewDestroy(&same, stream));
  for (PetscInt k = 0; k < 3 && A->nz > 0; k++) {
    const PetscCount position = k == 0 ? 0 : k == 1 ? A->nz / 2 : A->nz - 1;

    PetscCall(TestChanged(&changed, &changed.j[position], changed.j[position] > 0 ? -1 : 1, hash, other, stream, "another column"));
  }
  if (A->m > 1 && A->i[A->m / 2] < A->nz) PetscCall(TestChanged(&changed, &changed.i[A->m / 2], 1, hash, other, stream, "another row"));
  PetscCall(PetscSparseCUDAFree(&hash, stream));
  PetscCall(PetscSparseCUDAFree(&other, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  return (int)KernelTestMain(argc, argv, help, Test);
}

/*TEST

  testset:
    requires: cuda
    output_file: output/empty.out
    test:
      suffix: 1

TEST*/
