#pragma once
/* hypre, where PETSc has it; see sys.h. */
#include "mat.h"
#include <petsc/private/petschypre.h>
