static char help[] =
  "The graphs of PCGAMG's levels have the edges of PETSc's graphs of a MATAIJ: blocks of all sizes, thresholds, patterns that are not symmetric; with signed strength those of a MATAIJ that was made by hand.\n\n";

#include "mat/impls/dcsr/testmat.h"
#include "../../../src/ksp/pc/impls/gamg/gamg.h"

typedef enum {
  DENSE,       /* whole blocks, a symmetric pattern; values are not symmetric */
  SYMMETRIC,   /* the same with symmetric values, and known to be so */
  SPARSE,      /* holes in the blocks */
  UNSYMMETRIC, /* whole blocks */
  MISSING,     /* no diagonal blocks here and there, empty rows */
  TWISTED,     /* what PETSc takes for dense blocks */
  NUM_KINDS
} Kind;
static const char *const kinds[NUM_KINDS] = {"dense", "symmetric", "sparse", "unsymmetric", "missing", "twisted"};

static uint64_t Hash(uint64_t a, uint64_t b)
{
  uint64_t h = (a + 1) * 0x9e3779b97f4a7c15ull ^ (b + 1) * 0xc2b2ae3d27d4eb4full;

  h = (h ^ (h >> 31)) * 0xbf58476d1ce4e5b9ull;
  return h ^ (h >> 29);
}

/* A number that the order of both does not change. */
static uint64_t PairHash(PetscInt a, PetscInt b)
{
  return Hash((uint64_t)PetscMin(a, b), (uint64_t)PetscMax(a, b));
}

/* Whether nodes are neighbors: a chain, and some far away. */
static PetscBool AreNeighbors(Kind kind, PetscInt a, PetscInt b)
{
  const PetscBool symmetric = (PetscBool)(PetscAbsInt(a - b) <= 1 || PairHash(a, b) % 23 == 0);

  if (kind == UNSYMMETRIC) return (PetscBool)(a == b || Hash((uint64_t)a, (uint64_t)b) % 9 == 0);
  if (kind == MISSING) return (PetscBool)(symmetric && a % 11 != 4 && b % 11 != 4 && (a != b || a % 5 != 2));
  return symmetric;
}

static PetscBool IsEntry(Kind kind, PetscInt num_nodes, PetscInt bs, PetscInt row, PetscInt column)
{
  const PetscInt a = row / bs, b = column / bs;

  if (kind == TWISTED) return (PetscBool)(b < num_nodes / bs * bs && column % bs == b % bs && AreNeighbors(SYMMETRIC, a, b / bs));
  return (PetscBool)(AreNeighbors(kind, a, b) && (kind != SPARSE || row == column || PairHash(row, column) % 4 == 0));
}

/* Few different values, so that scaled entries meet thresholds exactly. */
static PetscScalar GetValue(Kind kind, PetscInt row, PetscInt column)
{
  const uint64_t  h     = kind == SYMMETRIC ? PairHash(row, column) : Hash((uint64_t)row, (uint64_t)column);
  const PetscReal value = row == column ? (row % 13 == 6 ? 0 : row % 4 == 1 ? -4 : 4 + row % 3) : (PetscReal)(h % 5) / 4 - 0.5;

  return value;
}

/* layout: rows everywhere, or none on odd processes */
static PetscErrorCode Create(MatType type, Kind kind, PetscInt num_nodes, PetscInt bs, PetscBool uneven, Mat *A)
{
  PetscInt    begin, end, n = PETSC_DECIDE;
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscSplitOwnership(PETSC_COMM_WORLD, &n, &num_nodes));
  if (uneven) n = rank % 2 ? 0 : num_nodes / ((size + 1) / 2) + (rank / 2 < num_nodes % ((size + 1) / 2) ? 1 : 0);
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, n * bs, n * bs, num_nodes * bs, num_nodes * bs));
  PetscCall(MatSetBlockSize(*A, bs));
  PetscCall(MatSetType(*A, type));
  PetscCall(MatGetOwnershipRange(*A, &begin, &end));
  for (PetscInt i = begin; i < end; i++)
    for (PetscInt j = 0; j < num_nodes * bs; j++)
      if (IsEntry(kind, num_nodes, bs, i, j)) PetscCall(MatSetValue(*A, i, j, GetValue(kind, i, j), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  if (kind == SYMMETRIC) PetscCall(MatSetOption(*A, MAT_SYMMETRIC, PETSC_TRUE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ComparePatterns(Mat ours, Mat theirs, const char what[])
{
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCheck(ours->rmap->N == theirs->rmap->N && ours->rmap->n == theirs->rmap->n && ours->cmap->N == theirs->cmap->N && ours->cmap->n == theirs->cmap->n, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%s: %" PetscInt_FMT " rows here of %" PetscInt_FMT ", and with PETSc's code %" PetscInt_FMT " of %" PetscInt_FMT, what, ours->rmap->n, ours->rmap->N, theirs->rmap->n, theirs->rmap->N);
  PetscCall(MatGetOwnershipRange(ours, &begin, &end));
  for (PetscInt r = begin; r < end; r++) {
    PetscInt        n[2];
    const PetscInt *columns[2];

    PetscCall(MatGetRow(ours, r, &n[0], &columns[0], NULL));
    PetscCall(MatGetRow(theirs, r, &n[1], &columns[1], NULL));
    PetscCheck(n[0] == n[1], PETSC_COMM_SELF, PETSC_ERR_PLIB, "%s: row %" PetscInt_FMT " has %" PetscInt_FMT " edges, and with PETSc's code %" PetscInt_FMT, what, r, n[0], n[1]);
    for (PetscInt k = 0; k < n[0]; k++)
      PetscCheck(columns[0][k] == columns[1][k], PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "%s: edge %" PetscInt_FMT " of row %" PetscInt_FMT " goes to %" PetscInt_FMT ", and with PETSc's code to %" PetscInt_FMT, what, k, r, columns[0][k], columns[1][k]);
    PetscCall(MatRestoreRow(theirs, r, &n[1], &columns[1], NULL));
    PetscCall(MatRestoreRow(ours, r, &n[0], &columns[0], NULL));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether the pattern of a MATAIJ is symmetric is what ours was found to be. */
static PetscErrorCode CheckSymmetry(Mat G, PetscBool found, const char what[])
{
  PetscBool symmetric;
  Mat       T;
  MatInfo   info[2];

  PetscFunctionBegin;
  PetscCall(MatTranspose(G, MAT_INITIAL_MATRIX, &T));
  PetscCall(MatAXPY(T, 1, G, DIFFERENT_NONZERO_PATTERN));
  PetscCall(MatGetInfo(G, MAT_GLOBAL_SUM, &info[0]));
  PetscCall(MatGetInfo(T, MAT_GLOBAL_SUM, &info[1]));
  symmetric = (PetscBool)(info[0].nz_used == info[1].nz_used);
  PetscCheck(symmetric == found, PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the graph is %ssymmetric, and was taken for one that is %s", what, symmetric ? "" : "not ", found ? "so" : "not");
  PetscCall(MatDestroy(&T));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A copy without the positive entries off the diagonal, entry by entry, times a factor. */
static PetscErrorCode CreateByHand(Mat A, PetscBool drop, PetscScalar factor, Mat *B)
{
  PetscInt           begin, end, n;
  const PetscInt    *columns;
  const PetscScalar *values;

  PetscFunctionBegin;
  PetscCall(MatDuplicate(A, MAT_SHARE_NONZERO_PATTERN, B));
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  for (PetscInt r = begin; r < end; r++) {
    PetscCall(MatGetRow(A, r, &n, &columns, &values));
    for (PetscInt k = 0; k < n; k++) PetscCall(MatSetValue(*B, r, columns[k], drop && columns[k] != r && PetscRealPart(values[k]) > 0 ? 0 : factor * values[k], INSERT_VALUES));
    PetscCall(MatRestoreRow(A, r, &n, &columns, &values));
  }
  PetscCall(MatAssemblyBegin(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*B, MAT_FINAL_ASSEMBLY));
  PetscCall(MatPropagateSymmetryOptions(A, *B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The graph G by signed strength of a MATAIJ A is that by absolute strength of a copy without positive couplings, where unknowns are single and there is a threshold, and that of -A. */
static PetscErrorCode TestSigned(PC pc, Mat A, Mat G, const char what[])
{
  const PetscBool drop = (PetscBool)(A->rmap->bs == 1 && GAMGGet(pc)->threshold[0] >= 0);
  GAMGContext    *context;
  Mat             B, H;

  PetscFunctionBegin;
  PetscCall(GAMGGetContext(pc, &context));
  for (int k = 0; k < 2; k++) {
    PetscCall(CreateByHand(A, (PetscBool)(drop && k == 0), k ? -1 : 1, &B));
    context->strength = k ? GAMG_STRENGTH_SIGNED : GAMG_STRENGTH_ABSOLUTE;
    PetscCall((*GAMGGet(pc)->ops->creategraph)(pc, B, &H));
    PetscCall(ComparePatterns(G, H, what));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&H));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestThreshold(PC pc, Mat A[2], PetscBool device, Kind kind, PetscInt bs, PetscReal threshold, GAMGStrength strength)
{
  char         what[256];
  PetscBool    known, symmetric, pattern;
  GAMGContext *context;
  Mat          G[2];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s blocks of %" PetscInt_FMT ", threshold %g, strength %s", kinds[kind], bs, (double)threshold, GAMGStrengths[strength]));
  PetscCall(GAMGGetContext(pc, &context));
  context->strength          = strength;
  GAMGGet(pc)->current_level = 0;
  GAMGGet(pc)->threshold[0]  = threshold;
  PetscCall((*GAMGGet(pc)->ops->creategraph)(pc, A[0], &G[0])); // a MATAIJ is PETSc's in any case
  if (strength == GAMG_STRENGTH_SIGNED) PetscCall(TestSigned(pc, A[0], G[0], what));
  if (!device) {
    PetscCall(MatDestroy(&G[0]));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(GAMGCreateGraph(pc, A[1], &G[1], &pattern));
  PetscCall(CheckSymmetry(G[0], pattern, what));
  PetscCall(ComparePatterns(G[1], G[0], what));
  PetscCall(TestIsValid(G[1], what));
  PetscCall(MatIsSymmetricKnown(A[1], &known, &symmetric));
  if (threshold < 0 && bs == 1 && known && symmetric) PetscCheck(G[1] == A[1], PETSC_COMM_WORLD, PETSC_ERR_PLIB, "%s: the graph is not the matrix", what);
  PetscCall(MatDestroy(&G[0]));
  PetscCall(MatDestroy(&G[1]));
  PetscCall(TestCompareRows(A[0], A[1], what));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestMatrix(MatType type, Kind kind, PetscInt num_nodes, PetscInt bs, PetscBool uneven)
{
  const PetscReal thresholds[] = {-1, 0.0625, 0.3};
  PetscBool       device;
  Mat             A[2];
  PC              pc;

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCGAMG));
  PetscCall(PCSetFromOptions(pc));
  for (int k = 0; k < 2; k++) PetscCall(Create(k ? type : MATAIJ, kind, num_nodes, bs, uneven, &A[k]));
  PetscCall(PCSetOperators(pc, A[0], A[0]));
  PetscCall(TestUsesDevice(A[1], &device));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(thresholds); t++)
    for (int strength = 0; strength < 2; strength++) PetscCall(TestThreshold(pc, A, device, kind, bs, thresholds[t], (GAMGStrength)strength));
  for (int k = 0; k < 2; k++) PetscCall(MatDestroy(&A[k]));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {1, 3, 36};
  char          *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (int kind = 0; kind < NUM_KINDS; kind++)
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
      for (int uneven = 0; uneven < 2; uneven++) PetscCall(TestMatrix(type, (Kind)kind, sizes[s] > 10 ? 38 : 61, sizes[s], (PetscBool)uneven));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   # Signed strength with PETSc's code.
   test:
      suffix: host
      nsize: {{1 3}}
      output_file: output/empty.out

   testset:
      nsize: {{1 3}}
      requires: cuda
      args: -use_gpu_aware_mpi 0
      output_file: output/empty.out
      test:
         suffix: 1
      test:
         suffix: index
         args: -pc_gamg_mat_coarsen_strength_index 0
      test:
         suffix: unsymmetrized
         nsize: 1
         args: -pc_gamg_graph_symmetrize false

TEST*/
