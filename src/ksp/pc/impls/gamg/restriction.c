/*
  -pc_gamg_restriction tentative: restrictions are transposes of tentative prolongators, R = P0^T, and coarse operators R A P. For unsymmetric systems: of what convection carries, R takes averages,
  where a smoothed
  transpose would spread it upstream.

  PETSc's setup knows one Galerkin product, P^T A P, and asks for new values of it by MatPtAP() with the matrix that there is. So R A P says that it is the product of A and P, with a numeric phase of
  ours.
*/
#include "gamg.h"

const char *const GAMGRestrictions[] = {"transpose", "tentative", "GAMGRestriction", "GAMG_RESTRICTION_", NULL};

/* What computes new values of R A P. */
typedef struct {
  Mat holder;                     /* owned: no matrix but the place of the product of three, with R, while the result says that it is another one */
  PetscErrorCode (*numeric)(Mat); /* of that product */
} RestrictedProduct;

static PetscErrorCode RestrictedProductDestroy(PetscCtxRt data)
{
  RestrictedProduct **d = (RestrictedProduct **)data;

  PetscFunctionBegin;
  PetscCall(MatDestroy(&(*d)->holder)); // with what is in it
  PetscCall(PetscFree(*d));
  PetscFunctionReturn(PETSC_SUCCESS);
}
PRODUCT_DESTROY_DEFINE(RestrictedProductDestroy)

/* The two products of C change places. */
static void SwapProducts(Mat C, RestrictedProduct *d)
{
  Mat_Product *product           = C->product;
  PetscErrorCode (*numeric)(Mat) = C->ops->productnumeric;

  C->product             = d->holder->product;
  C->ops->productnumeric = d->numeric;
  d->holder->product     = product;
  d->numeric             = numeric;
}

static PetscErrorCode RestrictedProductNumeric(Mat C)
{
  RestrictedProduct *d = (RestrictedProduct *)C->product->data;
  const Mat          A = C->product->A, P = C->product->B;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  SwapProducts(C, d);
  ierr = MatProductReplaceMats(NULL, A, P, C);
  if (ierr == PETSC_SUCCESS) ierr = MatProductNumeric(C);
  SwapProducts(C, d);
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A product that keeps what makes new values, whatever -mat_product_clear says; NULL after an error. Collective. */
static PetscErrorCode CreateProduct(Mat A, Mat B, Mat X, MatProductType type, Mat *C)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatProductCreate(A, B, X, C));
  (*C)->product->api_user = PETSC_TRUE;
  PetscCallGoto(ierr, failed, MatProductSetType(*C, type));
  PetscCallGoto(ierr, failed, MatProductSetAlgorithm(*C, MATPRODUCTALGORITHMDEFAULT));
  PetscCallGoto(ierr, failed, MatProductSetFill(*C, PETSC_DETERMINE));
  PetscCallGoto(ierr, failed, MatProductSetFromOptions(*C));
  (*C)->product->clear = PETSC_FALSE;
  PetscCallGoto(ierr, failed, MatProductSymbolic(*C));
  PetscCallGoto(ierr, failed, MatProductNumeric(*C));
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  (void)MatDestroy(C);
  PetscFunctionReturn(ierr);
}

/* C = R A P; NULL after an error. Collective. */
static PetscErrorCode RestrictedProductCreate(Mat R, Mat A, Mat P, Mat *C)
{
  RestrictedProduct *d = NULL;
  PetscErrorCode     ierr;

  PetscFunctionBegin;
  *C = NULL;
  PetscCall(CreateProduct(R, A, P, MATPRODUCT_ABC, C));
  PetscCallGoto(ierr, failed, PetscNew(&d));
  PetscCallGoto(ierr, failed, MatCreate(PetscObjectComm((PetscObject)*C), &d->holder));
  SwapProducts(*C, d);
  PetscCallGoto(ierr, failed, MatProductCreateWithMat(A, P, NULL, *C));
  PetscCallGoto(ierr, failed, MatProductSetType(*C, MATPRODUCT_PtAP)); // forgets what follows
  (*C)->product->data       = d;
  (*C)->product->destroy    = PRODUCT_DESTROY(RestrictedProductDestroy);
  (*C)->product->api_user   = PETSC_TRUE;
  (*C)->ops->productnumeric = RestrictedProductNumeric;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  if (d != NULL) (void)RestrictedProductDestroy((PetscCtxRt)&d);
  (void)MatDestroy(C);
  PetscFunctionReturn(ierr);
}

/* GAMGRestrictionReset - Forgets the restrictions of all levels; PCMG has its own references. Collective. */
PetscErrorCode GAMGRestrictionReset(GAMGContext *context)
{
  PetscFunctionBegin;
  for (PetscInt level = 0; level < PETSC_MG_MAXLEVELS; level++) PetscCall(MatDestroy(&context->restricting.levels[level]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGRestrictionBegin - Before a setup: whether the matrix is one for the restriction that was asked for, or that there is. Collective
  makes: the setup makes levels, and restrictions of now go. PETSC_ERR_ARG_INCOMP when the matrix is known to be symmetric or Hermitian.
*/
PetscErrorCode GAMGRestrictionBegin(PC pc, GAMGContext *context, PetscBool makes)
{
  PetscBool known[2], is[2];

  PetscFunctionBegin;
  if (makes) PetscCall(GAMGRestrictionReset(context));
  if (makes ? context->restricting.kind != GAMG_RESTRICTION_TENTATIVE : context->restricting.levels[0] == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatIsSymmetricKnown(pc->pmat, &known[0], &is[0]));
  PetscCall(MatIsHermitianKnown(pc->pmat, &known[1], &is[1]));
  PetscCheck(
    !(known[0] && is[0]) && !(known[1] && is[1]), PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_INCOMP,
    "-pc_gamg_restriction tentative is for unsymmetric systems, and the matrix is known to be symmetric or Hermitian: leave the option, or MatSetOption() with MAT_SYMMETRIC, MAT_HERMITIAN or MAT_SPD");
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGRestrictionKeep - The tentative prolongator of the level under way, before it is smoothed; without smoothing its transpose is that of the prolongator. */
PetscErrorCode GAMGRestrictionKeep(PC pc, GAMGContext *context, Mat P)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&context->restricting.tentative));
  if (context->restricting.kind != GAMG_RESTRICTION_TENTATIVE || GAMGGetAggOptions(pc)->nsmooths == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectReference((PetscObject)P));
  context->restricting.tentative = P;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGRestrictionSet - A tentative prolongator P, with the columns of the prolongator, restricts residuals of the level under way. Collective
  PCMG takes it for a restriction, and multiplies with its transpose. A matrix R would send residuals where the coarse level is on fewer processes, not sums of them; and one with as many rows as
  columns would be taken for P.
*/
PetscErrorCode GAMGRestrictionSet(PC pc, GAMGContext *context, Mat P)
{
  Mat *restriction = &context->restricting.levels[GAMGGet(pc)->current_level];

  PetscFunctionBegin;
  PetscCall(MatSetOption(P, MAT_FORM_EXPLICIT_TRANSPOSE, PETSC_TRUE));
  PetscCall(PetscObjectReference((PetscObject)P));
  PetscCall(MatDestroy(restriction));
  *restriction = P;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* R A P by the tentative prolongator. Collective. */
static PetscErrorCode Restricted(Mat tentative, Mat A, Mat P, Mat *C)
{
  Mat            R;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatTranspose(tentative, MAT_INITIAL_MATRIX, &R));
  ierr = RestrictedProductCreate(R, A, P, C);
  PetscCall(MatDestroy(&R));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGGalerkin - The coarse operator of the level under way: P^T A P, or R A P where there is a tentative prolongator with the columns of P. Collective
  MatPtAP() with A, P and MAT_REUSE_MATRIX makes new values of C. C is NULL after an error.
*/
PetscErrorCode GAMGGalerkin(PC pc, GAMGContext *context, Mat A, Mat P, Mat *C)
{
  const PetscInt level = GAMGGet(pc)->current_level;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *C = NULL;
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_events[GAMG_PTAP], 0, 0, 0, 0));
  PetscCall(PetscLogEventBegin(petsc_gamg_setup_matmat_events[level][1], 0, 0, 0, 0));
  if (context->restricting.tentative == NULL) ierr = CreateProduct(A, P, NULL, MATPRODUCT_PtAP, C);
  else ierr = Restricted(context->restricting.tentative, A, P, C);
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_matmat_events[level][1], 0, 0, 0, 0));
  PetscCall(PetscLogEventEnd(petsc_gamg_setup_events[GAMG_PTAP], 0, 0, 0, 0));
  PetscCall(ierr);
  if (context->restricting.tentative == NULL && A->symmetric == PETSC_BOOL3_TRUE) { // as MatPtAP() has it
    PetscCall(MatSetOption(*C, MAT_SYMMETRIC, PETSC_TRUE));
    (*C)->spd = A->spd;
  }
  if (context->restricting.tentative != NULL) PetscCall(GAMGRestrictionSet(pc, context, context->restricting.tentative));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix like A, without entries. Collective. */
static PetscErrorCode CreateStandIn(Mat A, Mat *Z)
{
  PetscInt bs;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSize(A, &bs));
  PetscCall(MatCreate(PetscObjectComm((PetscObject)A), Z));
  PetscCall(MatSetSizes(*Z, A->rmap->n, A->cmap->n, A->rmap->N, A->cmap->N));
  PetscCall(MatSetBlockSize(*Z, bs));
  PetscCall(MatSetType(*Z, ((PetscObject)A)->type_name));
  PetscCall(MatBindToCPU(*Z, A->boundtocpu));
  PetscCall(MatSeqAIJSetPreallocation(*Z, 0, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*Z, 0, NULL, 0, NULL));
  PetscCall(MatAssemblyBegin(*Z, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*Z, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Columns of a prolongator go where PETSc has moved those of another one. Collective. */
static PetscErrorCode MoveColumns(IS columns, Mat *P)
{
  Mat      moved;
  PetscInt bs, begin, end;
  IS       rows;

  PetscFunctionBegin;
  PetscCall(MatGetBlockSizes(*P, &bs, NULL));
  PetscCall(MatGetOwnershipRange(*P, &begin, &end));
  PetscCall(ISCreateStride(PetscObjectComm((PetscObject)*P), end - begin, begin, 1, &rows));
  PetscCall(ISSetBlockSize(rows, bs));
  PetscCall(MatCreateSubMatrix(*P, rows, columns, MAT_INITIAL_MATRIX, &moved));
  PetscCall(ISDestroy(&rows));
  PetscCall(MatDestroy(P));
  *P = moved;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's choice of processes, and the prolongator moved to these; *moved: where its columns went, NULL: nowhere; *bound: coarse matrices are to be on the host. Collective. */
static PetscErrorCode ChooseProcesses(PC pc, GAMGContext *context, Mat A, PetscInt bs, Mat *P, PetscMPIInt *num_active, PetscBool last, IS *moved, PetscBool *bound)
{
  Mat            stand_in = NULL, unused = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallGoto(ierr, cleanup, CreateStandIn(A, &stand_in));
  PetscCallGoto(ierr, cleanup, (*context->parent.createlevel)(pc, GAMGGet(pc)->repart ? A : stand_in, bs, P, &unused, num_active, moved, last));
  *bound = unused->boundtocpu;
cleanup:
  PetscCall(MatDestroy(&unused));
  PetscCall(MatDestroy(&stand_in));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGRestrictionCreateLevel - GAMGCreateLevel() for a level that has a tentative prolongator to restrict with. Collective
  PETSc's operation chooses the processes and moves the prolongator; its product is one with a matrix without entries, but for repartitioning, which looks at the pattern of P^T A P. The tentative
  prolongator goes the same way.
  Cost: beside the product R A P, a transpose of the tentative prolongator, which has an entry a row and column of the near null space.
*/
PetscErrorCode GAMGRestrictionCreateLevel(PC pc, GAMGContext *context, Mat A, PetscInt bs, Mat *P, Mat *C, PetscMPIInt *num_active, IS *permutation, PetscBool last)
{
  IS             moved = NULL;
  PetscBool      bound = PETSC_FALSE;
  PetscMPIInt    size;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (size > 1) PetscCall(ChooseProcesses(pc, context, A, bs, P, num_active, last, &moved, &bound));
  if (moved != NULL) PetscCallGoto(ierr, cleanup, MoveColumns(moved, &context->restricting.tentative));
  PetscCallGoto(ierr, cleanup, GAMGGalerkin(pc, context, A, *P, C));
  if (bound) PetscCallGoto(ierr, cleanup, MatBindToCPU(*C, PETSC_TRUE));
  if (permutation != NULL) {
    *permutation = moved;
    moved        = NULL;
  }
cleanup:
  PetscCall(ISDestroy(&moved));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGRestrictionEnd - After a setup that has made levels: restrictions go to PCMG. Collective. */
PetscErrorCode GAMGRestrictionEnd(PC pc, GAMGContext *context)
{
  const PetscInt num_levels = GAMGGet(pc)->Nlevels;

  PetscFunctionBegin;
  for (PetscInt level = 0; level < num_levels - 1; level++) {
    if (context->restricting.levels[level] != NULL) PetscCall(PCMGSetRestriction(pc, num_levels - 1 - level, context->restricting.levels[level]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
