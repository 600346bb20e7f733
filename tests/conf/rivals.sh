#!/usr/bin/env bash
# demo.py --rivals solves with our types and with a rival to the same residual, which MATAIJ finds, and its records name the rival; a larger residual and a rival that is none are refused.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
[ -x "${PETSCSPARSECUDA_BUILD:?}/demo/ksp-bench_kspsolve" ] || { echo 'make demo-programs makes what this runs'; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
demo() { CUDA_VISIBLE_DEVICES='' python3 demo/demo.py --rivals --size laptop --cases bench_kspsolve-30 --repeat 1 --repeated 2 --options '-n 12' "$@"; }
demo --types 'dcsrcuda,hisparsecuda single,host gamg' -o "$tmp/records" >"$tmp/said" || { cat "$tmp/said"; exit 1; }
python3 - "$tmp" <<'E'
import json, re, sys
rows = [line for line in open(sys.argv[1] + '/said') if re.match(r'bench_kspsolve +30\^3', line)]
assert len(rows) == 6, rows  # two cases, three configurations
assert all(float(re.split(' {2,}', line)[11]) <= 1.01e-8 for line in rows), rows
records = [json.loads(line) for line in open(sys.argv[1] + '/records')]
metrics = {r['metric'] for r in records if r['case'] == 'bench_kspsolve-30@hisparsecuda-single'}
assert {'assembly', 'setup', 'solve', 'whole', 'refresh', 'step', 'iterations'} <= metrics, metrics
assert all(r['benchmark'] == 'rivals' and r['competitor'] == 'host gamg' and r['best'] is not None for r in records if r['metric'] == 'step'), records
E
if demo --types dcsrcuda --options '-n 12 -ksp_rtol 1e-3' >"$tmp/said"; then exit 1; fi
grep -q 'failed: residual ' "$tmp/said"
if demo --types 'nobody' >"$tmp/said" 2>&1; then exit 1; fi
grep -q "'nobody' is no configuration" "$tmp/said"
