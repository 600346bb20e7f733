/*
  The graph that a level is coarsened by. Coarsening on the device reads the pattern alone, so that without a threshold the matrix itself is the graph where unknowns are single and its pattern is
  symmetric. Edges are those of PETSc's graph, or with -pc_gamg_strength signed of PETSc's graph of a matrix in which couplings of the diagonal's sign are zero.
*/
#include "gamg.h"
#include "../../../../mat/impls/aijcuda/parallel/parallel.h"
#include "../../../../mat/impls/aijcuda/graph/graph.h"

/* Whether the transpose is to be added, as in MatCreateGraph(). */
static PetscErrorCode AddsTranspose(PC pc, Mat A, PetscBool *adds)
{
  PetscBool symmetric;

  PetscFunctionBegin;
  PetscCall(MatAIJCUDAIsSymmetricKnown(A, &symmetric));
  *adds = (PetscBool)(GAMGGetAggOptions(pc)->graph_symmetrize && !symmetric);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All edges; *symmetric: they were made symmetric. Like PETSc's code, it believes what was said of the pattern. */
static PetscErrorCode CreateUnfiltered(Mat A, PetscBool transpose, Mat *G, PetscBool *symmetric)
{
  Mat            nodes = A;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (A->rmap->bs > 1) PetscCall(MatAIJCUDACollapse(A, PETSC_FALSE, 0, NULL, &nodes));
  else PetscCall(PetscObjectReference((PetscObject)A));
  *symmetric = (PetscBool)(transpose && nodes->structurally_symmetric != PETSC_BOOL3_TRUE);
  if (!*symmetric) {
    *G = nodes;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ierr = MatAIJCUDACreateSymmetricPattern(nodes, G);
  PetscCall(MatDestroy(&nodes));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The sign of couplings that count as zero, 0: none do. It is the sign of the diagonal, so that A and -A have the same graph, and one for all rows, so that the graph of a symmetric matrix is
  symmetric. Coarse operators connect by couplings of both signs: without those of the diagonal's, jumps of 1e4 needed 27 cycles in place of 10 (600,000 unknowns), and 101 with one aggressive level.
  Collective.
*/
static PetscErrorCode GetWeakSign(PC pc, Mat A, int *sign)
{
  const PetscReal threshold = GAMGGet(pc)->threshold[GAMGGet(pc)->current_level];
  PetscScalar     trace     = 0;
  GAMGContext    *context;
  Vec             diagonal;
  PetscErrorCode  ierr;

  PetscFunctionBegin;
  *sign = 0;
  PetscCall(GAMGGetContext(pc, &context));
  if (context->strength == GAMG_STRENGTH_ABSOLUTE || GAMGGet(pc)->current_level > 0 || A->rmap->bs > 1 || threshold < 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatCreateVecs(A, &diagonal, NULL));
  ierr = MatGetDiagonal(A, diagonal);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr == PETSC_SUCCESS) ierr = VecSum(diagonal, &trace);
  PetscCall(VecDestroy(&diagonal));
  PetscCall(ierr);
  *sign = PetscRealPart(trace) < 0 ? -1 : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Edges above the threshold. */
static PetscErrorCode CreateFiltered(PC pc, Mat A, PetscBool transpose, PetscReal threshold, Mat *G)
{
  const MatCoarsen crs     = GAMGGetAggOptions(pc)->crs;
  Mat              weights = A;
  int              weak;
  PetscErrorCode   ierr;

  PetscFunctionBegin;
  PetscCall(GetWeakSign(pc, A, &weak));
  if (transpose || A->rmap->bs > 1) PetscCall(MatAIJCUDACreateWeights(A, PETSC_TRUE, weak, transpose, crs->strength_index_size, crs->strength_index, &weights));
  else PetscCall(PetscObjectReference((PetscObject)A));
  ierr = MatAIJCUDACreateStrong(weights, threshold, weights == A ? weak : 0, GAMGGetAggOptions(pc)->use_low_mem_filter, G);
  PetscCall(MatDestroy(&weights));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is left, as PETSc tells it. */
static PetscErrorCode TellEdges(PC pc, Mat A, Mat G, PetscReal threshold)
{
  MatInfo        a, g;
  const PetscInt bs = A->rmap->bs;

  PetscFunctionBegin;
  PetscCall(MatGetInfo(A, MAT_LOCAL, &a));
  PetscCall(MatGetInfo(G, MAT_LOCAL, &g));
  if (threshold >= 0) PetscCall(PetscInfo(pc, "\t edges above threshold %g (N=%" PetscInt_FMT ")\n", (double)threshold, G->rmap->N));
  if (a.nz_used > 0) PetscCall(PetscInfo(pc, "Filtering left %g %% edges in graph (%e %e)\n", 100.0 * g.nz_used * (double)(bs * bs) / a.nz_used, a.nz_used, g.nz_used));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCreateGraph - The graph of the current level, whose matrix is A; the MatCoarsen of pc says which rows and columns of a block count for a threshold. Collective
  A is ours, square, rows and columns with the same layout and block size, its structure on the device on all processes.
  G is a matrix of ours with one row for each block, its pattern on the device; it may be A itself, with one more reference. Its values have no meaning. NULL after an error. symmetric: whether its
  pattern is, as coarsening on the device has to have it. PETSC_ERR_MEM of a process alone is one on all.
  Edges are those of PETSc's graph, which is symmetrized unless A is known to be symmetric or -pc_gamg_graph_symmetrize is false. What is said of A need not be so: rows that MatZeroRows() has emptied
  leave a pattern that is not symmetric. With -pc_gamg_low_memory_threshold_filter PETSc filters by MatFilter(), which leaves the same edges.
  Cost: one read of the pattern when A has no blocks, and a transpose and a sum when it has to be symmetrized; blocks and thresholds, a few reads.
*/
PetscErrorCode GAMGCreateGraph(PC pc, Mat A, Mat *G, PetscBool *symmetric)
{
  const PetscReal threshold = GAMGGet(pc)->threshold[GAMGGet(pc)->current_level];
  PetscBool       transpose = PETSC_FALSE;
  PetscErrorCode  ierr      = PETSC_SUCCESS;

  PetscFunctionBegin;
  *G         = NULL;
  *symmetric = PETSC_FALSE;
  PetscCall(AddsTranspose(pc, A, &transpose));
  if (threshold < 0) PetscCall(CreateUnfiltered(A, transpose, G, symmetric));
  else PetscCall(CreateFiltered(pc, A, transpose, threshold, G));
  if (!*symmetric) ierr = MatAIJCUDAHasSymmetricPattern(*G, symmetric);
  if (ierr != PETSC_SUCCESS) PetscCall(MatDestroy(G));
  PetscCall(ierr);
  if (*symmetric) PetscCall(TellEdges(pc, A, *G, threshold));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings of one sign become zero in a block of a matrix on the host; diagonal: its entries with equal numbers of row and column are no couplings. */
static PetscErrorCode ZeroWeak(Mat block, int sign, PetscBool diagonal)
{
  const PetscInt *i, *j;
  PetscInt        n;
  PetscScalar    *a;
  PetscBool       done;

  PetscFunctionBegin;
  PetscCall(MatSeqAIJGetArray(block, &a));
  PetscCall(MatGetRowIJ(block, 0, PETSC_FALSE, PETSC_FALSE, &n, &i, &j, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A matrix of type %s does not show its rows", ((PetscObject)block)->type_name);
  for (PetscInt r = 0; r < n; r++)
    for (PetscInt k = i[r]; k < i[r + 1]; k++)
      if (!(diagonal && j[k] == r) && sign * PetscRealPart(a[k]) > 0) a[k] = 0;
  PetscCall(MatRestoreRowIJ(block, 0, PETSC_FALSE, PETSC_FALSE, &n, &i, &j, &done));
  PetscCall(MatSeqAIJRestoreArray(block, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy of a matrix in which couplings of one sign are zero. */
static PetscErrorCode CreateWithoutWeak(Mat A, int sign, Mat *B)
{
  PetscBool      seq, mpi;
  Mat            diagonal, off_diagonal = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &seq));
  PetscCall(PetscObjectBaseTypeCompare((PetscObject)A, MATMPIAIJ, &mpi));
  PetscCheck(seq || mpi, PetscObjectComm((PetscObject)A), PETSC_ERR_SUP, "-pc_gamg_strength signed is for matrices of type MATAIJ and its subclasses, not for %s: use absolute",
             ((PetscObject)A)->type_name);
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, B));
  PetscCall(MatPropagateSymmetryOptions(A, *B));
  diagonal = *B;
  if (mpi) PetscCall(MatMPIAIJGetSeqAIJ(*B, &diagonal, &off_diagonal, NULL));
  ierr = ZeroWeak(diagonal, sign, PETSC_TRUE);
  if (ierr == PETSC_SUCCESS && mpi) ierr = ZeroWeak(off_diagonal, sign, PETSC_FALSE);
  PetscCall(PetscSparseCUDAAgree(PetscObjectComm((PetscObject)A), ierr, &ierr));
  if (ierr != PETSC_SUCCESS) PetscCall(MatDestroy(B));
  PetscCall(ierr);
  PetscCall(PetscObjectStateIncrease((PetscObject)*B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCreateGraphByPETSc - The graph of the current level by PETSc's code; with -pc_gamg_strength signed that of a copy in which the couplings that do not count are zero. Collective
  With a threshold entries that are zero are no edges. Cost: PETSc's; with signed strength a copy of A.
*/
PetscErrorCode GAMGCreateGraphByPETSc(PC pc, Mat A, Mat *G)
{
  GAMGContext   *context;
  Mat            B = A;
  int            sign;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  PetscCall(GetWeakSign(pc, A, &sign));
  if (sign != 0) PetscCall(CreateWithoutWeak(A, sign, &B));
  ierr = (*context->parent.creategraph)(pc, B, G);
  if (sign != 0) PetscCall(MatDestroy(&B));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
