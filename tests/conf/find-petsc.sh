#!/usr/bin/env bash
# Every PETSc that cannot be used is refused in one sentence with its cure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PETSC_VERSION
failed=0

# A PETSc tree as far as find-petsc looks.
fake() { # fake FOLDER ARCH VERSION CUDA SOURCE
  mkdir -p "$1/include" "$1/$2/include" "$1/$2/lib/petsc/conf"
  printf '#define PETSC_VERSION_MAJOR %s\n#define PETSC_VERSION_MINOR %s\n#define PETSC_VERSION_SUBMINOR %s\n' ${3//./ } >"$1/include/petscversion.h"
  [ "$4" = 0 ] || echo '#define PETSC_HAVE_CUDA 1' >"$1/$2/include/petscconf.h"
  touch "$1/$2/include/petscconf.h"
  printf '%s = %s\n' CUDAC "${CUDAC:-$work/cuda/bin/nvcc}" CC "${C:-sh}" CXX 'sh -c' >"$1/$2/lib/petsc/conf/petscvariables"
  if [ "$5" = 1 ]; then
    mkdir -p "$1/src/mat/impls/aij/seq"
    touch "$1/src/mat/impls/aij/seq/aij.h"
  fi
}
mkdir -p "$work/cuda/bin" "$work/old-cuda/bin"
printf '#!/bin/sh\necho "Cuda compilation tools, release 12.4, V12.4.131"\n' >"$work/cuda/bin/nvcc"
printf '#!/bin/sh\necho "Cuda compilation tools, release 12.3, V12.3.107"\n' >"$work/old-cuda/bin/nvcc"
chmod +x "$work"/*/bin/nvcc

# expect WORDS DIR ARCH SRC: the refusal contains the words, and a cure
expect() {
  local text
  if text=$(PETSC_DIR=$2 PETSC_ARCH=$3 PETSC_SRC=${4:-} conf/find-petsc "$work/out.mk" 2>&1); then text="(accepted) $text"; fi
  if ! grep -qF -- "$1" <<<"$text" || ! grep -qF 'cure: ' <<<"$text" || [ "$(wc -l <<<"$text")" -ne 2 ]; then
    printf 'expected a refusal with "%s", got:\n%s\n' "$1" "$text"
    failed=1
  fi
}
expect 'there is no such folder' "$work/none" a
fake "$work/old" a 3.23.4 1 1
expect 'is version 3.23.4' "$work/old" a
fake "$work/next" a 3.27.0 1 1
expect 'is version 3.27.0; this library is for 3.24, 3.25 or 3.26' "$work/next" a
expect 'CONTRIBUTING.md says how the library moves to another minor version' "$work/next" a
expect 'set PETSC_ARCH to one of: a' "$work/old" b
mkdir "$work/empty"
expect 'no configured PETSc' "$work/empty" ''
fake "$work/host" a 3.26.1 0 1
expect 'without CUDA' "$work/host" a
fake "$work/prefix" '' 3.26.1 1 0
expect 'without its source tree' "$work/prefix" ''
expect 'which has no src/mat' "$work/prefix" '' "$work/empty"
fake "$work/source" a 3.26.0 1 1
expect 'the one to build against is 3.26.1' "$work/prefix" '' "$work/source"
CUDAC=$work/old-cuda/bin/nvcc fake "$work/gone" a 3.26.1 1 1
expect 'is 12.3, older than 12.4' "$work/gone" a
CUDAC=$work/gone fake "$work/gone" a 3.26.1 1 1
expect 'CUDA compiler' "$work/gone" a
C=no-such-cc fake "$work/nocc" a 3.26.1 1 1
expect "configured with the compiler 'no-such-cc' (CC in $work/nocc/a/lib/petsc/conf/petscvariables), which is not there" "$work/nocc" a

PETSC_VERSION=3.25 expect 'PETSC_VERSION is 3.25, and the PETSc in' "$work/source" a

for version in 3.24.0 3.25.6; do fake "$work/good-$version" a $version 1 1; done
fake "$work/good" a 3.26.1 1 1
fake "$work/source" a 3.26.1 1 1
for pair in "good a" "good-3.24.0 a" "good-3.25.6 a" "prefix  source"; do
  read -r dir arch src <<<"${pair/  / - }"
  [ "$arch" != - ] || arch=
  if ! PETSC_DIR=$work/$dir PETSC_ARCH=$arch PETSC_SRC=${src:+$work/$src} conf/find-petsc "$work/out.mk" >"$work/text" 2>&1; then
    echo "refused a good PETSc ($pair): $(cat "$work/text")"
    failed=1
  fi
done

# When the makefile is passed by, the first thing that the compiler says is the same. A header of another version comes before PETSc's.
if [ -n "${PETSC_CC:-}" ]; then
  mkdir "$work/headers"
  sed 's/^\(#define PETSC_VERSION_MINOR *\).*/\127/' "$PETSC_DIR/include/petscversion.h" >"$work/headers/petscversion.h"
  text=$($PETSC_CC -fsyntax-only -I"$work/headers" -Iinclude -I"$PETSC_DIR/include" ${PETSC_ARCH:+-I"$PETSC_DIR/$PETSC_ARCH/include"} src/init/init.c 2>&1) && text="(compiled) $text"
  if ! grep -qF 'this version of petscsparsecuda is for PETSc 3.24, 3.25 and 3.26: set PETSC_DIR to one' <<<"$(grep -m1 'error:' <<<"$text")"; then
    printf 'compiling against PETSc 3.27 does not say what to do first:\n%s\n' "$text"
    failed=1
  fi
fi
exit $failed
