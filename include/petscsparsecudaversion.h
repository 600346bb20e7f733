#pragma once
/* The version of the headers; conf/versions.sh has it, too, and conf/lint compares the two. */

/* TOPIC = Loading the library */

#define PETSCSPARSECUDA_VERSION_MAJOR    0 /* Another one: programs may have to change. */
#define PETSCSPARSECUDA_VERSION_MINOR    3 /* A larger one: new functions; while the major version is 0, programs may have to change. */
#define PETSCSPARSECUDA_VERSION_SUBMINOR 0 /* A larger one: repairs alone. */

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
