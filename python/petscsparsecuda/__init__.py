"""The GPU matrix types of petscsparsecuda in petsc4py.

  import sys, petsc4py, petscsparsecuda
  petsc4py.init(sys.argv)
  petscsparsecuda.init()
  from petsc4py import PETSc
  A = PETSc.Mat().create()
  A.setType(petscsparsecuda.DCSR)

init() finds libpetscsparsecuda.so, checks that it fits petsc4py's PETSc, and registers its matrix types there. It may also come before petsc4py.init(). A GPU is not needed.
"""
import os

from . import _library
from ._arrays import set_preallocation_coo, set_values_coo
from ._library import Error, LibraryNotFound, WrongPETSc, WrongScalars

__version__ = '0.3.0'
__all__ = ['init', 'find', 'set_preallocation_coo', 'set_values_coo', 'DCSR', 'AIJDCSR', 'SEQAIJDCSR', 'MPIAIJDCSR', 'HISPARSE', 'AIJHISPARSE', 'SEQAIJHISPARSE', 'MPIAIJHISPARSE', 'Error', 'LibraryNotFound', 'WrongPETSc', 'WrongScalars']

# Names of matrix types, for Mat.setType() and -mat_type.
DCSR = 'dcsrcuda'
AIJDCSR = 'aijdcsrcuda'
SEQAIJDCSR = 'seqaijdcsrcuda'
MPIAIJDCSR = 'mpiaijdcsrcuda'
HISPARSE = 'hisparsecuda'
AIJHISPARSE = 'aijhisparsecuda'
SEQAIJHISPARSE = 'seqaijhisparsecuda'
MPIAIJHISPARSE = 'mpiaijhisparsecuda'
AUTO = 'autocuda'
AIJAUTO = 'aijautocuda'
SEQAIJAUTO = 'seqaijautocuda'
MPIAIJAUTO = 'mpiaijautocuda'

_loaded = None


def find(library=None):
  """The path of the library that init() would load, checked against petsc4py's PETSc. Raises what init() raises."""
  return _library.choose(library, _library.PETSc())


def init(library=None):
  """Registers the matrix types in petsc4py's PETSc, and returns the path of the library.

  library is the path of libpetscsparsecuda.so, or of a folder with it. Without it, the first of these is taken: PETSCSPARSECUDA_LIBRARY, this package, a prefix that it is installed in,
  pkg-config's petscsparsecuda, the build tree of the checkout that this package is in or was installed from.

  Before petsc4py.init() the library is put into PETSc's options as -dll_append, and PETSc loads it when it starts. A -dll_append of the program replaces that one: call init() after
  petsc4py.init() then. A call too many does nothing.

  Raises LibraryNotFound, WrongPETSc, WrongScalars (all of them Error, which is a RuntimeError), and ImportError without petsc4py.
  """
  global _loaded
  petsc = _library.PETSc()
  if petsc.finalized():
    raise Error('PETSc has been finalized: call petscsparsecuda.init() before PETSc ends')
  if _loaded is None:
    path = _library.choose(library, petsc)
  else:
    path = _loaded
    if library is not None and not os.path.samefile(_library.in_folder(library), path):
      raise Error('%s is loaded already, and %s cannot be loaded beside it: call petscsparsecuda.init() once' % (path, library))
  if petsc.initialized():
    _library.register(path, petsc)
  else:
    _library.register_later(path, petsc)
  _loaded = path
  return path
