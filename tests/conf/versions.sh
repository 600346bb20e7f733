#!/usr/bin/env bash
# conf/check-versions is silent about the files as they are, and names each one that has another version than conf/versions.sh, or none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. conf/versions.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=$(conf/check-versions) || { printf '%s\n' "$found"; exit 1; }
files='include/petscsparsecudaversion.h python/petscsparsecuda/__init__.py CHANGELOG.md'
citation="version: \"$PETSCSPARSECUDA_VERSION\""
for file in $files CITATION.cff; do
  # With another last number, and without a version.
  for change in "s/(SUBMINOR +|${PETSCSPARSECUDA_VERSION%.*}\\.)[0-9]+/\\1999/" '/VERSION_|version|^##/d'; do
    rm -rf "$work/tree"
    mkdir "$work/tree"
    cp --parents conf/versions.sh $files "$work/tree"
    printf '%s\n' "$citation" >"$work/tree/CITATION.cff"
    found=$(conf/check-versions "$work/tree") || { printf 'a CITATION.cff with %s is refused:\n%s\n' "$citation" "$found"; exit 1; }
    sed -E -i "$change" "$work/tree/$file"
    if found=$(conf/check-versions "$work/tree") || [ "${found%%:*}" != "$file" ]; then printf 'after %s in %s conf/check-versions says: %s\n' "$change" "$file" "$found"; exit 1; fi
  done
done
