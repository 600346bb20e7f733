/*
  Products of parallel matrices that are one of two factors on the device, once the right one is there: A B^T, R A R^T = R (A R^T), and A B C = A (B C).

  The right factor is a matrix, an explicit transpose or a product of its own, which the product keeps as PETSc's basic code keeps such (Dwork); each numeric phase computes it again.
*/
#include "product.h"
#include "productimpl.h"
#include "../core/core.h"

/* Where PETSc notes of which matrix another one is the transpose. */
static const char PARENT_KEY[] = "MatTransposeParent";

/* What we note beside it: the blocks. */
static const char BLOCKS_KEY[] = "petscsparsecuda_transposed_blocks";

/* ProductRightIsOperand - Whether the position of the right factor holds an operand: PETSc's basic products of three matrices keep what their first step makes there. */
PetscBool ProductRightIsOperand(Mat C)
{
  const Mat_Product *product = C->product;

  return (PetscBool)(product->Dwork != NULL && (product->Dwork == product->A || product->Dwork == product->B));
}

/* ProductRightDrop - The right factor of a product that is set up again, perhaps with other operands, and by other code. Collective. */
PetscErrorCode ProductRightDrop(Mat C)
{
  PetscFunctionBegin;
  if (!ProductRightIsOperand(C)) PetscCall(MatDestroy(&C->product->Dwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether T is the transpose of X as X's pattern is now, on all processes. Collective. */
static PetscErrorCode IsTransposeOf(Mat T, Mat X, PetscBool *is)
{
  PetscContainer container;
  MatState      *parent = NULL;

  PetscFunctionBegin;
  PetscCall(MatOperandIsOfBlocks(X, T, BLOCKS_KEY, is));
  PetscCall(PetscObjectQuery((PetscObject)T, PARENT_KEY, (PetscObject *)&container));
  if (container != NULL) PetscCall(PetscContainerGetPointer(container, &parent));
  *is = (PetscBool)(*is && parent != NULL && parent->id == ((PetscObject)X)->id && parent->nonzerostate == X->nonzerostate);
  PetscCallMPI(MPIU_Allreduce(MPI_IN_PLACE, is, 1, MPI_C_BOOL, MPI_LAND, PetscObjectComm((PetscObject)X)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transpose of X; T is an earlier one, whose reference goes to the new one if it has to be another matrix. Collective. */
static PetscErrorCode RefreshTranspose(Mat X, Mat *T)
{
  PetscBool      is;
  Mat            transpose;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(IsTransposeOf(*T, X, &is));
  if (is) {
    ierr = MatTranspose(X, MAT_REUSE_MATRIX, T);
    if (ierr != PETSC_SUCCESS) PetscCall(PetscObjectCompose((PetscObject)*T, PARENT_KEY, NULL)); // it may be half done: the next one is new
    PetscCall(ierr);
  } else {
    PetscCall(MatTranspose(X, MAT_INITIAL_MATRIX, &transpose));
    PetscCall(MatDestroy(T));
    *T = transpose;
    PetscCall(MatOperandNoteBlocks(X, transpose, BLOCKS_KEY));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A B up to its symbolic phase, with values when C's symbolic phase computes some. Collective. */
static PetscErrorCode CreateProduct(Mat A, Mat B, Mat C, Mat *AB)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, B, NULL, AB));
  PetscCallGoto(ierr, failed, MatProductSetType(*AB, MATPRODUCT_AB));
  (*AB)->product->api_user = C->product->api_user;
  PetscCallGoto(ierr, failed, MatProductSetFromOptions(*AB));
  (*AB)->product->clear = PETSC_FALSE; // each numeric phase of C computes it again, whatever -mat_product_clear says
  PetscCallGoto(ierr, failed, MatProductSymbolic(*AB));
  if ((*AB)->product->api_user) PetscCallGoto(ierr, failed, MatProductNumeric(*AB)); // finds what the symbolic phase has computed, where the device did it
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)MatDestroy(AB);
  PetscFunctionReturn(ierr);
}

/*
  ProductRightCreate - Makes the right factor of ABt, RARt or ABC, which the product of C does not have yet. Collective.

  Its values are there when the symbolic phase of C computes values.
*/
PetscErrorCode ProductRightCreate(Mat C)
{
  Mat_Product   *product = C->product;
  Mat            transpose;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (product->type == MATPRODUCT_ABC) PetscCall(CreateProduct(product->B, product->C, C, &product->Dwork));
  else {
    PetscCall(MatTranspose(product->B, MAT_INITIAL_MATRIX, &transpose));
    if (product->type == MATPRODUCT_ABt) product->Dwork = transpose; // before anything else can fail: the product owns it
    ierr = MatOperandNoteBlocks(product->B, transpose, BLOCKS_KEY);
    if (product->type == MATPRODUCT_ABt) PetscCall(ierr);
    else {
      if (ierr == PETSC_SUCCESS) ierr = CreateProduct(product->A, transpose, C, &product->Dwork);
      PetscCall(MatDestroy(&transpose)); // the product has it
      PetscCall(ierr);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ProductRightRefresh - Values, and patterns that have changed, of the right factor. Collective. */
PetscErrorCode ProductRightRefresh(Mat C)
{
  Mat_Product   *product = C->product;
  Mat            transpose;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (product->type == MATPRODUCT_ABt) {
    PetscCall(RefreshTranspose(product->B, &product->Dwork));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (product->type == MATPRODUCT_RARt) {
    transpose = product->Dwork->product->B;
    PetscCall(PetscObjectReference((PetscObject)transpose));
    ierr = RefreshTranspose(product->B, &transpose);
    if (ierr == PETSC_SUCCESS) ierr = MatProductReplaceMats(product->A, transpose, NULL, product->Dwork);
    PetscCall(MatDestroy(&transpose));
    PetscCall(ierr);
  } else PetscCall(MatProductReplaceMats(product->B, product->C, NULL, product->Dwork));
  PetscCall(MatProductNumeric(product->Dwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}
