#!/usr/bin/env bash
# The Spack recipe runs, in place of Spack's modules with ones that write down what it says: its versions are those of conf/versions.sh, and what it asks of make is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. conf/versions.sh
minors=$(sed -n '/^PETSC_VERSION/p; /^PETSC_.*_VERSION=/p' conf/versions.sh | grep -oE '3\.[0-9]+\.[0-9]+' | cut -d. -f1,2 | sort -uV)
export PETSC_WANTED=${minors%%$'\n'*}:${minors##*$'\n'} CUDA_WANTED=$CUDA_MINIMUM
PYTHONDONTWRITEBYTECODE=1 python3 - packaging/spack/spack_repo/petscsparsecuda <<'END'
import os, re, subprocess, sys, types
repository = sys.argv[1]
recipe = os.path.join(repository, 'packages', 'petscsparsecuda', 'package.py')
said, made, environment = [], [], {}

def expect(fact, what):
  if not fact:
    sys.exit('the Spack recipe: %s' % what)

# Spack's modules, as far as a recipe sees them.
def directive(name):
  return lambda *given, **options: said.append((name, given, options))
module = types.ModuleType('spack.package')
for name in ('license', 'version', 'variant', 'depends_on', 'conflicts', 'maintainers'):
  setattr(module, name, directive(name))
module.join_path = os.path.join
module.make = lambda *given: made.append(given)
class Package:
  pass
class CudaPackage(Package):
  cuda_arch_values = ('70', '75', '80', '90', '90a', '100', '100f')
def build_system(name, package):
  m = types.ModuleType('spack_repo.builtin.build_systems.' + name)
  setattr(m, package.__name__, package)
  sys.modules[m.__name__] = m
build_system('cuda', CudaPackage)
build_system('makefile', type('MakefilePackage', (Package,), {}))
for name in ('spack', 'spack_repo', 'spack_repo.builtin', 'spack_repo.builtin.build_systems'):
  sys.modules[name] = types.ModuleType(name)
sys.modules['spack.package'] = module

text = open(recipe).read()
expect(not [line for line in text.splitlines() if len(line) > 99 or line != line.rstrip()], 'a line is longer than 99 characters or ends in blanks')
scope = {'__file__': os.path.abspath(recipe), '__name__': 'package'}
exec(compile(text, recipe, 'exec'), scope)
Recipe = scope['Petscsparsecuda']
expect(Recipe.__doc__ and issubclass(Recipe, CudaPackage), 'no docstring, or no CudaPackage')
expect(Recipe.git == 'file://' + os.getcwd(), 'its git is %s, not the checkout that it lies in' % Recipe.git)
expect(re.search(r'^  namespace: petscsparsecuda$', open(os.path.join(repository, 'repo.yaml')).read(), re.M), 'repo.yaml has another namespace')

needs = [given[0] for name, given, _ in said if name == 'depends_on']
petsc = [n for n in needs if n.startswith('petsc@')]
expect(len(petsc) == 1 and petsc[0].split()[0] == 'petsc@' + os.environ['PETSC_WANTED'] and {'+cuda', '+mpi', '+shared'} <= set(petsc[0].split()), 'it wants %s, conf/versions.sh has PETSc %s' % (petsc, os.environ['PETSC_WANTED']))
expect([n for n in needs if re.fullmatch(r'cuda@%s:\d+' % re.escape(os.environ['CUDA_WANTED']), n)], 'it wants another CUDA than conf/versions.sh')
expect({'mpi', 'c', 'cxx', 'gmake'} <= set(needs), 'a dependency is missing')
expect(('variant', 'cuda', True) in [(name, given[0], options.get('default')) for name, given, options in said if given], 'cuda is off by default')
refused = {given[0] for name, given, _ in said if name == 'conflicts'}
expect(refused == {'~cuda', 'cuda_arch=70', 'cuda_arch=75'}, 'it refuses %s' % sorted(refused))
for arch in CudaPackage.cuda_arch_values:
  expect(('depends_on', ('petsc cuda_arch=' + arch,), {'when': 'cuda_arch=' + arch}) in said, 'PETSc is not built for compute capability ' + arch)

# What it asks of make, with and without compute capabilities.
class Prefix(str):
  lib = property(lambda self: self + '/lib')
class Petsc:
  prefix, patched, stage = '/petsc', False, types.SimpleNamespace(source_path='/petsc/source')
  @property
  def package(self):
    return self
  def do_patch(self):
    self.patched = True
class Spec:
  def __init__(self, archs):
    self.petsc, self.archs = Petsc(), archs
    self.variants = {'cuda_arch': types.SimpleNamespace(value=archs)}
  def __getitem__(self, name):
    return {'petsc': self.petsc}[name]
  def satisfies(self, wish):
    expect(wish == 'cuda_arch=none', 'asks for ' + wish)
    return not self.archs
targets = subprocess.run(['make', '-s', 'help'], capture_output=True, text=True, check=True, env={'PATH': os.environ['PATH']}).stdout
for archs in ((), ('80', '90')):
  recipe = Recipe()
  recipe.spec, recipe.prefix = Spec(archs), Prefix('/prefix')
  del made[:]
  recipe.build(recipe.spec, recipe.prefix)
  recipe.install(recipe.spec, recipe.prefix)
  expect([m[0] for m in made] == ['library', 'install'] and recipe.spec.petsc.patched, 'builds with %s' % made)
  expect('prefix=/prefix' in made[1] and 'prefix=/prefix' not in made[0], 'installs with %s' % (made[1],))
  for call in made:
    variables = dict(word.split('=', 1) for word in call[1:])
    expect((variables['PETSC_DIR'], variables['PETSC_ARCH'], variables['PETSC_SRC']) == ('/petsc', '', '/petsc/source'), 'PETSc is given as %s' % variables)
    expect(variables.get('CUDA_ARCHS') == (' '.join(archs) or None), 'compute capabilities are given as %s' % variables)
    for name in variables:
      expect(re.search(r'\b%s\b' % name, targets), '%s is not in "make help"' % name)

# What it says is installed is what conf/install puts there.
install = open('conf/install').read()
for path in Recipe.sanity_check_is_file:
  expect(os.path.basename(path) in install, '%s is not installed by conf/install' % path)
class Environment:
  set = staticmethod(environment.__setitem__)
recipe.setup_run_environment(Environment)
expect(environment == {'PETSCSPARSECUDA_LIBRARY': '/prefix/lib/libpetscsparsecuda.so'}, 'sets %s' % environment)
END
