#!/usr/bin/env bash
# tests/clients/run reads the values that SLEPc writes, and tells lists apart whose values differ.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
PYTHONDONTWRITEBYTECODE=1 python3 - <<'END'
import importlib.machinery, importlib.util, sys, tempfile
loader = importlib.machinery.SourceFileLoader('clients', 'tests/clients/run')
clients = importlib.util.module_from_spec(importlib.util.spec_from_loader('clients', loader))
loader.exec_module(clients)

with tempfile.NamedTemporaryFile('w') as f:
  f.write('Lambda_EPS_0x1_0 = [\n7.9972590324910364e+00\n-1.5e+00-2.25e-01i\n3.999\n];\n')
  f.flush()
  read = clients.values(f.name)
assert read == [7.9972590324910364, -1.5 - 0.225j, 3.999], read
for first, second, least, same in (
    ([2, 1], [1, 2], 2, True), ([2, 1], [1 + 1e-8, 2], 2, True), ([2, 1], [2, 1, 0.5], 2, True), ([2, 1], [2, 1.001], 2, False), ([2, 1], [2], 2, False),
    ([1, 1], [1, 2], 2, False), ([], [], 1, False), ([1j], [-1j], 1, False), ([2, float('nan')], [2, 1], 2, False)):
  if (clients.difference(first, second, least) == '') != same:
    sys.exit('%s and %s are %s' % (first, second, 'told apart' if same else 'taken for the same'))
END
