#!/usr/bin/env bash
# conf/emulator runs device code on the host: two programs compare their results with MATAIJ's, and their launches are printed; a library that has changed gets new kernels; functions are called, and sums carry.
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
# a function that was not inlined, and carries: 32 bits at a time, 2^32 - 1 + 1
cat >"$tmp/test.ptx" <<'PTX'
.func  (.param .b64 func_retval0) Add(
	.param .b64 Add_param_0,
	.param .b64 Add_param_1
)
{
	.reg .b32 	%r<7>;
	.reg .b64 	%rd<4>;
	ld.param.u64 	%rd1, [Add_param_0];
	ld.param.u64 	%rd2, [Add_param_1];
	mov.b64 	{%r1, %r2}, %rd1;
	mov.b64 	{%r3, %r4}, %rd2;
	add.cc.u32 	%r5, %r1, %r3;
	addc.u32 	%r6, %r2, %r4;
	mov.b64 	%rd3, {%r5, %r6};
	st.param.b64 	[func_retval0+0], %rd3;
	ret;
}
.visible .entry Test(
	.param .u64 Test_param_0
)
{
	.reg .b64 	%rd<5>;
	ld.param.u64 	%rd1, [Test_param_0];
	ld.global.u64 	%rd2, [%rd1];
	ld.global.u64 	%rd3, [%rd1+8];
	{ // callseq 0, 0
	.param .b64 param0;
	st.param.b64 	[param0+0], %rd2;
	.param .b64 param1;
	st.param.b64 	[param1+0], %rd3;
	.param .b64 retval0;
	call.uni (retval0),
	Add,
	(
	param0,
	param1
	);
	ld.param.b64 	%rd4, [retval0+0];
	} // callseq 0
	st.global.u64 	[%rd1+16], %rd4;
	ret;
}
PTX
PYTHONPATH=conf/emulator python3 -c "import sys, ptx2c; print(ptx2c.translate(*ptx2c.kernels(open(sys.argv[1]).read())['Test']))" "$tmp/test.ptx" >"$tmp/test.c"
cat >>"$tmp/test.c" <<'C'
int main(void)
{
  uint64_t numbers[3] = {0xffffffff, 1, 0}, *at = numbers;
  void    *params[] = {&at};
  Thread   t        = {0};

  t.params = (void *)params;
  KernelMain(&t);
  return numbers[2] != 0x100000000;
}
C
cc -w -fwrapv -fno-strict-aliasing -Iconf/emulator -o "$tmp/test" "$tmp/test.c" -lm -Wl,--unresolved-symbols=ignore-all
"$tmp/test" || { echo 'the sum is wrong'; exit 1; }
