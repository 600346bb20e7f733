#!/usr/bin/env bash
# conf/emulator runs device code on the host: two programs compare their results with MATAIJ's, and their launches are printed; a library that has changed gets new kernels.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${PETSCSPARSECUDA_BUILD:?}
for program in ksp/cg mat/impls/dcsr/bind mat/kernels/hisparse/ex7; do
  [ -x "$build/tests/$program" ] || { echo 'make test-programs makes what this runs'; exit 77; }
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
if ! conf/emulator/run "$build" true >"$tmp/said" 2>&1; then
  cat "$tmp/said"
  ! grep -q 'there is no cuobjdump' "$tmp/said" || exit 77
  exit 1
fi
emulated() { # NUMBER OF PROCESSES, PROGRAM...
  conf/emulator/run "$build" $(python3 conf/machine.py mpiexec) -n "$@" -use_gpu_aware_mpi 0 -mat_dcsr_preload 0
}
make_emulator() { conf/emulator/run "$build" conf/emulator/make-emulator "$@"; }
# an older library's kernels must go: they are found by name
cp "$build/lib/libpetscsparsecuda.so" "$tmp/"
make_emulator "$tmp/emulator" "$tmp/libpetscsparsecuda.so"
touch "$tmp/emulator/kernels/old.so"
make_emulator "$tmp/emulator" "$tmp/libpetscsparsecuda.so"
[ -e "$tmp/emulator/kernels/old.so" ]
touch -d tomorrow "$tmp/libpetscsparsecuda.so"
make_emulator "$tmp/emulator" "$tmp/libpetscsparsecuda.so"
[ ! -e "$tmp/emulator/kernels/old.so" ]
export EMULATOR_TRACE=1
emulated 1 "$build/tests/ksp/cg" >"$tmp/said" 2>&1 || { tail -40 "$tmp/said"; exit 1; }
grep -q 'emulator: .*SumKernel.* blocks of ' "$tmp/said"
emulated 2 "$build/tests/mat/impls/dcsr/bind" -mat_type hisparsecuda >"$tmp/said" 2>&1 || { tail -40 "$tmp/said"; exit 1; }
grep -q 'emulator: .*SpMV' "$tmp/said"
emulated 1 "$build/tests/mat/kernels/hisparse/ex7" >"$tmp/said" 2>&1 || { tail -40 "$tmp/said"; exit 1; } # votes of warps whose lanes return at once afterwards
