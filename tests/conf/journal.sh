#!/usr/bin/env bash
# run-tests -J: what a script gave stands in the journal, and it is not run again, whether it passed or failed. What is shown of a long output.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo '[]' >"$work/cases.json"
for name in good bad; do
  printf '#!/usr/bin/env bash\necho run >>%s/%s.runs\n[ %s = good ]\n' "$work" "$name" "$name" >"$work/$name.sh"
  chmod +x "$work/$name.sh"
done
run() { python3 "$top/conf/run-tests" -j 1 -J "$work/journal" "$work" "$@" >"$work/said" 2>&1 || true; }
fail() { printf '%s\n' "$1"; cat "$work/said"; exit 1; }

run "$work/good.sh"
grep -q '^1 passed, 0 failed' "$work/said" || fail 'the first script did not pass'
for k in 1 2; do
  run "$work/good.sh" "$work/bad.sh"
  grep -q '^1 passed, 1 failed' "$work/said" || fail "run $k with a script that fails"
done
[ "$(cat "$work/good.runs" "$work/bad.runs" | wc -l)" -eq 2 ] || fail 'a script of the journal was run again'

# Of a long output the first lines are shown, and what a tool of compute-sanitizer has found behind them.
printf '#!/usr/bin/env bash\necho "not ok long"\nseq 1 40\necho "========= Invalid __global__ write"\nseq 41 60\nexit 1\n' >"$work/long.sh"
echo '[{"script": "long.sh", "program": "long", "gpu": false}]' >"$work/cases.json"
run
grep -qx '19' "$work/said" && ! grep -qx '2[0-9]' "$work/said" && grep -q 'Invalid __global__ write' "$work/said" || fail 'not the lines that say what is wrong'
