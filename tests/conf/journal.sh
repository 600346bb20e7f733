#!/usr/bin/env bash
# run-tests -J: what a script gave stands in the journal, and it is not run again, whether it passed or failed.
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
