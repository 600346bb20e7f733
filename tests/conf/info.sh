#!/usr/bin/env bash
# petscsparsecuda-info says what the library is, with which PETSc, and what a driver or a GPU means, whatever is there, and ends with status 0.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. conf/versions.sh
info=${PETSCSPARSECUDA_BUILD:?}/bin/petscsparsecuda-info
[ -x "$info" ] || exit 77
fail() { printf '%s\n' "$@" "$said"; exit 1; }
say() { said=$("$@" 2>&1) || fail "$* failed:"; }
has() { for line; do grep -qE "$line" <<<"$said" || fail "no line is $line:"; done; }
number() { sed -n "s/^#define PETSC_VERSION_$1 *//p" "$PETSC_DIR/include/petscversion.h"; }
petsc=$(number MAJOR).$(number MINOR).$(number SUBMINOR)
sections=("^petscsparsecuda: $PETSCSPARSECUDA_VERSION, commit " '^  code for compute capabilities: .*[0-9a-z]$' "^PETSc: $petsc, .*, (real|complex) (single|double), PetscInt of (32|64) bits$"
  "^  built with: $petsc, " '^  packages: .*cuda' '^CUDA: runtime 1[2-9]\.[0-9]+$' '^  driver for CUDA: [0-9]+\.[0-9]+' '^GPUs: [0-9]+$' '^MPI: .' '^  takes device memory: ' '^Environment:$' '^Left to PETSc: nothing$')

# The commit is that of the sources.
commit=$(git log -1 --format=%h --abbrev=10 -- src include 2>/dev/null || true)
say "$info"
has "${sections[@]}" "commit ${commit:-not known}" '^Processes: 1$' '^  .*: 1 with (no )?GPU'
say "${PETSCMPIEXEC:-mpiexec}" -n 2 "$info" -device_enable none
has "${sections[@]}" '^Processes: 2$' '^  .*: 2 with no GPU: -device_enable none$'
say env CUDA_MODULE_LOADING=EAGER "$info" -petscsparsecuda_info -device_enable none
has '^  CUDA_MODULE_LOADING=EAGER$'
[ "$(grep -c '^petscsparsecuda: ' <<<"$said")" -eq 2 ] || fail 'the option does not print it a second time:'

# A driver of CUDA 11, and GPUs with a launch table and without one, that are not there.
pretend() { say env LD_PRELOAD="$PETSCSPARSECUDA_BUILD/tests/tools/nodevice.so" "$@" "$info" -use_gpu_aware_mpi 1; }
pretend NODEVICE_DRIVER=11080
has '^  driver for CUDA: 11\.8, too old for the runtime: the host computes$' '^GPUs: 0$' '^  .*: 1 with no GPU: .*driver'
pretend NODEVICE_DRIVER=99000 NODEVICE_CAPABILITY=90
has '^  driver for CUDA: 99\.0$' '^GPUs: 1$' '^  0: No GPU, 0000:01:00\.0, compute capability 9\.0, 80\.0 GiB, 1\.00 TB/s, launch table of its own, ' '^  takes device memory: no; gets it from PETSc: yes' \
  '^  PETSc tries MPI .*: -use_gpu_aware_mpi 0$' '^  .*: 1 with no GPU: not tried'
pretend NODEVICE_DRIVER=99000 NODEVICE_CAPABILITY=120
has '^  0: No GPU, .*, compute capability 12\.0, .*, launch table of another GPU, NVIDIA '
