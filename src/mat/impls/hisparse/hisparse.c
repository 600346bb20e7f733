/* MATHISPARSECUDA: the constructors of its types, and what users and tests may ask of its storage. */
#include "hisparse.h"
#include "../type/type.h"
#include <petscsparsecuda/preload.h>

/*MC
  MATHISPARSECUDA - MATHISPARSECUDA = "hisparsecuda" - Sparse matrices on NVIDIA GPUs in storage that is smaller than compressed rows, for products with vectors in both directions.

  Options Database Keys:
+ -mat_type hisparsecuda                                   - sets this type in `MatSetFromOptions()`
- -mat_hisparse_format (auto|diagonals|blockdiagonals|csr) - how the matrix is stored

  Level: beginner

  Notes:
  The type is a `MATDCSRCUDA` with a second storage beside its rows: `MATSEQAIJHISPARSECUDA` on one process, `MATMPIAIJHISPARSECUDA` on several, where the diagonal blocks are stored so and the
  off-diagonal blocks are `MATSEQAIJDCSRCUDA`. It is made by the first product with a vector after the structure has changed, on the device, and replaces the rows. An operation that needs rows,
  such as insertion, a norm, or a product of matrices, makes them again, and from then on both are kept until the structure changes. Options -mat_dcsr_... are for the rows.

  By itself the type chooses. Diagonals (`-mat_hisparse_format diagonals`) are for matrices of structured grids in their natural order: entries lie on few diagonals in every 128 rows, and a mask says
  which of the rows have one, so that no column index is stored. Diagonals of blocks (`blockdiagonals`) are for several unknowns a point on such grids: a mask says which of 128 rows of dense blocks
  of 2 x 2, 3 x 3, 4 x 4 or 6 x 6 entries have one, all blocks being full. A matrix for which none saves a tenth of the time of a product stays in CSR, as with `csr`. A format that is asked for by
  name is made where it can be made.

  `MatMultTranspose()` is as fast as `MatMult()` with diagonals, and about as fast with diagonals of blocks. All products have the same bits every time.

  Without a usable device everything runs on the host, as with `MATDCSRCUDA`.

.seealso: `MATDCSRCUDA`, `MATAIJ`, `PetscSparseCUDAInitialize()`, `MatDCSRCUDAGetMemoryUsed()`
M*/
PetscErrorCode MatCreate_SeqAIJHiSparseCUDA(Mat B)
{
  PetscFunctionBegin;
  PetscCall(PetscSparseCUDAPreloadAsk(PETSCSPARSECUDA_PRELOAD_HISPARSE));
  PetscCall(MatCreate_SeqAIJCUDA(B, MATSEQAIJHISPARSECUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MatCreate_MPIAIJHiSparseCUDA(Mat B)
{
  PetscFunctionBegin;
  PetscCall(MatCreate_MPIAIJCUDA(B, MATMPIAIJHISPARSECUDA));
  PetscFunctionReturn(PETSC_SUCCESS);
}
