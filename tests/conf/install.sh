#!/usr/bin/env bash
# make install puts everything where it says, and programs outside of the tree are built with pkg-config alone, with the commands of tutorials/README.md, and run.
# The pkg-config file refuses a PETSc of another minor version.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. conf/versions.sh
[ -d "${PETSCSPARSECUDA_BUILD:?}/obj" ] || exit 77
command -v pkg-config >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$@"; exit 1; }
make="env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory BUILD_ROOT=${PETSCSPARSECUDA_BUILD_ROOT:?}"

# Below DESTDIR lies what names the prefix alone.
$make install prefix=/some/where DESTDIR="$work/stage" >"$work/log" 2>&1 || fail "make install with DESTDIR failed:" "$(cat "$work/log")"
! grep -q "$work/stage" "$work/stage/some/where/lib/pkgconfig/petscsparsecuda.pc" || fail 'the pkg-config file names DESTDIR'
prefix=$work/prefix
$make install prefix="$prefix" >"$work/log" 2>&1 || fail "make install failed:" "$(cat "$work/log")"
files=$(cd "$prefix" && find . -type f -printf '%P ' -o -type l -printf '%P->%l ' | tr ' ' '\n' | LC_ALL=C sort | tr '\n' ' ')
soname=libpetscsparsecuda.so.${PETSCSPARSECUDA_VERSION%.*} cmake=lib/cmake/petscsparsecuda/petscsparsecudaConfig
wanted="bin/petscsparsecuda-info include/petscsparsecuda.h include/petscsparsecuda_device.h include/petscsparsecudaversion.h $cmake.cmake ${cmake}Version.cmake\
 lib/libpetscsparsecuda.so->$soname lib/$soname->libpetscsparsecuda.so.$PETSCSPARSECUDA_VERSION lib/libpetscsparsecuda.so.$PETSCSPARSECUDA_VERSION lib/pkgconfig/petscsparsecuda.pc "
[ "$files" = "$wanted" ] || fail "installed is:$files" "and not:$wanted"
if $make install prefix= PREFIX= >"$work/log" 2>&1 || ! grep -q 'cure: make install prefix=' "$work/log"; then fail 'make install without a prefix does not say what is wrong'; fi

# From here on nothing of the checkout is seen but the prefix.
petsc=${PETSC_DIR:?}/${PETSC_ARCH:+$PETSC_ARCH/}lib/pkgconfig
export PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$petsc
# Where conf/get-petsc has put a stand-in for a library of NVIDIA's that PETSc 3.24 and 3.25 want and no toolkit here has.
[ ! -f "$PETSC_DIR/../nvml/libnvidia-ml.so" ] || export LIBRARY_PATH=$PETSC_DIR/../nvml${LIBRARY_PATH:+:$LIBRARY_PATH}
unset LD_LIBRARY_PATH PETSCSPARSECUDA_LIBRARY
[ "$(pkg-config --modversion petscsparsecuda)" = "$PETSCSPARSECUDA_VERSION" ] || fail 'pkg-config knows another version'
mkdir "$work/program" "$work/other"
cat >"$work/program/program.c" <<'END'
#include <petscksp.h>
#include <petscsparsecuda.h>

/* A program of a user: its own matrix, our type, a solve. */
int main(int argc, char **argv)
{
  Mat       A;
  Vec       x, b;
  KSP       ksp;
  PetscInt  n = 100;
  PetscReal norm;
  PetscBool ours;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscSparseCUDAInitialize());
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(A, MATDCSRCUDA));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(MatSetValue(A, i, i, 2, INSERT_VALUES));
    if (i) PetscCall(MatSetValue(A, i, i - 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscObjectTypeCompare((PetscObject)A, MATSEQAIJDCSRCUDA, &ours));
  PetscCheck(ours, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The matrix is not of our type");
#if !PETSCSPARSECUDA_VERSION_GE(PETSCSPARSECUDA_VERSION_MAJOR, PETSCSPARSECUDA_VERSION_MINOR, PETSCSPARSECUDA_VERSION_SUBMINOR)
  #error "The version is not as large as itself"
#elif PETSCSPARSECUDA_VERSION_GE(PETSCSPARSECUDA_VERSION_MAJOR, PETSCSPARSECUDA_VERSION_MINOR, PETSCSPARSECUDA_VERSION_SUBMINOR + 1)
  #error "The version is larger than itself"
#elif PETSCSPARSECUDA_VERSION_GE(PETSCSPARSECUDA_VERSION_MAJOR, PETSCSPARSECUDA_VERSION_MINOR + 1, 0) || PETSCSPARSECUDA_VERSION_GE(PETSCSPARSECUDA_VERSION_MAJOR + 1, 0, 0)
  #error "A larger version is not larger"
#endif
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, 1e-10, PETSC_CURRENT, PETSC_CURRENT, 1000));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecShift(b, -1));
  PetscCall(VecNorm(b, NORM_INFINITY, &norm));
  PetscCheck(norm < 1e-6, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Residual %g", (double)norm);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
END
said=$("$prefix/bin/petscsparsecuda-info") || fail 'petscsparsecuda-info of the prefix fails:' "$said"
# A block of commands of the page: that after the line with these words.
commands() { awk -v words="$1" '/^```/ { if (inside) exit; if (seen) { inside = 1 } next } inside { print } index($0, words) { seen = 1 }' tutorials/README.md; }
run() { # run PROGRAM OPTIONS...: on the host too, with the library of the prefix
  local libraries
  libraries=$(ldd "./$1")
  grep -q "$soname => $prefix/lib/" <<<"$libraries" || fail "$1 does not find the library in $prefix:" "$libraries"
  "$@" -use_gpu_aware_mpi 0 >"$work/log" 2>&1 || fail "$* failed:" "$(cat "$work/log")"
}
one=$(commands 'takes one command')
three=$(commands 'takes three')
[ -n "$one" ] && [ -n "$three" ] || fail 'tutorials/README.md has lost its commands'
(cd "$work/program" && bash -euc "$one") >"$work/log" 2>&1 || fail "$one" "$(cat "$work/log")"
(cd "$work/program" && run ./program)

# A program of PETSc alone that loads the library.
cat >"$work/program/plain.c" <<'END'
#include <petscmat.h>

int main(int argc, char **argv)
{
  Mat A;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  PetscCall(MatSetType(A, "dcsrcuda"));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
END
(cd "$work/program" && $(pkg-config --variable=ccompiler PETSc) plain.c $(pkg-config --cflags --libs PETSc) -Wl,-rpath,"$(pkg-config --variable=libdir PETSc)" -o plain) >"$work/log" 2>&1 || fail 'plain.c does not compile:' "$(cat "$work/log")"
"$work/program/plain" -dll_append "$prefix/lib/libpetscsparsecuda.so" -use_gpu_aware_mpi 0 >"$work/log" 2>&1 || fail "-dll_append $prefix/lib/libpetscsparsecuda.so failed:" "$(cat "$work/log")"

if command -v "$(pkg-config --variable=cudacompiler PETSc)" >/dev/null; then
  mkdir "$work/other/tutorials"
  cp -r tutorials/fem "$work/other/tutorials/"
  (cd "$work/other" && bash -euc "$three") >"$work/log" 2>&1 || fail "$three" "$(cat "$work/log")"
  (cd "$work/other/tutorials/fem" && run ./fem -n 8 -method setvalues)
fi

# A PETSc of the next minor version.
mkdir "$work/next"
minor=$(pkg-config --modversion PETSc | cut -d. -f2)
sed "s/^Version:.*/Version: 3.$((minor + 1)).0/" "$petsc/PETSc.pc" >"$work/next/PETSc.pc"
if PKG_CONFIG_PATH=$prefix/lib/pkgconfig:$work/next pkg-config --cflags petscsparsecuda >"$work/log" 2>&1; then fail 'pkg-config accepts a PETSc of the next minor version'; fi
grep -q "PETSc < 3.$((minor + 1))" "$work/log" || fail 'pkg-config does not say which PETSc it wants:' "$(cat "$work/log")"
