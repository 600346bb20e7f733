/*
  Host code of PETSc that reads the arrays of a MATAIJ without asking, outside of its operations: it is given a MATAIJ in place of a matrix of ours.

  - Coarsening reads the graph, and graphs that it makes of that. PCGAMG's usual graph is MATAIJ anyway (graph.c), that of -pc_gamg_type classical has our type.
  - Colorings of type greedy and jp read the matrix and submatrices of it, and in parts refuse all types but MATAIJ itself.
*/
#include "host.h"
#include "../core/core.h"

/* X(type, name) for each way of coarsening that PETSc has. */
#define COARSENINGS(X) \
  X(MATCOARSENMIS, mis) \
  X(MATCOARSENMISK, misk) \
  X(MATCOARSENHEM, hem)

typedef PetscErrorCode (*CoarsenFn)(MatCoarsen);

/* A MATAIJ copy of a matrix of ours; NULL for others, which are given as they are. */
static PetscErrorCode CreatePlain(Mat A, Mat *plain)
{
  PetscBool ours[2];

  PetscFunctionBegin;
  *plain = NULL;
  PetscCall(MatIsSeqAIJCUDA(A, &ours[0]));
  PetscCall(MatIsMPIAIJCUDA(A, &ours[1]));
  if (!ours[0] && !ours[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatAIJCUDAConvertToAIJ(A, MAT_INITIAL_MATRIX, plain));
  PetscCall(MatPropagateSymmetryOptions(A, *plain));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ApplyToPlainGraph(MatCoarsen coarsen, CoarsenFn apply)
{
  Mat            graph = coarsen->graph, plain;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreatePlain(graph, &plain));
  if (plain != NULL) coarsen->graph = plain;
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ)); // graphs that are made of this one do not obey -mat_seqaij_type
  ierr           = (*apply)(coarsen);
  coarsen->graph = graph;
  PetscCall(MatDestroy(&plain));
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_COARSENING(type, name) \
  static CoarsenFn      parent_create_##name = NULL, parent_apply_##name = NULL; \
  static PetscErrorCode MatCoarsenApply_##name(MatCoarsen coarsen) \
  { \
    PetscFunctionBegin; \
    PetscCall(ApplyToPlainGraph(coarsen, parent_apply_##name)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatCoarsenCreate_##name(MatCoarsen coarsen) \
  { \
    PetscFunctionBegin; \
    PetscCall((*parent_create_##name)(coarsen)); \
    parent_apply_##name = coarsen->ops->apply; \
    coarsen->ops->apply = MatCoarsenApply_##name; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
COARSENINGS(DEFINE_COARSENING)
#undef DEFINE_COARSENING

static PetscErrorCode RegisterCoarsenings(void)
{
  CoarsenFn create;

  PetscFunctionBegin;
#define REGISTER(type, name) \
  PetscCall(PetscFunctionListFind(MatCoarsenList, type, &create)); \
  if (create != NULL && create != MatCoarsenCreate_##name) { \
    parent_create_##name = create; \
    PetscCall(MatCoarsenRegister(type, MatCoarsenCreate_##name)); \
  }
  COARSENINGS(REGISTER)
#undef REGISTER
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* X(type, name) for each coloring that reads arrays. */
#define COLORINGS(X) \
  X(MATCOLORINGGREEDY, greedy) \
  X(MATCOLORINGJP, jp)

typedef PetscErrorCode (*ColoringCreateFn)(MatColoring);
typedef PetscErrorCode (*ColoringApplyFn)(MatColoring, ISColoring *);

static PetscErrorCode ColorPlainMatrix(MatColoring coloring, ColoringApplyFn apply, ISColoring *colors)
{
  Mat            A = coloring->mat, plain;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CreatePlain(A, &plain));
  if (plain != NULL) coloring->mat = plain;
  PetscCall(MatAIJCUDAHostBegin(NULL, HOST_READ)); // nor do matrices that are made of this one
  ierr          = (*apply)(coloring, colors);
  coloring->mat = A;
  PetscCall(MatDestroy(&plain));
  PetscCall(MatAIJCUDAHostFinish(NULL, HOST_READ, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define DEFINE_COLORING(type, name) \
  static ColoringCreateFn parent_create_##name = NULL; \
  static ColoringApplyFn  parent_apply_##name  = NULL; \
  static PetscErrorCode   MatColoringApply_##name(MatColoring coloring, ISColoring *colors) \
  { \
    PetscFunctionBegin; \
    PetscCall(ColorPlainMatrix(coloring, parent_apply_##name, colors)); \
    PetscFunctionReturn(PETSC_SUCCESS); \
  } \
  static PetscErrorCode MatColoringCreate_##name(MatColoring coloring) \
  { \
    PetscFunctionBegin; \
    PetscCall((*parent_create_##name)(coloring)); \
    parent_apply_##name  = coloring->ops->apply; \
    coloring->ops->apply = MatColoringApply_##name; \
    PetscFunctionReturn(PETSC_SUCCESS); \
  }
COLORINGS(DEFINE_COLORING)
#undef DEFINE_COLORING

static PetscErrorCode RegisterColorings(void)
{
  ColoringCreateFn create;

  PetscFunctionBegin;
#define REGISTER(type, name) \
  PetscCall(PetscFunctionListFind(MatColoringList, type, &create)); \
  if (create != NULL && create != MatColoringCreate_##name) { \
    parent_create_##name = create; \
    PetscCall(MatColoringRegister(type, MatColoringCreate_##name)); \
  }
  COLORINGS(REGISTER)
#undef REGISTER
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* MatAIJCUDARegisterForeign - Registers coarsenings and colorings again, with our code around PETSc's, and what no registration reaches (events.c); part of PetscSparseCUDAInitialize(). */
PetscErrorCode MatAIJCUDARegisterForeign(void)
{
  PetscFunctionBegin;
  PetscCall(RegisterCoarsenings());
  PetscCall(RegisterColorings());
  PetscCall(MatAIJCUDARegisterMAIJ());
  PetscCall(MatAIJCUDAListen());
  PetscFunctionReturn(PETSC_SUCCESS);
}
