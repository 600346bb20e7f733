#!/usr/bin/env bash
# pip install of the checkout puts the library, built against the PETSc that the package petsc names, into a bare virtual environment, where the package finds it and creates a matrix; so does an sdist.
# What make is told, in a build in isolation, too, and what is said when there is no PETSc, no CUDA or no source tree, is tried with a make and a conf/get-petsc that write down how they are called.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. conf/versions.sh
[ -d "${PETSCSPARSECUDA_BUILD:?}/obj" ] && [ "${PETSCSPARSECUDA_BUILD_ROOT:?}" = build ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$@"; exit 1; }
petsc_dir=${PETSC_DIR:?} arch=${PETSC_ARCH:-}
unset MAKEFLAGS MFLAGS MAKELEVEL PYTHONPATH PYTHONHOME LD_LIBRARY_PATH PETSC_DIR PETSC_ARCH PETSC_SRC PETSCSPARSECUDA_LIBRARY PETSC_OPTIONS
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

python=$work/env/bin/python
{ python3 -m venv --without-pip "$work/env" && python3 -m pip --python "$python" install --only-binary :all: "setuptools==$SETUPTOOLS_VERSION"; } >"$work/log" 2>&1 ||
  { echo "no virtual environment with setuptools $SETUPTOOLS_VERSION here"; exit 77; }
site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
package() { # package FOLDER: the package petsc, which is there as pip has installed it
  mkdir -p "$site/petsc"
  printf 'def get_petsc_dir():\n  return "%s"\n' "$1" >"$site/petsc/__init__.py"
}
install() { python3 -m pip --python "$python" install --no-cache-dir --no-index --no-build-isolation --no-deps --force-reinstall -v "$@" >"$work/log" 2>&1; }

# The real one, with the library of the build tree.
package "$petsc_dir"
PETSC_ARCH=$arch install . || fail 'pip install of the checkout failed:' "$(tail -20 "$work/log")"
library=$site/petscsparsecuda/lib/libpetscsparsecuda.so
cmp -s "$library" "$PETSCSPARSECUDA_BUILD/lib/libpetscsparsecuda.so" || fail "the library is not in the package:" "$(ls -R "$site/petscsparsecuda")"
[ "$("$python" -c 'from importlib.metadata import version; print(version("petscsparsecuda"))')" = "$PETSCSPARSECUDA_VERSION" ] || fail 'the package has another version'
# With a petsc4py that was built for this PETSc, when there is one; else the library alone is loaded.
config=$(grep -lsx "PETSC_DIR *= *$petsc_dir" "${XDG_CACHE_HOME:-$HOME/.cache}"/petscsparsecuda/petsc4py-*/python/lib/"$("$python" -c 'import sys; print("python%d.%d" % sys.version_info[:2])')"/site-packages/petsc4py/lib/petsc.cfg | tail -1 || true)
if [ -n "$config" ] && grep -q "PETSC_ARCH *= *$arch\$" "$config"; then
  PYTHONPATH=${config%/petsc4py/lib/petsc.cfg} "$python" - "$library" >"$work/log" 2>&1 <<'PYTHON' || fail 'a matrix cannot be created:' "$(cat "$work/log")"
import sys
import petsc4py, petscsparsecuda
petsc4py.init([sys.argv[0], '-use_gpu_aware_mpi', '0'])
assert petscsparsecuda.init() == sys.argv[1], petscsparsecuda.find()
from petsc4py import PETSc
A = PETSc.Mat().create()
A.setSizes(4)
A.setType(petscsparsecuda.DCSR)
assert A.getType() == petscsparsecuda.SEQAIJDCSR, A.getType()
PYTHON
else
  "$python" -c 'import ctypes, sys; ctypes.CDLL(sys.argv[1]).PetscSparseCUDAInitialize' "$library" || fail 'the library does not load'
fi

# An sdist has what make needs.
"$python" - "$work" >"$work/log" 2>&1 <<'PYTHON' || fail 'there is no sdist:' "$(tail -5 "$work/log")"
import sys
from setuptools import build_meta
build_meta.build_sdist(sys.argv[1])
PYTHON
tar -C "$work" -xzf "$work/petscsparsecuda-$PETSCSPARSECUDA_VERSION.tar.gz"
cd "$work/petscsparsecuda-$PETSCSPARSECUDA_VERSION"
PETSC_DIR=$petsc_dir PETSC_ARCH=$arch make -n -j1 V=1 install prefix=/somewhere >"$work/make" 2>&1 || fail 'make -n in an sdist failed:' "$(tail -5 "$work/make")"
[ "$(grep -cE ' -c .*\.(c|cu) ' "$work/make")" -eq "$(find "$OLDPWD/src" "$OLDPWD/bin" -name '*.c' -o -name '*.cu' | wc -l)" ] || fail 'make would not compile all sources of an sdist'

# From here on in that tree.
mkdir "$work/bin"
cat >"$work/bin/make" <<'SCRIPT'
#!/bin/sh
echo "make $1: PETSC_DIR=$PETSC_DIR PETSC_ARCH=$PETSC_ARCH PETSC_SRC=$PETSC_SRC."
mkdir -p "${2#prefix=}/lib"
echo library >"${2#prefix=}/lib/libpetscsparsecuda.so"
SCRIPT
printf '#!/bin/sh\necho "get-petsc $*: PETSC_DIR=$PETSC_DIR." >&2\necho /the/source\n' >conf/get-petsc
chmod +x "$work/bin/make"
said() { grep -qF -- "$1" "$work/log" || fail "pip does not say \"$1\":" "$(tail -20 "$work/log")"; }
make_says() { # make_says WORDS ARGUMENTS...: pip install . with the make that writes down
  local words=$1
  shift
  PATH=$work/bin:$PATH install "$@" . || fail 'pip install failed:' "$(tail -20 "$work/log")"
  said "$words"
  [ "$(cat "$library")" = library ] || fail 'the package has another library than make has made'
}
prefix=$work/petsc
mkdir -p "$prefix/include" "$prefix/lib/petsc/conf"
cp "$petsc_dir/include/petscversion.h" "$prefix/include/"
touch "$prefix/include/petscconf.h" "$prefix/lib/petsc/conf/petscvariables"
package "$prefix"
PETSC_DIR=/other PETSC_ARCH=arch PETSC_SRC=/src make_says 'make install: PETSC_DIR=/other PETSC_ARCH=arch PETSC_SRC=/src.'
PETSC_SRC=/src make_says "make install: PETSC_DIR=$prefix PETSC_ARCH= PETSC_SRC=/src."
make_says "make install: PETSC_DIR=$prefix PETSC_ARCH= PETSC_SRC=/the/source."
said "get-petsc -s: PETSC_DIR=$prefix."
# In isolation pip gets setuptools as a wheel.
if python3 -m pip download -q --no-deps --only-binary :all: -d "$work/wheels" "setuptools==$SETUPTOOLS_VERSION" >/dev/null 2>&1; then
  PATH=$work/bin:$PATH python3 -m pip --python "$python" install --no-cache-dir --no-index --find-links "$work/wheels" --no-deps --force-reinstall -v . >"$work/log" 2>&1 || fail 'pip install in isolation failed:' "$(tail -20 "$work/log")"
  said "make install: PETSC_DIR=$prefix PETSC_ARCH= PETSC_SRC=/the/source."
fi

! install . || fail 'a PETSc without CUDA is taken'
said 'configured without CUDA'
said 'PETSC_CONFIGURE_OPTIONS=--with-cuda=1'
printf '#!/bin/sh\nexit 1\n' >conf/get-petsc
! install . || fail 'a PETSc without its source tree is taken'
said "the PETSc in $prefix is an installation without its source tree"
said 'set PETSC_SRC'
rm -r "$site/petsc"
! install . || fail 'it installs without a PETSc'
said 'there is no package petsc in this Python environment'
