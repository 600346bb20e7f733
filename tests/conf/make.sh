#!/usr/bin/env bash
# A second make does nothing, and does it fast; the first one complains about nothing that is not there yet; a changed header makes what includes it again and nothing else, also when a source that included it has moved.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${PETSCSPARSECUDA_BUILD:?}
make="env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory BUILD_ROOT=${PETSCSPARSECUDA_BUILD_ROOT:?}"
[ -d "$build/obj" ] || exit 77
# Time of processors, which other processes do not lengthen.
TIMEFORMAT='%3U %3S'
used=$({ time $make -q all; } 2>&1) || { echo 'make would make something again:'; $make -n all | sed -n 1,5p; exit 1; }
read -r user system <<<"${used##*$'\n'}"
ms=$((10#${user//[^0-9]/} + 10#${system//[^0-9]/}))
[ $ms -lt 2000 ] || { echo "make that has nothing to do takes $ms ms of a processor"; exit 1; }
header=$(find include/petscsparsecuda -name 'spmv.h')
[ -n "$header" ] || exit 77
left=$build/obj/src/mat/kernels/moved/moved.c
mkdir -p "${left%/*}"
new=$(mktemp -d)
trap 'rm -rf "${left%/*}" "$new"' EXIT
echo "$left.o: $header" >"$left.d"
again=$($make -n -W "$header" all V=1 | grep -cE ' -c .*\.(c|cu) ')
users=$(find "$build/obj/src" -name '*.d' -exec grep -l "$header" {} + | wc -l)
[ "$again" -eq "$users" ] || { echo "a changed $header compiles $again sources again, $users include it"; exit 1; }
cp -r "$PETSCSPARSECUDA_BUILD_ROOT/settings" "$new"
text=$($make BUILD_ROOT="$new" "$new/$(basename "$build")/obj/src/sys/agree.c.o" 2>&1 >/dev/null)
[ -z "$text" ] || { echo 'make in an empty folder says:' "$text"; exit 1; }
