#!/usr/bin/env bash
# conf/check-modules is silent about the modules as they are, and finds an include that the table does not allow, a private header, and a circle in the table.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
expect() { # PATTERN TABLE
  found=$(conf/check-modules "$2")
  grep -q "$1" <<<"$found" || { printf 'check-modules did not say "%s":\n%s\n' "$1" "$found"; exit 1; }
}
found=$(conf/check-modules)
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }
sed -E '/^sum /s/ insert$//' conf/modules >"$work/forbidden"
expect 'sum may not include insert' "$work/forbidden"
sed -E '/^host /s/wrappers\.h//' conf/modules >"$work/private"
expect 'wrappers.h is a private header of host' "$work/private"
sed -E '/^core /s/$/ product/' conf/modules >"$work/circle"
expect 'a circle' "$work/circle"
