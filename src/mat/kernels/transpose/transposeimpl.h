#pragma once
/* What the files of this kernel share. */
#include <petscsparsecuda/blocklist.h>
#include <petscsparsecuda/transpose.h>

PETSC_INTERN PetscErrorCode TransposeBlocksEntries(DCSRBlockList, const int32_t[], DCSRView, PetscBool, DCSRView, void *, cudaStream_t);
PETSC_INTERN PetscErrorCode TransposeFullBlocks(DCSRView, PetscBool, DCSRView, void *, cudaStream_t, PetscBool *);
