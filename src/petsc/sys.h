#pragma once
/*
  PETSc's private headers, which are included in this folder alone, and what differs between its minor versions 3.24 to 3.26. Here: objects, logging, hash sets.

  A difference is an inline function or a type of the newest version's name, beside the fields that it stands for.
*/
#include <petscversion.h>
#include <petsc/private/petscimpl.h>
#include <petsc/private/hashset.h>
#include <petsc/private/logimpl.h>
#include <petsc/private/loghandlerimpl.h>
#include <petsc/private/petsclegacycupmblas.h>

#if PETSC_VERSION_LT(3, 25, 0)
typedef void  *PetscCtx;   // of callbacks
typedef void **PetscCtxRt; // of functions that destroy a context: its address
#endif
