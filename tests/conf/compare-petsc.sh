#!/usr/bin/env bash
# conf/compare-petsc shows fields that came, went or moved, not comments, spaces or what is equal, and refuses a file that no tree has.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp"/{old,new}
cat >"$tmp/old/a.h" <<'E'
struct _p_Thing {
  int a; /* first */
  struct {
    int b, c;
  } inner;
  int gone;
};
typedef struct {
  double same;
} Same;
static struct _Ops Table = {One, /*1*/ Two};
E
sed -e 's/first/of another meaning/; s/^  int gone;/  int  came;/; s/Two}/NULL}/' "$tmp/old/a.h" >"$tmp/new/a.h"
printf '%s\n' 'a.h: Table' '  -Two' '  +NULL' 'a.h: _p_Thing' '  -int gone' '  +int came' '2 of 3 definitions differ' >"$tmp/expected"
conf/compare-petsc "$tmp/old" "$tmp/new" a.h | diff "$tmp/expected" - >&2
if conf/compare-petsc "$tmp/old" "$tmp/new" b.h >/dev/null 2>"$tmp/said"; then exit 1; fi
grep -q 'no definition in b.h' "$tmp/said"
source=$(conf/get-petsc -s)
[ "$(conf/compare-petsc "$source" "$source" | sed 's/of [1-9][0-9]* //')" = '0 definitions differ' ] # every file of its list is there
