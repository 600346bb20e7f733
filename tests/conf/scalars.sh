#!/usr/bin/env bash
# The library refuses a PETSc of another precision or with complex scalars in words. A library that is loaded first says what such a PETSc says.
set -uo pipefail
library=${PETSCSPARSECUDA_LIBRARY:?}
libdir=${PETSC_DIR:?}/${PETSC_ARCH:+$PETSC_ARCH/}lib
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
cat >"$work/other.c" <<'END'
#include <stdlib.h>
#include <string.h>
/* PetscDataType: PETSC_DOUBLE is 1, PETSC_COMPLEX 2, PETSC_FLOAT 5 */
int PetscDataTypeFromString(const char name[], int *type, _Bool *found)
{
  *type  = atoi(getenv(strcmp(name, "real") ? "OTHER_SCALAR" : "OTHER_REAL"));
  *found = 1;
  return 0;
}
END
cat >"$work/start.c" <<'END'
int PetscInitialize(int *, char ***, const char *, const char *);
int PetscFinalize(void);
int main(int argc, char **argv)
{
  int code = PetscInitialize(&argc, &argv, 0, 0);

  return code ? code : PetscFinalize();
}
END
${PETSC_CC:-mpicc} -shared -fPIC "$work/other.c" -o "$work/other.so" && ${PETSC_CC:-mpicc} "$work/start.c" -o "$work/start" -L"$libdir" -Wl,-rpath,"$libdir" -lpetsc || exit 1

start() { # start REAL SCALAR: PETSc with such types, and the library
  OTHER_REAL=$1 OTHER_SCALAR=$2 LD_PRELOAD=$work/other.so "$work/start" -dll_append "$library" 2>&1
}
grep -qE '^#define PETSC_USE_COMPLEX' "${libdir%lib}include/petscconf.h" && exit 77
grep -qE '^#define PETSC_USE_REAL_DOUBLE' "${libdir%lib}include/petscconf.h" || exit 77
text=$(start 1 1) || { printf 'refused without a reason:\n%s\n' "$text"; failed=1; }
for pair in '5 5 PetscReal of type DOUBLE and is loaded into a PETSc with FLOAT' '1 2 PetscScalar of type DOUBLE and is loaded into a PETSc with COMPLEX'; do
  read -r real scalar words <<<"$pair"
  if text=$(start "$real" "$scalar") || ! grep -qF "$words" <<<"$(tr -s '\n' ' ' <<<"$text")"; then
    printf 'expected a refusal with "%s", got:\n%s\n' "$words" "$text"
    failed=1
  fi
done
exit $failed
