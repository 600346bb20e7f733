#pragma once
/* Vectors, index sets and the packing of PetscSF; see sys.h. */
#include "sys.h"
#include <petsc/private/isimpl.h>
#include <petsc/private/vecimpl.h>
#include <../src/vec/is/sf/impls/basic/sfpack.h>
