/* MATAUTOCUDA: the constructors of its types. */
#include "auto.h"
#include "../dcsr/dcsr.h"

/*MC
  MATAUTOCUDA - MATAUTOCUDA = "autocuda" - Sparse matrices on NVIDIA GPUs whose storage for products with vectors is chosen while the program runs. Experimental.

  Options Database Keys:
+ -mat_type autocuda                     - sets this type in `MatSetFromOptions()`
. -mat_auto_choose (auto|dcsr|hisparse)  - the storage: what pays, rows, or that of `MATHISPARSECUDA`
- -mat_auto_products n                   - so many products with vectors follow each change of the structure; 0: not known

  Level: intermediate

  Notes:
  A matrix begins as a `MATDCSRCUDA`: `MATSEQAIJAUTOCUDA` on one process, `MATMPIAIJAUTOCUDA` on several, where the choice is made for each diagonal block and off-diagonal blocks are `MATSEQAIJDCSRCUDA`. Its
  products are counted. When those so far would have gained, with the storage of `MATHISPARSECUDA`, what making that costs, it is made. Each change of values counts against it. When products of both are measured and
  rows are faster, or values change too often, rows come back. A change of the structure begins with rows again, and each conversion that did not pay doubles the price of the next one.

  What was measured is remembered by the pattern: the next matrix that has it starts with what is known.

  `-mat_view ::ascii_info` says what was chosen, when and why, and `-info` as well.

  Options -mat_dcsr_... and -mat_hisparse_... are for the two kinds of storage. With -mat_hisparse_format csr rows stay; with a format that is asked for it is the only one in question.

  The choice among formats by features of the matrix follows N. Sedaghati, T. Mu, L.-N. Pouchet, S. Parthasarathy, P. Sadayappan, Automatic Selection of Sparse Matrix Representation on GPUs, ICS 2015.

.seealso: `MATDCSRCUDA`, `MATHISPARSECUDA`, `PetscSparseCUDAInitialize()`, `MatHiSparseCUDAIsValid()`
M*/
PetscErrorCode MatCreate_SeqAIJAutoCUDA(Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_SeqAIJCUDA(B, MATSEQAIJAUTOCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJAutoCUDA(Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJCUDA(B, MATMPIAIJAUTOCUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}
