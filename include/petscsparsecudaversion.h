#pragma once
/* The version of the headers; conf/versions.sh has it, too, and conf/lint compares the two. */

/* TOPIC = Loading the library */

#define PETSCSPARSECUDA_VERSION_MAJOR    0 /* While it is 0, programs may have to change for a new minor version. */
#define PETSCSPARSECUDA_VERSION_MINOR    3 /* New functions. */
#define PETSCSPARSECUDA_VERSION_SUBMINOR 0 /* Repairs. */

/*MC
  PETSCSPARSECUDA_VERSION_GE - Whether the version of the headers is at least the given one; for `#if`.

  Level: beginner

  Example:
.vb
  #if PETSCSPARSECUDA_VERSION_GE(0, 3, 0)
.ve

.seealso: `PetscSparseCUDAInitialize()`
M*/
#define PETSCSPARSECUDA_VERSION_GE(MAJOR, MINOR, SUBMINOR) \
  (PETSCSPARSECUDA_VERSION_MAJOR != (MAJOR)   ? PETSCSPARSECUDA_VERSION_MAJOR > (MAJOR) \
   : PETSCSPARSECUDA_VERSION_MINOR != (MINOR) ? PETSCSPARSECUDA_VERSION_MINOR > (MINOR) \
                                              : PETSCSPARSECUDA_VERSION_SUBMINOR >= (SUBMINOR))
