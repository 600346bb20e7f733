#!/usr/bin/env bash
# conf/get-mpi makes its Open MPI once, from a source package that is checked, throws a half-built one away and says how to help when there is no network; and conf/machine.py uses it with
# several GPUs, or when it is told to, and never otherwise. Open MPI is a source package with a configure that writes down what it was told, and starters that are shell scripts.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
for tool in make perl flock cc readelf bzip2; do command -v $tool >/dev/null || exit 77; done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. conf/versions.sh
failed=0
fail() { printf '%s\n' "$1"; cat "$work/said" 2>/dev/null || true; failed=1; }

top=$work/openmpi-$OPENMPI_VERSION
mkdir -p "$top/opal/mca/common/cuda" "$work/bin" "$work/cuda/bin" "$work/cache/petscsparsecuda"
printf '#!/bin/sh\necho "Cuda compilation tools, release %s, V%s.1"\n' "$CUDA_MINIMUM" "$CUDA_MINIMUM" >"$work/cuda/bin/nvcc"
printf '        opal_show_help("help-mpi-common-cuda.txt", "cuIpcGetMemHandle failed",\n                       true, result, base);\n' >"$top/opal/mca/common/cuda/common_cuda.c"
echo license >"$top/LICENSE"
cat >"$top/configure" <<'END'
#!/bin/sh
printf '%s\n' "$@" >options
[ -z "$FAKE_CONFIGURE_FAILS" ]
END
cat >"$top/makefile" <<'END'
all:
	echo built >>$(COUNT)
install:
	p=$$(sed -n 's/^--prefix=//p' options) && mkdir -p $$p/bin $$p/lib $$p/include $$p/share/man && touch $$p/bin/ompi_clean $$p/lib/x.la && cp options $$p/ && \
	for t in mpiexec mpicc; do printf '#!/bin/sh\nexit 0\n' >$$p/bin/$$t; done && printf '#!/bin/sh\necho mpi_built_with_cuda_support:value:true\n' >$$p/bin/ompi_info && chmod +x $$p/bin/*
END
chmod +x "$top/configure" "$work/cuda/bin/nvcc"
tar -C "$work" -cjf "$work/package.tar.bz2" "openmpi-$OPENMPI_VERSION"
cp -r conf "$work/conf"
sed -i "s/^OPENMPI_SHA256=.*/OPENMPI_SHA256=$(sha256sum "$work/package.tar.bz2" | cut -d' ' -f1)/" "$work/conf/versions.sh"
sed -i "s#^upstream=.*#upstream=file://$work/upstream.tar.bz2#" "$work/conf/get-mpi"
printf '#!/bin/sh\necho no network\nexit 100\n' >"$work/bin/apt-get"
chmod +x "$work/bin/apt-get"
cache=$work/cache/petscsparsecuda
get() { env -u MAKEFLAGS -u MFLAGS -u PETSC_DIR -u PETSC_ARCH -u OPAL_PREFIX COUNT="$work/count" FAKE_CONFIGURE_FAILS="${FAKE_CONFIGURE_FAILS:-}" PATH="$work/bin:$PATH" XDG_CACHE_HOME="$work/cache" CUDA_DIR="$work/cuda" "$work/conf/get-mpi" "$@" 2>"$work/said"; }
built() { cat "$work/count" 2>/dev/null | wc -l; }

[ -z "$(get --find)" ] || fail 'one is found before it was made'
if get >/dev/null; then fail 'it was made of nothing'; fi
grep -q 'cannot download' "$work/said" && grep -q "cure: .*$cache/openmpi-$OPENMPI_VERSION.tar.bz2" "$work/said" || fail 'without a network nothing says where the package may be put'
head -c 100 "$work/package.tar.bz2" >"$work/upstream.tar.bz2"
cp "$work/upstream.tar.bz2" "$cache/openmpi-$OPENMPI_VERSION.tar.bz2"
if get >/dev/null; then fail 'half a package was taken'; fi
grep -q 'wrong checksum' "$work/said" || fail 'nothing was said about a wrong checksum'
cp "$work/package.tar.bz2" "$work/upstream.tar.bz2"
if FAKE_CONFIGURE_FAILS=1 get >/dev/null; then fail 'configure failed and nobody noticed'; fi
[ -z "$(get --find)" ] || fail 'one is found that is not finished'
prefix=$(get) || fail 'it was not made'
[ "$(built)" -eq 1 ] || fail "it was built $(built) times"
[ -x "$prefix/bin/mpiexec" ] && [ -f "$prefix/LICENSE" ] && [ ! -e "$prefix/bin/ompi_clean" ] && [ ! -e "$prefix/lib/x.la" ] && [ ! -e "$prefix/share/man" ] || fail 'what is not needed is not trimmed'
grep -qx -- "--with-cuda=$work/cuda" "$prefix/options" || fail 'it was not configured with CUDA'
[ "$(get)" = "$prefix" ] && [ "$(get --find)" = "$prefix" ] && [ "$(built)" -eq 1 ] || fail 'it is made again, or not found'
[ -z "$(find "$cache" -name 'download.*')" ] || fail 'a download is left'
echo '#!/bin/sh' >"$prefix/bin/ompi_info" # no longer for device memory
[ "$(get)" = "$prefix" ] && [ "$(built)" -eq 2 ] || fail 'one that does not work is trusted'
sed -i 's/show_help/other_help/' "$top/opal/mca/common/cuda/common_cuda.c"
tar -C "$work" -cjf "$cache/openmpi-$OPENMPI_VERSION.tar.bz2" "openmpi-$OPENMPI_VERSION"
sed -i "s/^OPENMPI_SHA256=.*/OPENMPI_SHA256=$(sha256sum "$cache/openmpi-$OPENMPI_VERSION.tar.bz2" | cut -d' ' -f1)/" "$work/conf/versions.sh"
if get >/dev/null; then fail 'another source was taken'; fi
grep -q 'is not what the change' "$work/said" || fail 'nothing was said about another source'

# expect WANTED VARIABLE=VALUE...: whether the environment is that of our own MPI, with so many GPUs
expect() {
  local wanted=$1 said
  shift
  said=$(env -u OPAL_PREFIX -u PETSCMPIEXEC -u PETSC_OPTIONS -u PETSCSPARSECUDA_MPI -u PETSC_DIR -u PETSC_ARCH -u LD_LIBRARY_PATH XDG_CACHE_HOME="$work/cache" "$@" python3 -c '
import os, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import machine
machine.gpu_count = lambda: int(os.environ["FAKE_GPUS"])
for turn in range(2):  # an environment inside of an environment is the same
  os.environ.update(machine.environment())
e = os.environ
own = e.get("OPAL_PREFIX", "") == sys.argv[2]
together = [e["PATH"].split(":")[0] == sys.argv[2] + "/bin", e.get("LD_LIBRARY_PATH", "").split(":")[0] == sys.argv[2] + "/lib", "-use_gpu_aware_mpi 1" in e["PETSC_OPTIONS"]]
twice = e["PATH"].count(sys.argv[2] + "/bin") > 1 or e["PETSC_OPTIONS"].count("-use_gpu_aware_mpi") > 1
print("own" if own and all(together) and not twice else "system" if not own and not any(together) and not twice else "mixed")' "$work/conf" "$prefix" 2>&1) || true
  case "$said" in $wanted) ;; *) fail "with $*: $said, not $wanted" ;; esac
}
expect system FAKE_GPUS=0
expect system FAKE_GPUS=1
expect own FAKE_GPUS=2
expect system FAKE_GPUS=2 PETSCSPARSECUDA_MPI=system
expect own FAKE_GPUS=1 PETSCSPARSECUDA_MPI=own
expect own FAKE_GPUS=4 PETSCSPARSECUDA_MPI=auto
expect system FAKE_GPUS=2 PETSCMPIEXEC=srun
expect system FAKE_GPUS=2 OPAL_PREFIX=/opt/other
expect system FAKE_GPUS=2 PETSC_DIR="$work"
expect '*cure: make mpi*' FAKE_GPUS=2 PETSC_DIR="$work" PETSCSPARSECUDA_MPI=own
expect '*cure: say auto, own or system*' FAKE_GPUS=2 PETSCSPARSECUDA_MPI=mine
exit $failed
