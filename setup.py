"""Builds libpetscsparsecuda.so with make and puts it into the Python package; pyproject.toml has the rest. The PETSc is that of PETSC_DIR and PETSC_ARCH, else that of the package petsc."""
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = os.path.dirname(os.path.abspath(__file__))
SCRATCH = os.path.join('build', 'python')


def die(what, cure):
  sys.exit('petscsparsecuda: %s\n  cure: %s' % (what, cure))


def version():
  with open(os.path.join(ROOT, 'conf', 'versions.sh')) as f:
    return re.search(r'^PETSCSPARSECUDA_VERSION=(\S+)', f.read(), re.M).group(1)


def petsc_of_package():
  """The folder of the PETSc that pip has installed as the package petsc; None without one. A build in isolation does not have it in sys.path."""
  paths = sysconfig.get_paths()
  spec = importlib.machinery.PathFinder.find_spec('petsc', [*sys.path, paths['purelib'], paths['platlib']])
  if spec is None or spec.origin is None:
    return None
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module.get_petsc_dir()


def petsc_environment():
  """The environment for make, with PETSC_DIR, and with PETSC_SRC when that PETSc has no source tree."""
  environment = dict(os.environ)
  if not environment.get('PETSC_DIR'):
    found = petsc_of_package()
    if found is None:
      die('PETSC_DIR is not set, and there is no package petsc in this Python environment', 'set PETSC_DIR (and PETSC_ARCH) to the PETSc of petsc4py')
    environment['PETSC_DIR'] = found
  petsc = environment['PETSC_DIR']
  has = lambda *names: os.path.isfile(os.path.join(petsc, *names))
  if not environment.get('PETSC_SRC') and has('include', 'petscversion.h') and not has('src', 'mat', 'impls', 'aij', 'seq', 'aij.h'):
    done = subprocess.run([os.path.join(ROOT, 'conf', 'get-petsc'), '-s'], stdout=subprocess.PIPE, text=True, env=environment)
    if done.returncode:
      die('the PETSc in %s is an installation without its source tree, and conf/get-petsc -s cannot get one' % petsc, 'set PETSC_SRC to the source tree of that version')
    environment['PETSC_SRC'] = done.stdout.strip()
  return environment


class BuildLibrary(build_py):
  """The modules, and the library in the folder lib of the package; in an editable installation it stays in the build tree, where the package finds it."""

  def run(self):
    super().run()
    environment = petsc_environment()
    with tempfile.TemporaryDirectory() as prefix:
      if subprocess.run(['make', 'install', 'prefix=' + prefix], cwd=ROOT, env=environment).returncode:
        die('the library cannot be built against the PETSc in ' + environment['PETSC_DIR'],
            'see above; with CUDA the package petsc is built by PETSC_CONFIGURE_OPTIONS=--with-cuda=1 pip install --no-cache-dir petsc')
      if not self.editable_mode:
        folder = os.path.join(self.build_lib, 'petscsparsecuda', 'lib')
        os.makedirs(folder, exist_ok=True)
        shutil.copy(os.path.join(prefix, 'lib', 'libpetscsparsecuda.so'), folder)


class BinaryDistribution(Distribution):
  """A wheel for this platform."""

  def has_ext_modules(self):
    return True


os.makedirs(os.path.join(ROOT, SCRATCH), exist_ok=True)
setup(version=version(), cmdclass={'build_py': BuildLibrary}, distclass=BinaryDistribution, options={'build': {'build_base': SCRATCH}, 'egg_info': {'egg_base': SCRATCH}})
