#!/usr/bin/env bash
# Our own PETSc is configured for what CUDA_ARCHS says, for the GPU that is there, or as PTX of the oldest compute capability; one for all, which a bundle wants, serves every
# command once it is there. PETSc is a source package with a configure that writes down what it was told, and a library that starts and ends.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for tool in mpicc mpirun make flock; do command -v $tool >/dev/null || exit 77; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. conf/versions.sh
failed=0

mkdir -p "$work/petsc-$PETSC_VERSION/include" "$work/bin" "$work/cuda/bin" "$work/cuda/include" "$work/cache/petscsparsecuda"
printf '#!/bin/sh\necho "Cuda compilation tools, release %s.0, V%s.0.1"\n' "$CUDA_MINIMUM_MAJOR" "$CUDA_MINIMUM_MAJOR" >"$work/cuda/bin/nvcc"
printf '#!/bin/sh\n[ -z "$FAKE_GPU" ] || echo "$FAKE_GPU"\n' >"$work/bin/nvidia-smi"
cat >"$work/petsc-$PETSC_VERSION/include/petscsys.h" <<'END'
#include <stddef.h>
int PetscInitialize(int *, char ***, const char *, const char *);
int PetscFinalize(void);
END
cat >"$work/petsc-$PETSC_VERSION/configure" <<'END'
#!/bin/sh
for word; do case "$word" in PETSC_ARCH=*) arch=${word#*=} ;; esac done
mkdir -p "$arch/lib/petsc/conf" "$arch/include" "$arch/obj"
touch "$arch/lib/petsc/conf/petscvariables"
printf '%s\n' "$@" >"$arch/options"
END
cat >"$work/petsc-$PETSC_VERSION/makefile" <<'END'
all:
	echo 'int PetscInitialize(int *c, char ***v, const char *f, const char *h) { return 0; } int PetscFinalize(void) { return 0; }' >petsc.c
	mpicc -shared -fPIC petsc.c -o $(PETSC_ARCH)/lib/libpetsc.so
END
chmod +x "$work/bin/nvidia-smi" "$work/cuda/bin/nvcc" "$work/petsc-$PETSC_VERSION/configure"
tar -C "$work" -czf "$work/cache/petscsparsecuda/petsc-$PETSC_VERSION.tar.gz" "petsc-$PETSC_VERSION"
cp -r conf "$work/conf"
sed -i "s/^PETSC_SHA256=.*/PETSC_SHA256=$(sha256sum "$work/cache/petscsparsecuda/petsc-$PETSC_VERSION.tar.gz" | cut -d' ' -f1)/" "$work/conf/versions.sh"
sed -i 's/^PETSC_CUDA_ARCHS=.*/PETSC_CUDA_ARCHS=80,90/' "$work/conf/versions.sh"
printf '#!/bin/sh\n' >"$work/conf/get-system-packages"

# expect ARCHS PTX VARIABLE=VALUE...: what PETSc was configured for, in such an environment
expect() {
  local archs=$1 ptx=$2 pair options
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
exit $failed
