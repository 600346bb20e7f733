/*
  The nonzero pattern that the list of a MatSetPreallocationCOO() was made for. MatSetValuesCOO() writes to places in the arrays of that pattern, so the matrix must still
  have it. MATAIJ does not look, and puts values in wrong places, or beyond the arrays.

  The pattern, as a hash, stays with the container of the list, which MatDuplicate() hands on to copies. The nonzerostate alone does not tell: a deletion that removes
  nothing raises it, copies have one of their own, and a pattern may come back. So a block notes the list and the nonzerostate with which its pattern was found to be that
  of the list, and is looked at again when its nonzerostate, or the list, is another one.
*/
#include "insert.h"
#include "../core/core.h"
#include <petscsparsecuda/pattern.h>

/* Composed with the container of a list. */
static const char PATTERN_KEY[] = "MatAIJCUDA_COOPattern";

struct _n_MatCOOPattern {
  DCSRPattern blocks[2];  /* of the diagonal and of the off-diagonal block; of a sequential matrix the first one */
  PetscInt    num_ghosts; /* ghost columns: the off-diagonal block counts its columns in them */
  PetscInt   *ghosts;     /* [num_ghosts] their global numbers, owned */
};

/* The sequential matrices that A consists of on this process, and its ghost columns. */
static PetscErrorCode GetBlocks(Mat A, int *n, Mat blocks[2], PetscInt *num_ghosts, const PetscInt **ghosts)
{
  PetscBool is_mpi;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &is_mpi));
  *n          = is_mpi ? 2 : 1;
  blocks[0]   = is_mpi ? ((Mat_MPIAIJ *)A->data)->A : A;
  blocks[1]   = is_mpi ? ((Mat_MPIAIJ *)A->data)->B : NULL;
  *ghosts     = is_mpi ? ((Mat_MPIAIJ *)A->data)->garray : NULL;
  *num_ghosts = *ghosts != NULL ? blocks[1]->cmap->n : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern of a block, from where its structure is current. */
static PetscErrorCode GetBlockPattern(Mat block, DCSRPattern *pattern)
{
  PetscBool      ours;
  DCSRView       view;
  cudaStream_t   stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(block, &ours));
  if (ours && MatSeqAIJCUDAGet(block)->device.structure && MatSeqAIJCUDAGet(block)->device.nonzerostate == block->nonzerostate) {
    PetscCall(PetscSparseCUDAGetStream(&stream));
    PetscCall(MatSeqAIJCUDAGetStructure(block, &view));
    ierr = DCSRPatternGet(view, stream, pattern);
    PetscCall(MatSeqAIJCUDARestoreStructure(block, &view));
    PetscCall(ierr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(MatAIJCUDAHostBegin(block, HOST_READ_STRUCTURE));
  ierr = DCSRPatternGetHost(block->rmap->n, ((Mat_SeqAIJ *)block->data)->i, ((Mat_SeqAIJ *)block->data)->j, pattern);
  PetscCall(MatAIJCUDAHostFinish(block, HOST_READ_STRUCTURE, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatCOOPatternDestroy - Frees a pattern that no list has; NULL is fine. */
PetscErrorCode MatCOOPatternDestroy(MatCOOPattern *pattern)
{
  PetscFunctionBegin;
  if (*pattern != NULL) PetscCall(PetscFree((*pattern)->ghosts));
  PetscCall(PetscFree(*pattern));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ContainerDestroy(PetscCtxRt data)
{
  PetscFunctionBegin;
  PetscCall(MatCOOPatternDestroy((MatCOOPattern *)data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatCOOPatternCreate - The nonzero pattern of a matrix

  Not Collective

  Input Parameters:
+ A    - a sequential or parallel matrix of ours
- view - compact storage that is about to become the sequential matrix A; NULL: A has its structure already

  Output Parameter:
. pattern - NULL after an error; to be given to MatCOOPatternAttach(), or to MatCOOPatternDestroy()

  Errors: PETSC_ERR_MEM.

  Cost: one pass over the structure, where it is.
*/
PetscErrorCode MatCOOPatternCreate(Mat A, const DCSRView *view, MatCOOPattern *pattern)
{
  MatCOOPattern   p;
  cudaStream_t    stream;
  int             n;
  Mat             blocks[2];
  const PetscInt *ghosts;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  *pattern = NULL;
  PetscCall(PetscNew(&p));
  PetscCallGoto(ierr, failed, GetBlocks(A, &n, blocks, &p->num_ghosts, &ghosts));
  if (view != NULL) {
    PetscCallGoto(ierr, failed, PetscSparseCUDAGetStream(&stream));
    PetscCallGoto(ierr, failed, DCSRPatternGet(*view, stream, &p->blocks[0]));
  } else
    for (int k = 0; k < n; k++) PetscCallGoto(ierr, failed, GetBlockPattern(blocks[k], &p->blocks[k]));
  PetscCallGoto(ierr, failed, PetscMalloc1(p->num_ghosts, &p->ghosts));
  PetscCallGoto(ierr, failed, PetscArraycpy(p->ghosts, ghosts, p->num_ghosts));
  *pattern = p;
  PetscFunctionReturn(PETSC_SUCCESS);
failed:
  PetscCall(MatCOOPatternDestroy(&p));
  PetscFunctionReturn(ierr);
}

/* Notes that the pattern of a block is that of the list. A plain MATSEQAIJ, which becomes ours in the assembly, is looked at once more. */
static PetscErrorCode Note(Mat block, PetscObjectId list, PetscObjectState nonzerostate)
{
  PetscBool ours;

  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(block, &ours));
  if (!ours) PetscFunctionReturn(PETSC_SUCCESS);
  MatSeqAIJCUDAGet(block)->staging.coo_list         = list;
  MatSeqAIJCUDAGet(block)->staging.coo_nonzerostate = nonzerostate;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode IsNoted(Mat block, PetscObjectId list, PetscBool *noted)
{
  PetscFunctionBegin;
  PetscCall(MatIsSeqAIJCUDA(block, noted));
  if (*noted) *noted = (PetscBool)(MatSeqAIJCUDAGet(block)->staging.coo_list == list && MatSeqAIJCUDAGet(block)->staging.coo_nonzerostate == block->nonzerostate);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatCOOPatternAttach - Composes the pattern of a list with its container

  Not Collective

  Input Parameters:
+ A       - the matrix that the list was made for
. key     - name of the container
- pattern - of A; belongs to the container, NULL afterwards

  Note:
  To be called in MatSetPreallocationCOO(), which raises the nonzerostate of A once more when it is done.
*/
PetscErrorCode MatCOOPatternAttach(Mat A, const char key[], MatCOOPattern *pattern)
{
  PetscObject     list;
  PetscObjectId   id;
  int             n;
  Mat             blocks[2];
  PetscInt        num_ghosts;
  const PetscInt *ghosts;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, key, &list));
  PetscCheck(list != NULL, PetscObjectComm((PetscObject)A), PETSC_ERR_PLIB, "The list of coordinates is missing");
  PetscCall(PetscObjectContainerCompose(list, PATTERN_KEY, *pattern, ContainerDestroy));
  *pattern = NULL;
  PetscCall(PetscObjectGetId(list, &id));
  PetscCall(GetBlocks(A, &n, blocks, &num_ghosts, &ghosts));
  for (int k = 0; k < n; k++) PetscCall(Note(blocks[k], id, blocks[k]->nonzerostate + (blocks[k] == A)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether block k, with these ghost columns, has the pattern of the list. */
static PetscErrorCode HasPattern(Mat block, int k, PetscInt num_ghosts, const PetscInt ghosts[], MatCOOPattern pattern, PetscBool *has)
{
  DCSRPattern now;

  PetscFunctionBegin;
  PetscCall(GetBlockPattern(block, &now));
  *has = DCSRPatternEqual(&now, &pattern->blocks[k]);
  if (k == 0 || !*has) PetscFunctionReturn(PETSC_SUCCESS);
  *has = (PetscBool)(num_ghosts == pattern->num_ghosts);
  if (*has) PetscCall(PetscArraycmp(ghosts, pattern->ghosts, num_ghosts, has));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  MatCOOPatternCheck - Raises an error when a matrix does not have the nonzero pattern of its list of coordinates any more

  Not Collective: processes whose part of the pattern is that of the list have no error

  Input Parameters:
+ A   - a matrix of ours; what is staged joins it
- key - name of the container of the list

  Output Parameter:
. known - PETSC_FALSE when nothing is known of the pattern: the list is another type's, which the matrix had before

  Errors: PETSC_ERR_ARG_WRONGSTATE.

  Cost: nothing while the nonzerostate is what it was; else one pass over the structure, and a synchronization when it is on the device.
*/
PetscErrorCode MatCOOPatternCheck(Mat A, const char key[], PetscBool *known)
{
  PetscObject     list;
  PetscObjectId   id;
  MatCOOPattern   pattern = NULL;
  int             n;
  Mat             blocks[2];
  PetscInt        num_ghosts;
  const PetscInt *ghosts;
  PetscBool       same;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)A, key, &list));
  if (list != NULL) PetscCall(PetscObjectContainerQuery(list, PATTERN_KEY, &pattern));
  *known = (PetscBool)(pattern != NULL);
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &same));
  if (same) PetscCall(MatMPIAIJCUDAFinishInsertion(A));
  else PetscCall(MatSeqAIJCUDAFinishInsertion(A));
  if (!*known) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscObjectGetId(list, &id));
  PetscCall(GetBlocks(A, &n, blocks, &num_ghosts, &ghosts));
  for (int k = 0; k < n; k++) {
    PetscCall(IsNoted(blocks[k], id, &same));
    if (same) continue;
    PetscCall(HasPattern(blocks[k], k, num_ghosts, ghosts, pattern, &same));
    PetscCheck(same, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
               "The nonzero pattern is not the one of MatSetPreallocationCOO() any more (the %s has %" PetscInt_FMT " nonzeros and had %" PetscCount_FMT "): call it again before MatSetValuesCOO(), or add the values with MatSetValues()",
               n == 1 ? "matrix"
               : k    ? "off-diagonal block"
                      : "diagonal block",
               ((Mat_SeqAIJ *)blocks[k]->data)->nz, pattern->blocks[k].num_nonzeros);
    PetscCall(Note(blocks[k], id, blocks[k]->nonzerostate));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
