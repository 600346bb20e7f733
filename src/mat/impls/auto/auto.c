/* MATAUTOCUDA: the constructors of its types. */
#include "auto.h"
#include "../dcsr/dcsr.h"
#include <petscsparsecuda/preload.h>

/*MC
  MATAUTOCUDA - MATAUTOCUDA = "autocuda" - Sparse matrices on NVIDIA GPUs whose storage for products with vectors is chosen while the program runs. Experimental.

  Options Database Keys:
+ -mat_type autocuda                     - sets this type in `MatSetFromOptions()`
. -mat_auto_choose (auto|dcsr|hisparse)  - the storage: what pays, rows, or that of `MATHISPARSECUDA`
- -mat_auto_products n                   - so many products with vectors follow each change of the structure; 0: not known, or told by `MatAutoCUDASetProducts()`

  Level: intermediate

  Notes:
  A matrix begins as a `MATDCSRCUDA`: `MATSEQAIJAUTOCUDA` on one process, `MATMPIAIJAUTOCUDA` on several, where the choice is made for each diagonal block and off-diagonal blocks are `MATSEQAIJDCSRCUDA`. Its
  products are counted. When those so far would have gained, with the storage of `MATHISPARSECUDA`, what making that costs, it is made. Each change of values counts against it. When products of both are measured and
  rows are faster, or values change too often, rows come back. A change of the structure begins with rows again, and each conversion that did not pay doubles the price of the next one.

  What was measured is remembered by the pattern: the next matrix that has it starts with what is known.

  `-mat_view ::ascii_info` says what was chosen, when and why, and `-info` as well.

  Options -mat_dcsr_... and -mat_hisparse_... are for the two kinds of storage. With -mat_hisparse_format csr rows stay; with a format that is asked for it is the only one in question.

  The choice among formats by features of the matrix follows N. Sedaghati, T. Mu, L.-N. Pouchet, S. Parthasarathy, P. Sadayappan, Automatic Selection of Sparse Matrix Representation on GPUs, ICS 2015.

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

/* Of the matrix, or of the blocks of a parallel one, where these are matrices of ours. */
static PetscErrorCode ExpectOfBlocks(Mat A, PetscInt n, PetscInt n_transpose, PetscBool minimum)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscCheck(n >= 0 && n_transpose >= 0, PetscObjectComm((PetscObject)A), PETSC_ERR_ARG_OUTOFRANGE, "Numbers of products are %" PetscInt_FMT " and %" PetscInt_FMT ": both must be 0 or more, 0 when they are not known", n, n_transpose);
  PetscCall(MatIsSeqAIJCUDA(A, &seq));
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (seq) MatSeqAIJAutoCUDAExpect(A, n, n_transpose, minimum);
  for (int k = 0; mpi && k < 2; k++) {
    Mat block = MatMPIAIJCUDAGetBlock(A, k);

    seq = PETSC_FALSE;
    if (block != NULL) PetscCall(MatIsSeqAIJCUDA(block, &seq));
    if (seq) MatSeqAIJAutoCUDAExpect(block, n, n_transpose, minimum);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatAutoCUDASetProducts - Tells a matrix how many products with vectors will follow while it has the structure of now, so that what products gain by is made before them, or not at all

  Not Collective

  Input Parameters:
+ A           - the matrix; of another type than ours: nothing happens
. n           - products with the matrix, 0 or more, steps of smoothers among them
- n_transpose - products with its transpose, 0 or more

  Level: advanced

  Notes:
  With 0 for both nobody tells, as before the first call, and products are counted. When more products come than were told, they are counted, too.

  `MATAUTOCUDA` chooses its storage by it. All types of this library make fragmented rows compact by it, and what transpose products need.

  `PCGAMG` calls this for the matrices of its levels: a setup expects as many cycles as followed the last one. -mat_auto_products n, which tells the same of each structure of a matrix, counts first.

.seealso: `MATAUTOCUDA`, `MATDCSRCUDA`, `MatAutoCUDASetMinimumProducts()`, `MatAutoCUDAGetProducts()`
@*/
PetscErrorCode MatAutoCUDASetProducts(Mat A, PetscInt n, PetscInt n_transpose)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(ExpectOfBlocks(A, n, n_transpose, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatAutoCUDASetMinimumProducts - Tells a matrix how many products with vectors will follow at least while it has the structure of now

  Not Collective

  Input Parameters:
+ A           - the matrix; of another type than ours: nothing happens
. n           - products with the matrix, 0 or more, steps of smoothers among them
- n_transpose - products with its transpose, 0 or more

  Level: advanced

  Notes:
  What products gain by is made before the next one if those that there were with this structure and twice these gain its price. So no more than twice the time of the best choice in hindsight is spent, as when nobody
  tells, but what pays comes earlier. Take `MatAutoCUDASetProducts()` where the number is known.

  With 0 for both nobody tells. It replaces what `MatAutoCUDASetProducts()` told, and the other way round. `PCGAMG` calls this for the matrices of its levels after a setup that no solve with its preconditioner preceded. -mat_auto_products n counts first.

.seealso: `MATAUTOCUDA`, `MATDCSRCUDA`, `MatAutoCUDASetProducts()`, `MatAutoCUDAGetProducts()`
@*/
PetscErrorCode MatAutoCUDASetMinimumProducts(Mat A, PetscInt n, PetscInt n_transpose)
{
  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscCall(ExpectOfBlocks(A, n, n_transpose, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  MatAutoCUDAGetProducts - How many products with vectors a matrix expects in all with one structure, those among them that there were before it was told

  Not Collective

  Input Parameter:
. A - the matrix; of another type than ours: nothing is expected

  Output Parameters:
+ n           - products with the matrix; 0: not known
. n_transpose - products with its transpose
- minimum     - more may come than these, as `MatAutoCUDASetMinimumProducts()` told; or `NULL`

  Level: advanced

.seealso: `MATAUTOCUDA`, `MatAutoCUDASetProducts()`, `MatAutoCUDASetMinimumProducts()`
@*/
PetscErrorCode MatAutoCUDAGetProducts(Mat A, PetscCount *n, PetscCount *n_transpose, PetscBool *minimum)
{
  PetscBool seq, mpi;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(A, MAT_CLASSID, 1);
  PetscAssertPointer(n, 2);
  PetscAssertPointer(n_transpose, 3);
  if (minimum != NULL) PetscAssertPointer(minimum, 4);
  *n           = 0;
  *n_transpose = 0;
  if (minimum != NULL) *minimum = PETSC_FALSE;
  PetscCall(MatIsMPIAIJCUDA(A, &mpi));
  if (mpi) A = MatMPIAIJCUDAGetBlock(A, 0);
  seq = PETSC_FALSE;
  if (A != NULL) PetscCall(MatIsSeqAIJCUDA(A, &seq));
  if (!seq) PetscFunctionReturn(PETSC_SUCCESS);
  *n           = MatSeqAIJCUDAGet(A)->device.expected[0];
  *n_transpose = MatSeqAIJCUDAGet(A)->device.expected[1];
  if (minimum != NULL) *minimum = (PetscBool)(MatSeqAIJCUDAGet(A)->device.hint == HINT_AT_LEAST);
  PetscFunctionReturn(PETSC_SUCCESS);
}
