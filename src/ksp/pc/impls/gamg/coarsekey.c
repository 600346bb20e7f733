/*
  What cycles below the finest level follow from, as numbers. While they are the same, what was decided and recorded of these cycles holds; when one has changed, all is decided anew. docs/smoothers.md
  has the table of what a program can change and which number shows it.

  Numbers are read from the objects each time: many changes raise no object state, such as those by MatSetNullSpace(), MatSetOperation() and PCMGSetResidual(). Values in memory that a graph reads, as
  those of vectors, are no numbers of a key.
*/
#include "coarse.h"
#include "../jacobi/jacobi.h"
#include "../pbjacobi/pbjacobi.h"
#include <petscsparsecuda/record.h>
#include "../../../../petsc/ksp.h"
#include "../../../../petsc/sys.h"

static size_t Size(PetscInt num_levels)
{
  return sizeof(*(GAMGCoarseKey)0) + (size_t)num_levels * sizeof(GAMGLevelKey);
}

/* GAMGCoarseKeyCreate - An empty key of so many levels, to be freed with PetscFree(). */
PetscErrorCode GAMGCoarseKeyCreate(PetscInt num_levels, GAMGCoarseKey *key)
{
  PetscFunctionBegin;
  PetscCall(PetscCalloc(Size(num_levels), key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGCoarseKeyCopy - Of keys of so many levels. */
PetscErrorCode GAMGCoarseKeyCopy(PetscInt num_levels, GAMGCoarseKey from, GAMGCoarseKey to)
{
  PetscFunctionBegin;
  PetscCall(PetscMemcpy(to, from, Size(num_levels)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGCoarseKeyCompare - Whether two keys of so many levels are the same. */
PetscErrorCode GAMGCoarseKeyCompare(PetscInt num_levels, GAMGCoarseKey a, GAMGCoarseKey b, PetscBool *same)
{
  PetscFunctionBegin;
  PetscCall(PetscMemcmp(a, b, Size(num_levels), same));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One that the cycle writes is noted as written, since a graph does not. */
static PetscErrorCode GetVec(Vec v, PetscBool written, GAMGVecKey *key)
{
  PetscScalar *array = NULL;
  PetscMemType type  = PETSC_MEMTYPE_HOST;

  PetscFunctionBegin;
  if (v != NULL && written) {
    PetscCall(VecGetArrayWriteAndMemType(v, &array, &type));
    key->address = PetscMemTypeDevice(type) ? (PetscInt64)(uintptr_t)array : 0;
    PetscCall(VecRestoreArrayWriteAndMemType(v, &array));
  } else if (v != NULL) {
    PetscCall(VecGetArrayReadAndMemType(v, (const PetscScalar **)&array, &type));
    key->address = PetscMemTypeDevice(type) ? (PetscInt64)(uintptr_t)array : 0;
    PetscCall(VecRestoreArrayReadAndMemType(v, (const PetscScalar **)&array));
  } else key->address = 0;
  key->id = v != NULL ? ((PetscObject)v)->id : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of other smoothers are left alone: they may keep something between two solves. */
static PetscErrorCode GetSmoother(KSP ksp, GAMGSmootherKey *key)
{
  const DCSRPointBlocks *blocks = NULL;
  PetscBool              served;
  Vec                    d = NULL;
  PetscInt               num_work;

  PetscFunctionBegin;
  PetscCall(KSPFusedGetKey(ksp, &key->ksp));
  served = (PetscBool)((key->ksp.flags & KSP_FUSED_OURS) && (key->ksp.flags & KSP_FUSED_SET_UP));
  if (served) PetscCall(PCJacobiGetReciprocals_AIJCUDA(ksp->pc, NULL, &d));
  if (served && d == NULL) PetscCall(PCPBJacobiGetBlocks_AIJCUDA(ksp->pc, &blocks));
  PetscCall(GetVec(d, PETSC_FALSE, &key->d));
  key->blocks = blocks != NULL ? (PetscInt64)(uintptr_t)blocks->inverses : 0;
  key->size   = blocks != NULL ? (PetscInt64)blocks->size : 0;
  num_work    = served ? PetscMin(ksp->nwork, blocks != NULL ? 3 : 2) : 0; // PCJACOBI's steps leave the third one alone
  for (PetscInt k = 0; k < 3; k++) PetscCall(GetVec(k < num_work ? ksp->work[k] : NULL, PETSC_TRUE, &key->work[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* GAMGLevelGetOperator - The matrix of residuals, which PCMG takes from a smoother at the first cycle after a setup that has reset all. */
Mat GAMGLevelGetOperator(const PC_MG_Levels *level)
{
  return level->A != NULL ? level->A : level->smoothu->pc->mat;
}

static PetscErrorCode GetLevel(const PC_MG_Levels *level, PetscBool finest, GAMGLevelKey *key)
{
  PetscFunctionBegin;
  PetscCall(GetVec(level->b, (PetscBool)!finest, &key->b)); // the finest of these is written before, by a restriction
  PetscCall(GetVec(level->x, PETSC_TRUE, &key->x));
  if (level->level == 0) PetscFunctionReturn(PETSC_SUCCESS);
  key->residual = (PetscInt64)(uintptr_t)level->residual;
  PetscCall(GetVec(level->r, PETSC_TRUE, &key->r));
  PetscCall(KSPFusedGetMatKey(GAMGLevelGetOperator(level), &key->A));
  PetscCall(KSPFusedGetMatKey(level->interpolate, &key->interpolate));
  PetscCall(KSPFusedGetMatKey(level->restrct, &key->restriction));
  PetscCall(GetSmoother(level->smoothd, &key->down));
  if (level->smoothu == level->smoothd) key->up = key->down;
  else PetscCall(GetSmoother(level->smoothu, &key->up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GetPC(PC pc, GAMGPCKey *key)
{
  PetscFunctionBegin;
  key->id          = ((PetscObject)pc)->id;
  key->apply       = (PetscInt64)(uintptr_t)pc->ops->apply;
  key->setupcalled = (PetscInt64)pc->setupcalled;
  PetscCall(KSPFusedGetMatKey(pc->mat, &key->A));
  PetscCall(KSPFusedGetMatKey(pc->pmat, &key->P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without a PC that factors, which depends on settings of all solvers on the way to it, there is nothing to compare. */
static PetscErrorCode GetCoarsest(KSP ksp, GAMGCoarsestKey *key)
{
  PC  factor;
  Mat F;

  PetscFunctionBegin;
  PetscCall(GAMGCoarseGetFactorPC(ksp, &factor));
  if (factor == NULL) PetscFunctionReturn(PETSC_SUCCESS);
  key->solver = ((PetscObject)ksp)->id;
  PetscCall(GetPC(ksp->pc, &key->pc));
  PetscCall(GetPC(factor, &key->factor));
  if (!factor->setupcalled) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PCFactorGetMatrix(factor, &F));
  key->F       = ((PetscObject)F)->id;
  key->F_state = ((PetscObject)F)->state;
  key->F_solve = (PetscInt64)(uintptr_t)F->ops->solve;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  GAMGCoarseKeyGet - The key of now, for the num_levels levels below the finest; all of it is written
  Vectors that a cycle writes are on the device afterwards, and their values count as new. Cost: a few microseconds a level.
*/
PetscErrorCode GAMGCoarseKeyGet(PC_MG_Levels **levels, PetscInt num_levels, GAMGCoarseKey key)
{
  PetscInt64 all;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(key, Size(num_levels)));
  PetscCall(PetscSparseCUDAGetMemoryChanges(&all, &key->memory_lost));
  key->timed  = (PetscInt64)PetscLogGpuTimeFlag;
  key->single = (PetscInt64)MatDeviceStorageUsesSingle();
  PetscCall(GetCoarsest(levels[0]->smoothd, &key->coarsest));
  for (PetscInt k = 0; k < num_levels; k++) PetscCall(GetLevel(levels[k], (PetscBool)(k == num_levels - 1), &key->levels[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
