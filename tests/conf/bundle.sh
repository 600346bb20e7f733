#!/usr/bin/env bash
# A bundle's run receipt writes what ran on which GPU, and refuses while one that was cut off still runs, but not because of the daemon of MPS that this one left. GPUs, tests and daemon are scripts that say what theirs say.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
command -v flock >/dev/null || exit 77
work=$(mktemp -d)
trap 'for f in "$work"/*.pid; do [ ! -f "$f" ] || kill "$(cat "$f")" 2>/dev/null || true; done; rm -rf "$work"' EXIT
fail() { printf '%s\n' "$1"; cat "$work/said" 2>/dev/null || true; exit 1; }

bundle=$work/bundle
mkdir -p "$bundle"/{conf,clients,tests} "$work/bin"
cp conf/bundle-run "$bundle/run"
echo 0123456789abcdef >"$bundle/tree"
printf '{\n  "variant": "double",\n  "cuda": "13.0",\n  "petsc": "3.26.1"\n}\n' >"$bundle/build-info.json"
printf 'import sys\nif sys.argv[1] == "gpus": print(1)\n' >"$bundle/conf/machine.py"
# Tests say that they began, and go on while there is a file "wait".
cat >"$bundle/conf/run-tests" <<END
#!/bin/sh
echo \$\$ >$work/tests.pid
echo " \$* " >$work/arguments
while [ -f $work/wait ] && [ \$((waited = \${waited:-0} + 1)) -lt 400 ]; do sleep 0.1; done
rm $work/tests.pid
echo "3 passed, \$(cat $work/failed) failed, 0 skipped"
END
printf '#!/bin/sh\necho "2 passed, 0 failed, 0 skipped"\n' >"$bundle/clients/runner"
# More than a pipe takes at once, since a host may have many GPUs.
printf '#!/bin/sh\nfor i in $(seq 5000); do echo "NVIDIA Test, 1.23"; done\n' >"$work/bin/nvidia-smi"
cat >"$work/bin/nvidia-cuda-mps-control" <<END
#!/bin/sh
if [ "\${1:-}" = -d ]; then sleep 120 & echo \$! >$work/daemon.pid; else kill "\$(cat $work/daemon.pid)" && rm $work/daemon.pid; fi
END
chmod +x "$bundle"/{run,conf/run-tests,clients/runner} "$work"/bin/*
unset CUDA_MPS_PIPE_DIRECTORY
export TMPDIR=$work PATH=$work/bin:$PATH
receipt() { (cd "$work" && exec timeout 60 "$bundle/run" receipt) >"$work/said" 2>&1; }

echo 1 >"$work/failed"
! receipt || fail 'a receipt was written though a test failed'
[ ! -e "$work/RECEIPT" ] || fail 'there is a receipt though a test failed'
echo 0 >"$work/failed"
receipt || fail 'no receipt was written'
[ "$(grep -cxE 'tree: 0123456789abcdef|gpu: NVIDIA Test|driver: 1.23|cuda: 13.0|petsc: 3.26.1|date: 20[0-9-]{8}|tests: 3 passed, 0 failed|clients: 2 passed, 0 failed' "$work/RECEIPT")" -eq 8 ] || fail "the receipt is: $(cat "$work/RECEIPT")"

# All cores, also when each program is to have one thread.
OMP_NUM_THREADS=1 receipt || fail 'no receipt with OMP_NUM_THREADS=1'
grep -q " -j $(OMP_NUM_THREADS='' nproc) " "$work/arguments" || fail "with OMP_NUM_THREADS=1 the tests run with$(cat "$work/arguments")"

# Without clients it is a line, for a PETSc and a CUDA.
mv "$bundle/clients/runner" "$work/"
receipt || fail 'no line was written'
grep -qx 'PETSc 3.26.1, CUDA 13.0: 3 passed, 0 failed, 0 skipped (0123456789abcdef)' "$work/RECEIPT-PETSc-3.26.1--CUDA-13.0" || fail 'the line is another one'
mv "$work/runner" "$bundle/clients/"

# One that was cut off: its processes but the first live on.
touch "$work/wait"
rm -f "$work/RECEIPT"
(cd "$work" && exec "$bundle/run" receipt) >/dev/null 2>&1 &
first=$!
disown
for i in $(seq 100); do [ ! -f "$work/tests.pid" ] || break; sleep 0.1; done
kill -9 $first
left=$(cat "$work/daemon.pid")
! receipt || fail 'two runs went on in one bundle'
grep -q 'another "run receipt" goes on' "$work/said" || fail 'not a word about the other run'
[ "$(cat "$work/daemon.pid")" = "$left" ] || fail 'a run that refuses began a daemon'
rm "$work/wait"
for i in $(seq 100); do [ -f "$work/tests.pid" ] || break; sleep 0.1; done
sleep 0.5 # what the first one began ends after its tests
kill -0 "$left" || fail 'the daemon of the first run has ended too early for this test'
receipt || fail 'it refuses though nothing but the daemon of MPS is left of the first run'
[ -s "$work/RECEIPT" ] || fail 'no receipt after a run that was cut off'
kill "$left"
