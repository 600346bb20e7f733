#!/usr/bin/env bash
# Whatever the compilers of PETSc are called, conf/find-petsc takes them and compile lines use them, nvcc's host compiler among them; the MPI starter is PETSc's; clang has nothing to say about the sources.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
{ [ -n "${PETSC_DIR:-}" ] && [ -n "${PETSC_CC:-}" ]; } || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() { printf '%s\n' "$1"; failed=1; }

# The PETSc of this build, with the compilers of a Cray: cc and CC, which call its own.
conf=$PETSC_DIR/${PETSC_ARCH:+$PETSC_ARCH/}lib/petsc/conf
variable() { sed -n "/^$1 = */{s///p;q}" "$conf/petscvariables"; }
mkdir -p "$work/bin" "$work/petsc/cray/lib/petsc/conf" "$work/petsc/lib/petsc"
for pair in "cc $(variable CC)" "CC $(variable CXX)"; do
  printf '#!/bin/sh\necho "$0 $*" >>"%s"\nexec %s "$@"\n' "$work/calls" "${pair#* }" >"$work/bin/${pair%% *}"
done
printf '#!/bin/sh\n' >"$work/bin/srun"
chmod +x "$work/bin/"*
ln -s "$PETSC_DIR/include" "$work/petsc/include"
ln -s "${conf%/lib/petsc/conf}/include" "$work/petsc/cray/include"
ln -s "$PETSC_DIR/lib/petsc/conf" "$work/petsc/lib/petsc/conf"
sed -e 's/^\(CC\|PCC\|PCC_LINKER\) = .*/\1 = cc/' -e 's/^\(CXX\|CXX_LINKER\|CUDA_CXX\) = .*/\1 = CC/' -e 's/^MPIEXEC = .*/MPIEXEC = srun --mpi=pmix/' -e '/^CUDAC_FLAGS = /s/-ccbin [^ ]*/-ccbin CC/' \
  "$conf/petscvariables" >"$work/petsc/cray/lib/petsc/conf/petscvariables"
on_cray() { # on_cray COMMAND...: with this PETSc
  env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u VARIANT -u PETSCMPIEXEC PATH="$work/bin:$PATH" PETSC_DIR="$work/petsc" PETSC_ARCH=cray PETSC_SRC="${PETSC_SRC:-$PETSC_DIR}" "$@"
}
make="make --no-print-directory BUILD_ROOT=$work/build"
on_cray $make "$work/build/cray/obj/src/sys/agree.c.o" >"$work/said" 2>&1 || fail "a PETSc with the compilers cc and CC is not taken: $(cat "$work/said")"
grep -q '/cc -c .*src/sys/agree\.c' "$work/calls" || fail 'cc has not compiled src/sys/agree.c'
lines=$(on_cray $make --eval 'lines: ; @printf "%s\n" '\''$(compile_cu)'\'' '\''$(link_shared)'\' lines 2>/dev/null) || fail "no compile lines: $lines"
grep -q -- '-ccbin CC ' <<<"$lines" || fail "the host compiler of nvcc is not that of PETSc: $lines"
grep -q '^CC -shared' <<<"$lines" || fail "the linker is not that of PETSc: $lines"
starter=$(on_cray python3 conf/machine.py mpiexec)
[ "$starter" = 'srun --mpi=pmix' ] || fail "the MPI starter is '$starter', not PETSc's"
rm "$work/bin/srun"
starter=$(on_cray python3 conf/machine.py mpiexec)
[ "$starter" = mpiexec ] || fail "the MPI starter is '$starter', and PETSc's is not there"
starter=$(on_cray PETSCMPIEXEC='mine -x' python3 conf/machine.py mpiexec)
[ "$starter" = 'mine -x' ] || fail "the MPI starter is '$starter', and PETSCMPIEXEC says another one"
sed -i 's/^CXX = .*/CXX = no-such-CC/' "$work/petsc/cray/lib/petsc/conf/petscvariables"
if text=$(on_cray conf/find-petsc "$work/out.mk" 2>&1); then text="(accepted) $text"; fi
grep -q "the compiler 'no-such-CC' (CXX in .*), which is not there" <<<"$text" || fail "a compiler that is not there is not refused in words: $text"

# Of clang, the warnings that the sources are compiled with; the wrappers of Open MPI, MPICH and Intel call the compiler that these variables name.
if command -v clang >/dev/null && grep -q clang <<<"$(OMPI_CC=clang MPICH_CC=clang I_MPI_CC=clang $PETSC_CC --version 2>/dev/null)"; then
  flags=$(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -s --no-print-directory BUILD_ROOT="${PETSCSPARSECUDA_BUILD_ROOT:?}" --eval 'flags: ; @printf "%s\n" '\''$(filter-out -c -MMD -MP -Wno-%,$(compile_c))'\' flags 2>/dev/null)
  OMPI_CC=clang MPICH_CC=clang I_MPI_CC=clang $flags -fsyntax-only -Wno-unused-command-line-argument $(find src -name '*.c') >"$work/said" 2>&1 || fail "clang does not compile the sources: $(head -20 "$work/said")"
  [ ! -s "$work/said" ] || fail "clang warns: $(head -20 "$work/said")"
fi
exit $failed
