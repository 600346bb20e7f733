/* MATAUTOCUDA: the constructors of its types. */
#include "auto.h"
#include "../type/type.h"
#include <petscsparsecuda/preload.h>

/*MC
  MATAUTOCUDA - MATAUTOCUDA = "autocuda" - Sparse matrices on NVIDIA GPUs whose storage for products with vectors is selected while the program runs. Experimental.

  Options Database Keys:
+ -mat_type autocuda     - sets this type in `MatSetFromOptions()`
- -mat_auto_products n   - hint: so many products with vectors follow each change of the structure; 0: not known, or the hint is that of `MatAutoCUDASetProducts()`

  Level: intermediate

  Notes:
  A matrix begins as a `MATDCSRCUDA`: `MATSEQAIJAUTOCUDA` on one process, `MATMPIAIJAUTOCUDA` on several, where diagonal blocks select and off-diagonal blocks are `MATSEQAIJDCSRCUDA`.

  Its products are counted. When the storage of `MATHISPARSECUDA` would have gained in them what making it costs, it is made, or earlier by a hint. Each change of values counts against it. When values
  change too often, CSR comes back.
  A change of the structure begins with CSR again, and each conversion that did not pay doubles the cost of the next one. Nothing is timed: times are predicted by a sample of the matrix.

  `-mat_view ::ascii_info` says what was selected, when and why, and `-info` as well. Options -mat_dcsr_... and -mat_hisparse_... are for the two kinds of storage. An explicit -mat_hisparse_format is
  the only candidate.

  The selection among formats by features of the matrix follows N. Sedaghati, T. Mu, L.-N. Pouchet, S. Parthasarathy, P. Sadayappan, Automatic Selection of Sparse Matrix Representation on GPUs, ICS
  2015.

.seealso: `MATDCSRCUDA`, `MATHISPARSECUDA`, `PetscSparseCUDAInitialize()`, `MatAutoCUDASetProducts()`
M*/
PetscErrorCode MatCreate_SeqAIJAutoCUDA(Mat B)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAPreloadAsk(PETSCSPARSECUDA_PRELOAD_HISPARSE));
  PetscCall(MatCreate_SeqAIJCUDA(B, MATSEQAIJAUTOCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJAutoCUDA(Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJCUDA(B, MATMPIAIJAUTOCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The hint for a matrix, or for the blocks of a parallel one, where these are matrices of ours. */
static PetscErrorCode SetHint(Mat A, PetscInt n, PetscInt n_transpose, PetscBool at_least)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCheck(n >= 0 && n_transpose >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE,
             "Numbers of products are %" PetscInt_FMT " and %" PetscInt_FMT ": both must be 0 or more, 0 when they are not known", n, n_transpose);
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (seq) MatSeqAIJAutoCUDAExpect(A, n, n_transpose, at_least);
  for (int k = 0; mpi && k < 2; k++)
    if (MatMPIAIJCUDAGetBlock(A, k) != NULL) PetscCall(SetHint(MatMPIAIJCUDAGetBlock(A, k), n, n_transpose, at_least));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatAutoCUDASetProducts - Gives a matrix a hint: how many products with vectors will follow while it has the structure of now, so that what products gain by is made before them, or not at all

  Not Collective

  Input Parameters:
+ A           - the matrix; of another type than ours: nothing happens
. n           - products with the matrix, 0 or more, steps of smoothers among them
- n_transpose - products with its transpose, 0 or more

  Level: advanced

  Notes:
  With 0 for both there is no hint, as before the first call, and products are counted. When more products come than the hint says, they are counted, too.

  `MATAUTOCUDA` selects its storage by it. All types of this library make fragmented rows compact by it, and what transpose products need.

  `PCGAMG` calls this for the matrices of its levels: a setup expects as many cycles as followed the last one. -mat_auto_products n, the same hint for each structure of a matrix, counts first.

.seealso: `MATAUTOCUDA`, `MATDCSRCUDA`, `MatAutoCUDASetMinimumProducts()`
@*/
PetscErrorCode MatAutoCUDASetProducts(Mat A, PetscInt n, PetscInt n_transpose)
{
  PetscFunctionBegin;
  PetscCall(SetHint(A, n, n_transpose, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatAutoCUDASetMinimumProducts - Gives a matrix a hint: how many products with vectors will follow at least while it has the structure of now

  Not Collective

  Input Parameters:
+ A           - the matrix; of another type than ours: nothing happens
. n           - products with the matrix, 0 or more, steps of smoothers among them
- n_transpose - products with its transpose, 0 or more

  Level: advanced

  Notes:
  What products gain by is made before the next one if those that there were with this structure and twice these gain its cost. So no more than twice the time of the best choice in hindsight is spent,
  as without a hint, but what pays comes earlier. Take `MatAutoCUDASetProducts()` where the number is known.

  With 0 for both there is no hint. It replaces that of `MatAutoCUDASetProducts()`, and the other way round. `PCGAMG` calls this for the matrices of its levels after a setup that no solve with its
  preconditioner preceded.
  -mat_auto_products n counts first.

.seealso: `MATAUTOCUDA`, `MATDCSRCUDA`, `MatAutoCUDASetProducts()`
@*/
PetscErrorCode MatAutoCUDASetMinimumProducts(Mat A, PetscInt n, PetscInt n_transpose)
{
  PetscFunctionBegin;
  PetscCall(SetHint(A, n, n_transpose, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}
