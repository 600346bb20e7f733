#!/usr/bin/env bash
# make dist archives what git knows, reproducibly; what is unpacked elsewhere, with a git that fails, finds PETSc, knows its commit, compiles a source, would build library and tests, and passes lint.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. conf/versions.sh
[ -e .git ] && git rev-parse HEAD >/dev/null 2>&1 || { echo 'no checkout of git'; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$@"; exit 1; }
make="env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory"
name=petscsparsecuda-$PETSCSPARSECUDA_VERSION

for umask in 022 077; do
  (umask $umask && $make BUILD_ROOT="$work/$umask" dist) >"$work/log" 2>&1 || fail 'make dist failed:' "$(cat "$work/log")"
done
cmp "$work/022/$name.tar.gz" "$work/077/$name.tar.gz" || fail 'make dist depends on the umask'
seconds=$(git log -1 --format=%ct)
TZ=UTC tar -tvzf "$work/022/$name.tar.gz" --full-time --numeric-owner >"$work/list"
other=$(grep -vE "^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x) 0/0 +[0-9]+ $(date -u -d "@$seconds" '+%F %T') $name/" "$work/list" || true)
[ -z "$other" ] || fail 'other times, owners or modes:' "$other"
tar -tzf "$work/022/$name.tar.gz" | sed -n "s|^$name/\(.*[^/]\)$|\1|p" | sort >"$work/names"
{ git ls-files; echo conf/archive; } | sort | cmp - "$work/names" || fail 'the archive has other files than git'

tar -C "$work" -xzf "$work/022/$name.tar.gz"
commit=$(git describe --always --dirty --abbrev=10 --exclude='*')
cd "$work/$name"
if $make dist >"$work/log" 2>&1 || ! grep -q 'this folder is no checkout' "$work/log"; then fail 'make dist in an archive does not say what is wrong:' "$(cat "$work/log")"; fi
mkdir "$work/bin"
printf '#!/bin/sh\necho "git is not here" >&2\nexit 1\n' >"$work/bin/git"
chmod +x "$work/bin/git"
export PATH=$work/bin:$PATH
arch=$(basename "${PETSCSPARSECUDA_BUILD:?}")
$make -j1 build/"$arch"/obj/src/sys/agree.c.o >"$work/log" 2>&1 || fail 'a source does not compile:' "$(cat "$work/log")"
$make -n -j1 V=1 all test-programs >"$work/log" 2>&1 || fail 'make -n failed:' "$(cat "$work/log")"
for what in -shared src/init/init.c.o tests/tools/trace.so; do grep -qF -- "$what" "$work/log" || fail "make would not make $what:" "$(tail -5 "$work/log")"; done
! grep -q 'git is not here' "$work/log" || fail 'make asks git:' "$(grep -m3 git "$work/log")"
$make -n -j1 build-info >"$work/log" 2>&1 || fail 'make -n build-info failed:' "$(cat "$work/log")"
grep -qF "'$commit'" "$work/log" || fail "build-info.json would not name $commit:" "$(tail -3 "$work/log")"
hash=$(. conf/common.sh && tree_hash)
[ "$hash" = "$(sed -n 's/^tree: //p' conf/archive)" ] && [ ${#hash} -eq 16 ] || fail "the hash of the sources is $hash"
if command -v clang-format >/dev/null; then
  $make lint >"$work/log" 2>&1 || fail 'make lint failed:' "$(cat "$work/log")"
fi
