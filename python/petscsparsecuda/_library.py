"""Finding the library, checking it against the PETSc of petsc4py, loading it."""
import ctypes
import glob
import importlib.machinery
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
import warnings

from . import _elf

NAME = 'libpetscsparsecuda.so'
TYPES = {1: 'double', 5: 'single', 10: '__float128', 14: '__fp16'}  # PetscDataType
COMPLEX, INT = 2, 16
ARG_INCOMP = 75  # PETSC_ERR_ARG_INCOMP: the library's own check


class Error(RuntimeError):
  """What init() raises."""


class LibraryNotFound(Error):
  """There is no library, or the file is none. The message says where it was looked for."""


class WrongPETSc(Error):
  """The library was built for another PETSc than petsc4py's."""


class WrongScalars(WrongPETSc):
  """The library was built for another PetscScalar, PetscReal or PetscInt."""


def describe(scalars):
  real, is_complex, bits = scalars
  return '%s %s precision and %d-bit PetscInt' % ('complex' if is_complex else 'real', real, bits)


class PETSc:
  """The PETSc of petsc4py, whose extension module is loaded for that, and neither imported nor initialized."""

  def __init__(self):
    self.extension = self._extension()
    try:
      self.functions = ctypes.CDLL(self.extension)
      self.file = self._file_of('PetscInitialize')
    except (OSError, AttributeError) as e:
      raise Error('petsc4py does not load (%s): build it again, with PETSC_DIR and PETSC_ARCH set to the PETSc that the library was built against' % e) from e
    self.soname = self._soname()

  @staticmethod
  def _extension():
    try:
      import petsc4py.lib
    except ImportError as e:
      raise ImportError('there is no petsc4py: build it against the PETSc that the library was built against, with PETSC_DIR and PETSC_ARCH set') from e
    suffixes = tuple(importlib.machinery.EXTENSION_SUFFIXES)
    imported = getattr(sys.modules.get('petsc4py.PETSc'), '__file__', None) or ''
    if imported.endswith(suffixes):
      return imported
    folder, arch = petsc4py.lib.getPathArchPETSc()
    spec = importlib.machinery.PathFinder.find_spec('petsc4py.PETSc', [os.path.join(folder, arch)])
    if spec is None or not (spec.origin or '').endswith(suffixes):
      raise ImportError('petsc4py in %s has no extension module: install it again' % folder)
    return spec.origin

  def _file_of(self, function):
    class Info(ctypes.Structure):
      _fields_ = [('file', ctypes.c_char_p), ('base', ctypes.c_void_p), ('name', ctypes.c_char_p), ('address', ctypes.c_void_p)]

    info = Info()
    dladdr = ctypes.CDLL(None).dladdr
    dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(Info)]
    if not dladdr(ctypes.cast(getattr(self.functions, function), ctypes.c_void_p), ctypes.byref(info)):
      raise OSError('no file has %s()' % function)
    return os.path.realpath(os.fsdecode(info.file))

  def _soname(self):
    return next((name for name in _elf.needed(self.extension)[0] if re.match(r'libpetsc[\w-]*\.so', name)), os.path.basename(self.file))

  def _ask(self, function, *arguments):
    code = getattr(self.functions, function)(*arguments)
    if code:
      raise Error('%s() of %s failed with PETSc error %d' % (function, self.file, code))

  def _flag(self, function, *arguments):
    flag = ctypes.c_int(0)  # PetscBool has one byte or four
    self._ask(function, *arguments, ctypes.byref(flag))
    return flag.value != 0

  def initialized(self):
    return self._flag('PetscInitialized')

  def finalized(self):
    return self._flag('PetscFinalized')

  def has_cuda(self):
    return self._flag('PetscHasExternalPackage', b'cuda')

  def scalars(self):
    """(name of the precision, whether scalars are complex, bits of PetscInt)"""
    kind = {}
    for name in (b'real', b'scalar'):
      number, found = ctypes.c_int(0), ctypes.c_int(0)
      self._ask('PetscDataTypeFromString', name, ctypes.byref(number), ctypes.byref(found))
      kind[name] = number.value
    size = ctypes.c_size_t(0)
    self._ask('PetscDataTypeGetSize', INT, ctypes.byref(size))
    return TYPES.get(kind[b'real'], 'unknown'), kind[b'scalar'] == COMPLEX, 8 * size.value

  def set_option(self, name, value):
    self._ask('PetscOptionsSetValue', None, name.encode(), os.fsencode(value))


def in_folder(path):
  """The library that path names: a file, or a folder with it in itself or in lib."""
  path = os.path.abspath(os.path.expanduser(os.fspath(path)))
  if os.path.isdir(path):
    return next((file for file in (os.path.join(path, NAME), os.path.join(path, 'lib', NAME)) if os.path.exists(file)), os.path.join(path, NAME))
  return path


def in_package():
  """Where pip install puts the library."""
  return [os.path.join(os.path.dirname(os.path.abspath(__file__)), 'lib', NAME)]


def beside_package():
  """Where make install prefix=DIR puts the library when this package is below DIR, too."""
  folder, places = os.path.dirname(os.path.abspath(__file__)), []
  for _ in range(4):
    folder = os.path.dirname(folder)
    places.append(os.path.join(folder, NAME) if os.path.basename(folder) == 'lib' else os.path.join(folder, 'lib', NAME))
  places.append(os.path.join(sys.prefix, 'lib', NAME))
  return list(dict.fromkeys(places))


def from_pkg_config():
  try:
    done = subprocess.run([os.environ.get('PKG_CONFIG', 'pkg-config'), '--variable=libdir', 'petscsparsecuda'], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
  except (OSError, subprocess.SubprocessError):
    return []
  folder = done.stdout.strip()
  return [os.path.join(folder, NAME)] if done.returncode == 0 and folder else []


def checkout():
  """The checkout that this package is in, or that pip has installed it from; None when there is none."""
  places = [os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))]
  try:
    from importlib import metadata
    url = urllib.parse.urlparse(json.loads(metadata.distribution('petscsparsecuda').read_text('direct_url.json') or '{}').get('url', ''))
    if url.scheme == 'file':
      places.append(urllib.request.url2pathname(url.path))
  except (ImportError, ValueError, AttributeError):
    pass
  return next((place for place in places if os.path.isfile(os.path.join(place, 'include', 'petscsparsecuda.h')) and os.path.isdir(os.path.join(place, 'python'))), None)


def build_trees():
  place = checkout()
  if place is None:
    return []
  return sorted(glob.glob(os.path.join(glob.escape(place), 'build', '*', 'lib', NAME))) or [os.path.join(place, 'build', '*', 'lib', NAME)]


def config_of(petsc_library):
  """(precision, complex, bits of PetscInt) of the PETSc that this file is of, from its petscconf.h; None without that file."""
  header = os.path.join(os.path.dirname(os.path.dirname(petsc_library)), 'include', 'petscconf.h')
  try:
    with open(header, errors='replace') as f:
      defined = set(re.findall(r'^\s*#\s*define\s+PETSC_USE_(\w+)', f.read(), re.M))
  except OSError:
    return None
  real = next((name for macro, name in (('REAL_SINGLE', 'single'), ('REAL___FLOAT128', '__float128'), ('REAL___FP16', '__fp16')) if macro in defined), 'double')
  return real, 'COMPLEX' in defined, 64 if '64BIT_INDICES' in defined else 32


def check(path, petsc):
  """Raises when the library does not fit petsc4py's PETSc, as far as that shows before it is loaded."""
  cure = 'build the library with PETSC_DIR and PETSC_ARCH set to the PETSc of petsc4py, or petsc4py with them set to that of the library'
  try:
    names, folders = _elf.needed(path)
  except (OSError, ValueError) as e:
    raise LibraryNotFound('%s cannot be read as a library: %s' % (path, e)) from e
  name = next((name for name in names if re.match(r'libpetsc[\w-]*\.so', name)), None)
  if name is None:
    raise LibraryNotFound('%s is not %s: it does not use PETSc' % (path, NAME))
  if name != petsc.soname:
    raise WrongPETSc('%s was built for %s, and petsc4py runs %s (%s): %s' % (path, name, petsc.soname, petsc.file, cure))
  if not petsc.has_cuda():
    raise WrongPETSc('the PETSc of petsc4py (%s) is configured without CUDA: configure PETSc with --with-cuda=1 (no GPU is needed for that), and build the library and petsc4py with it' % petsc.file)
  built_for = next((os.path.realpath(file) for file in (os.path.join(folder, name) for folder in folders) if os.path.exists(file)), None)
  if built_for is None or built_for == petsc.file:
    return
  theirs, ours = petsc.scalars(), config_of(built_for)
  if ours is not None and ours != theirs:
    raise WrongScalars('%s was built for a PETSc with %s, and petsc4py runs one with %s (%s): %s' % (path, describe(ours), describe(theirs), petsc.file, cure))
  if ours is None or not os.path.samefile(built_for, petsc.file):
    warnings.warn('%s was built for %s, and petsc4py runs %s: they must be configured alike' % (path, built_for, petsc.file), RuntimeWarning, stacklevel=4)


def choose(library, petsc):
  """The path of the library to load: the one that is named, or the first of those found that fits."""
  for named, source in ((library, 'the argument of init()'), (os.environ.get('PETSCSPARSECUDA_LIBRARY') or None, 'PETSCSPARSECUDA_LIBRARY')):
    if named is not None:
      path = in_folder(named)
      if not os.path.isfile(path):
        raise LibraryNotFound('there is no %s, which %s names: build it with make, or name another file' % (path, source))
      check(path, petsc)
      return path
  searched, refused = ['PETSCSPARSECUDA_LIBRARY (not set)'], None
  for what, places in (('in the package', in_package()), ('beside the package', beside_package()), ('pkg-config petscsparsecuda', from_pkg_config()), ('build tree', build_trees())):
    for path in places:
      searched.append('%s (%s)' % (path, what))
      if os.path.isfile(path):
        try:
          check(path, petsc)
          return path
        except Error as e:
          refused = refused or e
    if not places:
      searched.append('%s (nothing)' % what)
  if refused is not None:
    raise refused
  raise LibraryNotFound('there is no %s: build it with make, and name it in PETSCSPARSECUDA_LIBRARY or in petscsparsecuda.init(); looked for in\n  %s' % (NAME, '\n  '.join(searched)))


def load(path):
  try:
    library = ctypes.CDLL(path, ctypes.RTLD_GLOBAL)
    return library, library.PetscSparseCUDAInitialize
  except (OSError, AttributeError) as e:
    raise LibraryNotFound('%s does not load: %s' % (path, e)) from e


def petsc_error(functions, code):
  """The petsc4py.PETSc.Error of a function that was called here and not by petsc4py, with PETSc's words."""
  from petsc4py import PETSc as module
  text, words = ctypes.c_char_p(), ctypes.c_char_p()
  functions.PetscErrorMessage(ctypes.c_int(code), ctypes.byref(text), ctypes.byref(words))
  error = module.Error(code)
  getattr(error, '_traceback', []).extend(line.value.decode(errors='replace') for line in (text, words) if line.value)
  return error


def register(path, petsc):
  """PETSc runs: registers the types there."""
  _, initialize = load(path)
  code = initialize()
  if code:
    error = petsc_error(petsc.functions, code)
    raise (WrongPETSc if code == ARG_INCOMP else Error)('%s does not start: %s' % (path, error)) from error


def register_later(path, petsc):
  """PETSc does not run yet: it loads the library when it starts."""
  load(path)
  if os.path.basename(path).split('.so')[0] != NAME.split('.so')[0] or ',' in path or '$' in path:
    raise Error('PETSc cannot load %s when it starts, since the file is not called %s, or because of a comma or a dollar sign: call petscsparsecuda.init() after petsc4py.init()' % (path, NAME))
  petsc.set_option('-dll_append', path)
