#pragma once
/* Grids and meshes; see sys.h. */
#include "vec.h"
#include <petsc/private/dmimpl.h>
#include <petsc/private/dmdaimpl.h>
#include <petsc/private/dmpleximpl.h>
