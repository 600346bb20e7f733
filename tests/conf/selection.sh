#!/usr/bin/env bash
# run-tests -p runs the scripts of some programs, -1 one script of each program: without a GPU the first that needs none. VARIANT and PETSC_DIR exclude each other, and shares are whole.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/cases.json" <<'END'
[{"script": "a/one.sh", "program": "a/ex", "gpu": true}, {"script": "a/two.sh", "program": "a/ex", "gpu": false}, {"script": "a/three.sh", "program": "a/ex", "gpu": false}, {"script": "b/one.sh", "program": "b/ex", "gpu": false}]
END
mkdir "$work/a" "$work/b"
for script in a/one a/two a/three b/one; do printf 'echo " ok %s"; echo %s >>%s/runs\n' "$script" "$script" "$work" >"$work/$script.sh"; done
expect() { # RUNS OPTION...: what runs without a GPU
  local expected=$1
  shift
  rm -f "$work/runs"
  CUDA_VISIBLE_DEVICES='' python3 "$top/conf/run-tests" -j 1 "$@" "$work" >"$work/said" 2>&1 || true
  [ "$(sort "$work/runs" 2>/dev/null | tr '\n' ' ')" = "$expected" ] || { printf '%s ran "%s", not "%s"\n' "$*" "$(sort "$work/runs" | tr '\n' ' ')" "$expected"; cat "$work/said"; exit 1; }
}
[ "$(python3 "$top/conf/machine.py" gpus)" = 0 ] || exit 77
expect 'a/three a/two b/one '
expect 'b/one ' -p 'tests/b/ex tests/c/ex'
expect 'a/three b/one ' -1
expect 'a/three ' -1 -k 'a/*'

text=$(VARIANT=single PETSC_DIR=$work "$top/conf/find-petsc" "$work/out.mk" 2>&1) && { echo 'VARIANT and PETSC_DIR were accepted together'; exit 1; }
grep -q 'VARIANT=single asks for a PETSc of our own' <<<"$text" && grep -q 'cure: ' <<<"$text" || { printf 'expected a refusal of VARIANT with PETSC_DIR, got:\n%s\n' "$text"; exit 1; }

# Every program is in one of the shares.
programs() { env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u SHARE make -C "$top" --no-print-directory -s --eval='show-share: ; @printf "%s\n" $(shared_mains)' show-share ${1:+SHARE=$1} | sort; }
all=$(programs)
[ -n "$all" ] || { echo 'make names no programs'; exit 1; }
cmp <(echo "$all") <(for k in 1 2 3; do programs "$k/3"; done | sort) || { echo 'three shares are not all programs, once each'; exit 1; }
