#!/usr/bin/env bash
# The CMake package of make install: tutorials/cmake is built with a compiler that knows neither PETSc nor MPI, in C and in C++, and runs. Versions with another soname, and a PETSc that is gone, are refused in words.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. conf/versions.sh
[ -d "${PETSCSPARSECUDA_BUILD:?}/obj" ] || exit 77
for tool in cmake pkg-config; do command -v $tool >/dev/null || { echo "no $tool here"; exit 77; }; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$@"; exit 1; }
prefix=$work/prefix
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory BUILD_ROOT="${PETSCSPARSECUDA_BUILD_ROOT:?}" install prefix="$work/first" >"$work/log" 2>&1 || fail "make install failed:" "$(cat "$work/log")"
# The package may move.
mv "$work/first" "$prefix"
unset LD_LIBRARY_PATH PETSCSPARSECUDA_LIBRARY PKG_CONFIG_PATH PETSC_DIR PETSC_ARCH PETSC_SRC CC CXX
cp -r tutorials/cmake "$work/c"

build() { # build FOLDER
  { cmake -S "$work/$1" -B "$work/$1/build" -DCMAKE_PREFIX_PATH="$prefix" && cmake --build "$work/$1/build"; } >"$work/log" 2>&1 || fail "$1 does not build with CMake:" "$(cat "$work/log")"
  libraries=$(ldd "$work/$1/build/laplacian")
  grep -q "libpetscsparsecuda.so.${PETSCSPARSECUDA_VERSION%.*} => $prefix/lib/" <<<"$libraries" || fail "$1: the program does not find the library in $prefix:" "$libraries"
  "$work/$1/build/laplacian" -use_gpu_aware_mpi 0 -pc_type jacobi -ksp_type cg >"$work/log" 2>&1 || fail "$1: the program failed:" "$(cat "$work/log")"
  grep -qxE "petscsparsecuda $PETSCSPARSECUDA_VERSION: CONVERGED_[AR]TOL" "$work/log" || fail "$1: the program says:" "$(cat "$work/log")"
}
build c
mkdir "$work/c++"
cp "$work/c/laplacian.c" "$work/c++/laplacian.cxx"
sed 's/LANGUAGES C)/LANGUAGES CXX)/; s/laplacian\.c/laplacian.cxx/' "$work/c/CMakeLists.txt" >"$work/c++/CMakeLists.txt"
build c++

finds() { # finds VERSION: whether find_package() takes it
  mkdir -p "$work/version"
  printf 'cmake_minimum_required(VERSION 3.15)\nproject(version LANGUAGES C)\nfind_package(petscsparsecuda %s REQUIRED)\n' "$1" >"$work/version/CMakeLists.txt"
  cmake -S "$work/version" -B "$work/version/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1
}
IFS=. read -r major minor subminor <<<"$PETSCSPARSECUDA_VERSION"
for version in '' $major.$minor "$PETSCSPARSECUDA_VERSION EXACT"; do finds "$version" || fail "find_package() does not take version $version:" "$(cat "$work/log")"; done
for version in 0.2 $major.$minor.$((subminor + 1)) $major.$((minor + 1)) $major.${minor}0 $((major + 1)) "$major.$minor.$((subminor + 1)) EXACT"; do
  ! finds "$version" || fail "find_package() takes version $version"
  grep -q "version: $PETSCSPARSECUDA_VERSION" "$work/log" || fail "find_package() does not say which version there is:" "$(cat "$work/log")"
done

sed -i 's#{PKG_CONFIG_PATH} "/[^:]*:#{PKG_CONFIG_PATH} "/gone:#' "$prefix/lib/cmake/petscsparsecuda/petscsparsecudaConfig.cmake"
rm -r "$work/version"
if PKG_CONFIG_LIBDIR=/nowhere finds ''; then fail 'find_package() finds a PETSc that is gone'; fi
grep -q 'which petscsparsecuda was built with, is neither in' <<<"$(tr -s ' \n' '  ' <"$work/log")" || fail 'find_package() does not say that there is no PETSc:' "$(cat "$work/log")"
