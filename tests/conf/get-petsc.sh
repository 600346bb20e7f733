#!/usr/bin/env bash
# Our own PETSc is configured for what CUDA_ARCHS says, for the GPU that is there, or as PTX of the oldest compute capability; one for all, which a bundle wants, serves every
# command once it is there. PETSc is a source package with a configure that writes down what it was told, and a library that starts and ends.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for tool in mpicc mpirun make flock; do command -v $tool >/dev/null || exit 77; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. conf/versions.sh
unset PETSC_DIR PETSC_ARCH PETSC_VERSION
old=3.25.6 new=${PETSC_VERSIONS%%,*}
failed=0

mkdir -p "$work/petsc-$new/include" "$work/bin" "$work/cuda/bin" "$work/cuda/include" "$work/cache/petscsparsecuda"
printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.1"\n' "$CUDA_MINIMUM" "$CUDA_MINIMUM" >"$work/cuda/bin/nvcc"
printf '#!/bin/sh\n[ -z "$FAKE_GPU" ] || echo "$FAKE_GPU"\n' >"$work/bin/nvidia-smi"
cat >"$work/petsc-$new/include/petscsys.h" <<'END'
#include <stddef.h>
int PetscInitialize(int *, char ***, const char *, const char *);
int PetscFinalize(void);
END
cat >"$work/petsc-$new/configure" <<'END'
#!/bin/sh
for word; do case "$word" in PETSC_ARCH=*) arch=${word#*=} ;; esac done
mkdir -p "$arch/lib/petsc/conf" "$arch/include" "$arch/obj"
touch "$arch/lib/petsc/conf/petscvariables"
printf '%s\n' "$@" >"$arch/options"
END
cat >"$work/petsc-$new/makefile" <<'END'
all:
	echo 'int PetscInitialize(int *c, char ***v, const char *f, const char *h) { return 0; } int PetscFinalize(void) { return 0; }' >petsc.c
	mpicc -shared -fPIC petsc.c -o $(PETSC_ARCH)/lib/libpetsc.so
END
chmod +x "$work/bin/nvidia-smi" "$work/cuda/bin/nvcc" "$work/petsc-$new/configure"
tar -C "$work" -czf "$work/cache/petscsparsecuda/petsc-$new.tar.gz" "petsc-$new"
cp -r conf "$work/conf"
sed -i "s/^PETSC_3_26_SHA256=.*/PETSC_3_26_SHA256=$(sha256sum "$work/cache/petscsparsecuda/petsc-$new.tar.gz" | cut -d' ' -f1)/" "$work/conf/versions.sh"
sed -i 's/^PETSC_CUDA_ARCHS=.*/PETSC_CUDA_ARCHS=80,90/' "$work/conf/versions.sh"
printf '#!/bin/sh\n' >"$work/conf/get-system-packages"

# expect ARCHS PTX VARIABLE=VALUE...: what PETSc was configured for, in such an environment
expect() {
  local archs=$1 ptx=$2 options
  shift 2
  pair=$(env -u CUDA_ARCHS -u MAKEFLAGS -u MFLAGS FAKE_GPU= PATH="$work/bin:$PATH" XDG_CACHE_HOME="$work/cache" CUDA_DIR="$work/cuda" "$@" "$work/conf/get-petsc" 2>"$work/log") || { cat "$work/log"; failed=1; return; }
  options=$(cat "${pair% *}/${pair##* }/options")
  if ! grep -qx -- "--with-cuda-arch=$archs" <<<"$options" || [ "$(sed -n 's/^CUDAFLAGS+=-gencode=arch=compute_\(.*\),code=compute_\1$/\1/p' <<<"$options")" != "$ptx" ]; then
    printf 'with %s PETSc is not for %s and PTX of "%s" but configured with:\n%s\n' "$*" "$archs" "$ptx" "$(grep -iE 'arch=' <<<"$options")"
    failed=1
  fi
}
built() { find "$work/cache/petscsparsecuda" -name finished | wc -l; }
expect compute_80 ''
expect 90 90 FAKE_GPU=9.0
expect compute_80 '' FAKE_GPU=7.5
expect 120 120 FAKE_GPU=12.0
expect 80,90 90 'CUDA_ARCHS=80 90'
expect 90 90 CUDA_ARCHS=90
[ "$(built)" -eq 4 ] || { echo "$(built) were built, not 4"; failed=1; }
expect 80,90 '' PETSC_ALL_ARCHS=1
for words in FAKE_GPU= FAKE_GPU=9.0 CUDA_ARCHS=90; do expect 80,90 '' $words; done
expect 120 120 FAKE_GPU= CUDA_ARCHS=120
expect 80,90,120 '' PETSC_ALL_ARCHS=1 FAKE_GPU=12.0
expect 80,90,120 '' FAKE_GPU=12.0
[ "$(built)" -eq 6 ] || { echo "$(built) were built, not 6"; failed=1; }

# An older minor version, which wants a library of the driver that this toolkit does not have, lies beside; others are refused in words.
mv "$work/petsc-$new" "$work/petsc-$old"
tar -C "$work" -czf "$work/cache/petscsparsecuda/petsc-$old.tar.gz" "petsc-$old"
sed -i "s/^PETSC_3_25_SHA256=.*/PETSC_3_25_SHA256=$(sha256sum "$work/cache/petscsparsecuda/petsc-$old.tar.gz" | cut -d' ' -f1)/" "$work/conf/versions.sh"
for version in $old 3.25; do
  expect 90 90 CUDA_ARCHS=90 PETSC_VERSION=$version
  case "$pair" in */petsc-$old\ arch-3.25-double) ;; *) echo "PETSC_VERSION=$version gives $pair"; failed=1 ;; esac
done
[ -f "${pair% *}/${pair##* }/include/nvml.h" ] || { echo "PETSc $old has no nvml.h"; failed=1; }
source=$(env XDG_CACHE_HOME="$work/cache" PETSC_VERSION=3.25 "$work/conf/get-petsc" -s 2>"$work/log") || { cat "$work/log"; failed=1; }
case "$source" in */petsc-$old) ;; *) echo "the source of PETSc 3.25 is said to be $source"; failed=1 ;; esac
mkdir -p "$work/theirs/include"
printf '#define PETSC_VERSION_MAJOR 3\n#define PETSC_VERSION_MINOR 25\n#define PETSC_VERSION_SUBMINOR 1\n' >"$work/theirs/include/petscversion.h"
[ "$(env XDG_CACHE_HOME="$work/cache" PETSC_DIR="$work/theirs" "$work/conf/get-petsc" -s)" = "$source" ] || { echo 'get-petsc -s does not go by PETSC_DIR'; failed=1; }
if env PETSC_VERSION=3.23 "$work/conf/get-petsc" >"$work/log" 2>&1 || ! grep -q "PETSC_VERSION is '3.23', and this library is for PETSc 3.24, 3.25 or 3.26" "$work/log"; then
  echo "PETSC_VERSION=3.23 is not refused in words: $(cat "$work/log")"
  failed=1
fi
exit $failed
