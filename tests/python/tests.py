#!/usr/bin/env python3
"""Usage: tests.py [PATTERN]
Tests of the package petscsparsecuda and of tutorials/python; tests/python/run installs the package and calls this. Silent but for what fails; ends in "N passed, N failed, N skipped"."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
REPO = os.path.dirname(os.path.dirname(HERE))
LIBRARY = os.environ['PETSCSPARSECUDA_LIBRARY']
NAME = os.path.basename(LIBRARY)
PACKAGE = os.path.join(os.environ['PYTHONPATH'].split(os.pathsep)[0], 'petscsparsecuda')

MAKE = '''
A = PETSc.Mat().create()
A.setSizes(4)
A.setType(petscsparsecuda.DCSR)
print('type %s\\n' % A.getType(), end='', flush=True)
'''
BEFORE = 'import petscsparsecuda, petsc4py\nprint("loaded", petscsparsecuda.init())\npetsc4py.init([])\nfrom petsc4py import PETSc\n'
AFTER = 'import petscsparsecuda, petsc4py\npetsc4py.init([])\nfrom petsc4py import PETSc\nprint("loaded", petscsparsecuda.init())\n'
PETSC = 'import petsc4py, petscsparsecuda\npetsc4py.init([])\nfrom petsc4py import PETSc\n'


class Case(unittest.TestCase):
  def setUp(self):
    self.work = os.path.realpath(tempfile.mkdtemp(prefix='python-tests.'))
    self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

  def run_python(self, code, *arguments, ok=True, command=(), **environment):
    """Output of that program in a process of its own. A variable that is None is not set."""
    env = {name: value for name, value in dict(os.environ, **environment).items() if value is not None}
    done = subprocess.run([*command, sys.executable, '-c', code, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, cwd=self.work, timeout=300)
    if ok:
      self.assertEqual(done.returncode, 0, done.stdout)
    else:
      self.assertNotEqual(done.returncode, 0, done.stdout)
    return done.stdout

  def file(self, *names, text=''):
    path = os.path.join(self.work, *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w') as f:
      f.write(text)
    return path

  def copy_package(self, *names):
    """A copy of the package in that folder, for PYTHONPATH."""
    to = os.path.join(self.work, *names)
    shutil.copytree(PACKAGE, os.path.join(to, 'petscsparsecuda'), ignore=shutil.ignore_patterns('__pycache__', NAME))
    return to

  def link(self, *names):
    path = os.path.join(self.work, *names)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    os.symlink(LIBRARY, path)
    return path

  def compile(self, path, code, *flags, compiler='cc'):
    source = self.file('source.c', text=code)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    done = subprocess.run([compiler, '-shared', '-fPIC', '-o', path, source, *flags], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    self.assertEqual(done.returncode, 0, done.stdout)
    return path


class Order(Case):
  def check(self, code, **environment):
    out = self.run_python(code + MAKE, **environment)
    self.assertIn('loaded ' + LIBRARY, out)
    self.assertIn('type seqaijdcsrcuda', out)

  def test_before(self):
    self.check(BEFORE)

  def test_before_import_alone(self):
    self.check('import petscsparsecuda\nprint("loaded", petscsparsecuda.init())\nfrom petsc4py import PETSc\n')

  def test_before_does_not_initialize(self):
    out = self.run_python('import petscsparsecuda, petsc4py\npetscsparsecuda.init()\npetsc4py.init(["program", "-mine", "7"])\nfrom petsc4py import PETSc\nprint("mine", PETSc.Options().getInt("mine"))\n')
    self.assertIn('mine 7', out)

  def test_after(self):
    self.check(AFTER)

  def test_after_import_alone(self):
    self.check('from petsc4py import PETSc\nimport petscsparsecuda\nprint("loaded", petscsparsecuda.init())\n')

  def test_twice(self):
    self.check(BEFORE + 'petscsparsecuda.init()\npetscsparsecuda.init()\n')
    self.check(AFTER + 'petscsparsecuda.init()\n')
    self.check('import petscsparsecuda\npetscsparsecuda.init()\n' + BEFORE)

  def test_also_by_option(self):
    self.check(BEFORE, PETSC_OPTIONS='-dll_append ' + LIBRARY)
    self.check(AFTER, PETSC_OPTIONS='-dll_append ' + LIBRARY)

  def test_replaced_by_an_option(self):
    other = self.compile(os.path.join(self.work, 'libother.so'), 'int nothing;')
    out = self.run_python(BEFORE + MAKE, ok=False, PETSC_OPTIONS='-dll_append ' + other)
    self.assertIn('dcsrcuda', out)
    self.check(BEFORE + 'petscsparsecuda.init()\n', PETSC_OPTIONS='-dll_append ' + other)

  def test_option_names_the_type(self):
    out = self.run_python(BEFORE + 'A = PETSc.Mat().create()\nA.setSizes(4)\nA.setFromOptions()\nprint("type", A.getType())\n', PETSC_OPTIONS='-mat_type dcsrcuda')
    self.assertIn('type seqaijdcsrcuda', out)

  def test_after_the_end(self):
    out = self.run_python(PETSC + 'PETSc._finalize()\npetscsparsecuda.init()\n', ok=False)
    self.assertIn('PETSc has been finalized', out)

  def test_two_processes(self):
    out = self.run_python(BEFORE + MAKE, command=('mpirun', '-n', '2'))
    self.assertEqual(out.count('type mpiaijdcsrcuda'), 2, out)


class Find(Case):
  FIND = 'import petscsparsecuda\nprint("found", petscsparsecuda.find())\n'

  def found(self, path, code=FIND, **environment):
    self.assertIn('found %s\n' % path, self.run_python(code, **dict({'PETSCSPARSECUDA_LIBRARY': None}, **environment)))

  def test_argument(self):
    for name in (LIBRARY, os.path.dirname(LIBRARY), os.path.dirname(os.path.dirname(LIBRARY))):
      self.found(LIBRARY, 'import petscsparsecuda\nprint("found", petscsparsecuda.find(%r))\n' % name, PETSCSPARSECUDA_LIBRARY='/nowhere')

  def test_environment(self):
    self.found(LIBRARY, PETSCSPARSECUDA_LIBRARY=LIBRARY)
    self.found(LIBRARY, PETSCSPARSECUDA_LIBRARY=os.path.dirname(LIBRARY))

  def test_in_package(self):
    to = self.copy_package('site-packages')
    self.found(self.link('site-packages', 'petscsparsecuda', 'lib', NAME), PYTHONPATH=to)

  def test_prefix(self):
    to = self.copy_package('prefix', 'lib', 'python3', 'site-packages')
    self.found(self.link('prefix', 'lib', NAME), PYTHONPATH=to)

  def test_pkg_config(self):
    path = self.link('elsewhere', NAME)
    self.file('petscsparsecuda.pc', text='libdir=%s\nName: petscsparsecuda\nDescription: test\nVersion: 0\n' % os.path.dirname(path))
    self.found(path, PKG_CONFIG_PATH=self.work, PYTHONPATH=self.copy_package('site-packages'))

  def test_checkout(self):
    to = self.copy_package('checkout', 'python')
    self.file('checkout', 'include', 'petscsparsecuda.h')
    self.found(self.link('checkout', 'build', 'arch-x', 'lib', NAME), PYTHONPATH=to)

  def test_installed_from_checkout(self):
    to = self.copy_package('site-packages')
    self.file('checkout', 'include', 'petscsparsecuda.h')
    self.file('checkout', 'python', 'petscsparsecuda', '__init__.py')
    self.file('site-packages', 'petscsparsecuda-0.1.0.dist-info', 'METADATA', text='Metadata-Version: 2.1\nName: petscsparsecuda\nVersion: 0.1.0\n')
    self.file('site-packages', 'petscsparsecuda-0.1.0.dist-info', 'direct_url.json', text=json.dumps({'url': 'file://%s/checkout' % self.work, 'dir_info': {}}))
    self.found(self.link('checkout', 'build', 'arch-x', 'lib', NAME), PYTHONPATH=to)

  def test_the_build_that_fits(self):
    to = self.copy_package('checkout', 'python')
    self.file('checkout', 'include', 'petscsparsecuda.h')
    self.compile(os.path.join(self.work, 'checkout', 'build', 'arch-a', 'lib', NAME), 'int nothing;')
    self.found(self.link('checkout', 'build', 'arch-b', 'lib', NAME), PYTHONPATH=to)


class Errors(Case):
  def raised(self, error, *words, code=PETSC + 'petscsparsecuda.init()\n', **environment):
    out = self.run_python(code, ok=False, **environment)
    for word in (error + ': ', *words):
      self.assertIn(word, out)
    return out

  def test_not_found(self):
    to = self.copy_package('site-packages')
    self.raised('LibraryNotFound', 'PETSCSPARSECUDA_LIBRARY (not set)', os.path.join(to, 'lib', NAME) + ' (beside the package)', 'pkg-config petscsparsecuda (nothing)', 'build tree (nothing)', code='import petscsparsecuda\npetscsparsecuda.init()\n',
                PETSCSPARSECUDA_LIBRARY=None, PKG_CONFIG_LIBDIR=self.work, PYTHONPATH=to)

  def test_named_and_missing(self):
    self.raised('LibraryNotFound', 'there is no /nowhere/lib.so, which PETSCSPARSECUDA_LIBRARY names', PETSCSPARSECUDA_LIBRARY='/nowhere/lib.so')
    self.raised('LibraryNotFound', 'there is no /nowhere/lib.so, which the argument of init() names', code='import petscsparsecuda\npetscsparsecuda.init("/nowhere/lib.so")\n')

  def test_no_library(self):
    self.raised('LibraryNotFound', 'is no 64-bit shared library', PETSCSPARSECUDA_LIBRARY=self.file(NAME, text='text'))
    self.raised('LibraryNotFound', 'does not use PETSc', PETSCSPARSECUDA_LIBRARY=self.compile(os.path.join(self.work, 'libempty.so'), 'int nothing;'))

  def fake(self, soname, define='', header=True):
    """A library that needs a PETSc of that name, configured so."""
    petsc = os.path.join(self.work, 'petsc', 'lib')
    self.compile(os.path.join(petsc, soname), 'int fake_petsc;', '-Wl,-soname,' + soname)
    if header:
      self.file('petsc', 'include', 'petscconf.h', text=''.join('#define %s 1\n' % name for name in define.split()))
    return self.compile(os.path.join(self.work, NAME), 'extern int fake_petsc; int *use = &fake_petsc; int PetscSparseCUDAInitialize(void) { return 0; }', os.path.join(petsc, soname), '-Wl,-rpath,' + petsc)

  def soname(self):
    text = subprocess.run(['readelf', '-d', LIBRARY], stdout=subprocess.PIPE, text=True).stdout
    return re.search(r'NEEDED.*\[(libpetsc[^\]]*)\]', text).group(1)

  def test_wrong_version(self):
    self.raised('WrongPETSc', 'was built for libpetsc.so.3.25, and petsc4py runs ' + self.soname(), 'PETSC_DIR', PETSCSPARSECUDA_LIBRARY=self.fake('libpetsc.so.3.25'))

  def test_wrong_scalars(self):
    for define, words in (('PETSC_USE_COMPLEX PETSC_USE_REAL_DOUBLE', 'complex double precision and 32-bit'), ('PETSC_USE_REAL_SINGLE', 'real single precision and 32-bit'), ('PETSC_USE_REAL_DOUBLE PETSC_USE_64BIT_INDICES', 'real double precision and 64-bit')):
      library = self.fake(self.soname(), define)
      for order in (PETSC + 'petscsparsecuda.init()\n', 'import petscsparsecuda\npetscsparsecuda.init()\n'):
        self.raised('WrongScalars', 'was built for a PETSc with ' + words, 'petsc4py runs one with real double precision and 32-bit PetscInt', code=order, PETSCSPARSECUDA_LIBRARY=library)

  def test_other_file(self):
    for header in (True, False):
      library = self.fake(self.soname(), 'PETSC_USE_REAL_DOUBLE', header)
      out = self.run_python('import petscsparsecuda\nprint("found", petscsparsecuda.find())\n', PETSCSPARSECUDA_LIBRARY=library)
      self.assertIn('RuntimeWarning: %s was built for %s' % (library, os.path.join(self.work, 'petsc', 'lib', self.soname())), out)
      self.assertIn('found ' + library, out)
      shutil.rmtree(os.path.join(self.work, 'petsc'))

  def test_no_warning_for_the_same_file(self):
    self.assertNotIn('Warning', self.run_python(AFTER))

  def test_without_cuda(self):
    self.raised('WrongPETSc', 'is configured without CUDA', code='import petscsparsecuda, petscsparsecuda._library as l\nl.PETSc.has_cuda = lambda self: False\npetscsparsecuda.init()\n')

  def test_the_check_of_the_library(self):
    """What PetscSparseCUDAInitialize() refuses is an error in words, too."""
    library = self.fake(self.soname(), 'PETSC_USE_REAL_DOUBLE')
    petsc = os.path.join(self.work, 'petsc', 'lib', self.soname())
    self.compile(library, '#include <mpi.h>\nint PetscError(MPI_Comm, int, const char *, const char *, int, int, const char *, ...); extern int fake_petsc __attribute__((weak)); int *use = &fake_petsc; int PetscSparseCUDAInitialize(void) { return PetscError(MPI_COMM_SELF, 1, "f", "f.c", 75, 0, "words"); }', '-Wl,--no-as-needed', petsc, '-Wl,-rpath,' + os.path.dirname(petsc), compiler=os.environ.get('PETSC_CC', 'mpicc'))
    self.raised('WrongPETSc', 'does not start: error code 75', 'words', PETSCSPARSECUDA_LIBRARY=library)

  def test_other_name(self):
    for path in (self.link('libother.so'), self.link('a,b', NAME)):
      self.raised('Error', 'call petscsparsecuda.init() after petsc4py.init()', code=BEFORE, PETSCSPARSECUDA_LIBRARY=path)
      self.assertIn('type seqaijdcsrcuda', self.run_python(AFTER + MAKE, PETSCSPARSECUDA_LIBRARY=path))

  def test_two_libraries(self):
    shutil.copy(LIBRARY, self.work)
    self.raised('Error', 'is loaded already', code=AFTER + 'petscsparsecuda.init(%r)\n' % os.path.join(self.work, NAME))

  def test_without_petsc4py(self):
    self.raised('ImportError', 'there is no petsc4py', code='import sys\nsys.modules["petsc4py"] = None\nimport petscsparsecuda\npetscsparsecuda.init()\n')


class Arrays(Case):
  START = AFTER + '''
import numpy
from petscsparsecuda import _arrays, set_preallocation_coo, set_values_coo

def matrix():
  A = PETSc.Mat().create()
  A.setSizes(3)
  A.setType(petscsparsecuda.DCSR)
  return A

def values(A):
  return A.convert('dense', PETSc.Mat()).getDenseArray().copy()

def refused(error, words, function, *arguments):
  try:
    function(*arguments)
  except error as e:
    assert words in str(e), e
  else:
    raise AssertionError('not refused: ' + words)

i, j, v = [0, 1, 2, 0], [0, 1, 1, 0], [1.0, 2.0, 3.0, 4.0]
'''

  def test_host(self):
    self.run_python(self.START + '''
class Face:  # what has nothing but DLPack
  def __init__(self, array):
    self.array = array
  def __dlpack__(self, **options):
    return self.array.__dlpack__(**options)
  def __dlpack_device__(self):
    return self.array.__dlpack_device__()

kinds = [list, numpy.array, lambda a: numpy.array(a)[::1], lambda a: numpy.repeat(a, 2)[::2], lambda a: Face(numpy.array(a))]
for kind in kinds:
  A = matrix()
  rows = kind(i)
  set_values_coo(set_preallocation_coo(A, rows, kind(j)), kind(v))
  dense = values(A)
  assert (dense == [[5, 0, 0], [0, 2, 0], [0, 3, 0]]).all(), dense
  set_values_coo(A, kind(v), True)
  set_values_coo(A, kind(v), PETSc.InsertMode.ADD_VALUES)
  assert values(A)[0, 0] == 15
  set_values_coo(A, kind(v))
  assert values(A)[0, 0] == 5
rows = numpy.array([2, 1, 0, 2], dtype=PETSc.IntType)
set_preallocation_coo(matrix(), rows, numpy.array(rows))
assert list(rows) == [2, 1, 0, 2]
A = PETSc.Mat().create()
A.setSizes(3)
A.setType('aij')
set_values_coo(set_preallocation_coo(A, i, j), v)
assert values(A)[0, 0] == 5
set_values_coo(set_preallocation_coo(matrix(), [], []), [])
''')

  def test_refused(self):
    self.run_python(self.START + '''
refused(ValueError, '3 rows and 2 columns', set_preallocation_coo, matrix(), [0, 1, 2], [0, 1])
refused(ValueError, 'one dimension', set_preallocation_coo, matrix(), [[0, 1]], [[0, 1]])
refused(TypeError, 'do not go into int', set_preallocation_coo, matrix(), [0.5], [0])
refused(ValueError, 'do not fit PetscInt', set_preallocation_coo, matrix(), [2**40], [0])
A = set_preallocation_coo(matrix(), i, j)
refused(ValueError, '3 values for the 4 entries', set_values_coo, A, v[:3])
refused(TypeError, 'do not go into float', set_values_coo, A, [1j] * 4)
refused(PETSc.Error, 'out of range', set_preallocation_coo, matrix(), [5], [0])

class Device:
  def __init__(self, shape, typestr, strides=None):
    self.__cuda_array_interface__ = {'shape': shape, 'typestr': typestr, 'strides': strides, 'data': (4096, False), 'version': 3, 'stream': None}

refused(TypeError, 'of type int32, not int64', set_preallocation_coo, matrix(), Device((4,), '<i8'), Device((4,), '<i8'))
refused(TypeError, 'of type float64, not float32', set_values_coo, A, Device((4,), '<f4'))
refused(ValueError, 'contiguous', set_values_coo, A, Device((4,), '<f8', (16,)))
refused(ValueError, 'one dimension', set_values_coo, A, Device((2, 2), '<f8'))
refused(ValueError, 'both in device memory', set_preallocation_coo, matrix(), Device((4,), '<i4'), j)
''')

  def test_faces_of_device_arrays(self):
    """What is read from them, with host memory in their place."""
    self.run_python(self.START + '''
waited = []
_arrays._wait = waited.append
host = numpy.array(v)

class Capsule:
  def __dlpack__(self, stream=None):
    waited.append(('asked', stream))
    return host.__dlpack__()
  def __dlpack_device__(self):
    return 2, 0

class Strided(Capsule):
  def __dlpack__(self, stream=None):
    return host[::2].__dlpack__()

class Face:
  def __init__(self, **more):
    self.__cuda_array_interface__ = dict({'shape': (4,), 'typestr': '<f8', 'data': (host.ctypes.data, True), 'version': 3}, **more)

got = _arrays._array('values', Capsule(), 'f8')
assert (got.address, got.size, got.device) == (host.ctypes.data, 4, True)
assert waited == [('asked', 1), 1], waited
refused(TypeError, 'not float64', _arrays._array, 'values', Capsule(), 'f4')
refused(ValueError, 'contiguous', _arrays._array, 'values', Strided(), 'f8')
for more, expected in (({}, [1]), ({'stream': None}, []), ({'stream': 2}, [2])):
  del waited[:]
  got = _arrays._array('values', Face(**more), 'f8')
  assert (got.address, got.size, got.device, waited) == (host.ctypes.data, 4, True, expected), waited
''')


class Tutorial(Case):
  PROGRAM = os.path.join(REPO, 'tutorials', 'python', 'poisson.py')

  def run_tutorial(self, *arguments, command=(), block=()):
    code = 'import sys, runpy\nfor name in %r: sys.modules[name] = None\nsys.argv[0] = %r\nrunpy.run_path(sys.argv[0], run_name="__main__")\n' % (list(block), self.PROGRAM)
    out = self.run_python(code, '--grid', '40', *arguments, command=command)
    return {name: (kind, int(number)) for name, kind, number in re.findall(r'^(scipy\.sparse|COO \(\w+\)), (\w+): (\d+) iterations', out, re.M)}, out

  def test_iterations(self):
    for command in ((), ('mpirun', '-n', '3')):
      ours, out = self.run_tutorial(command=command)
      theirs, _ = self.run_tutorial('-mat_type', 'aij', command=command)
      self.assertEqual(len(ours), 2, out)
      self.assertEqual({name: number for name, (_, number) in ours.items()}, {name: number for name, (_, number) in theirs.items()})
      for kind, number in ours.values():
        self.assertEqual(kind, 'mpiaijdcsrcuda' if command else 'seqaijdcsrcuda')
        self.assertTrue(0 < number < 30, number)
      for kind, _ in theirs.values():
        self.assertNotIn('dcsr', kind)

  def test_error_of_the_solution(self):
    _, out = self.run_tutorial()
    errors = [float(error) for error in re.findall(r'error (\S+)', out)]
    self.assertTrue(errors and all(error < 1e-3 for error in errors), out)

  def test_plot(self):
    file = os.path.join(self.work, 'history.png')
    _, out = self.run_tutorial('--plot', file)
    with open(file, 'rb') as f:
      self.assertEqual(f.read(8), b'\x89PNG\r\n\x1a\n', out)

  def test_without_scipy_and_matplotlib(self):
    solved, out = self.run_tutorial(block=('scipy', 'scipy.sparse', 'matplotlib', 'cupy'))
    self.assertIn('SciPy is not installed', out)
    self.assertEqual(list(solved), ['COO (numpy)'])


class TimeStepping(Case):
  PROGRAM = os.path.join(REPO, 'tutorials', 'timestepping', 'heat.py')

  def run_tutorial(self, *arguments, command=()):
    code = 'import sys, runpy\nsys.argv[0] = %r\nrunpy.run_path(sys.argv[0], run_name="__main__")\n' % self.PROGRAM
    out = self.run_python(code, '--grid', '10', '--end', '0.02', *arguments, command=command)
    found = re.search(r'^(\w+), \w+: (\d+) steps, (\d+) rejected, (\d+) iterations, largest temperature (\S+) at time 0.02;', out, re.M)
    self.assertTrue(found, out)
    return found.group(1), [int(number) for number in found.group(2, 3, 4)], float(found.group(5)), out

  def test_types(self):
    for command in ((), ('mpirun', '-n', '3')):
      kind, numbers, temperature, out = self.run_tutorial(command=command)
      other, others, reference, _ = self.run_tutorial('-mat_type', 'aij', command=command)
      self.assertEqual((kind, other), ('mpiaijdcsrcuda', 'mpiaij') if command else ('seqaijdcsrcuda', 'seqaij'))
      self.assertEqual(numbers[:2], others[:2])
      self.assertTrue(abs(numbers[2] - others[2]) <= 0.1 * others[2], out)  # aggregates on a GPU may be others
      self.assertTrue(numbers[0] >= 5 and abs(temperature - reference) < 1e-6 and 0.1 < temperature < 1, out)

  def test_plot(self):
    file = os.path.join(self.work, 'heat.png')
    out = self.run_tutorial('--plot', file)[-1]
    with open(file, 'rb') as f:
      self.assertEqual(f.read(8), b'\x89PNG\r\n\x1a\n', out)


class Elasticity(Case):
  PROGRAM = os.path.join(REPO, 'tutorials', 'elasticity', 'elasticity.py')

  def run_tutorial(self, *arguments, command=()):
    code = 'import sys, runpy\nsys.argv[0] = %r\nrunpy.run_path(sys.argv[0], run_name="__main__")\n' % self.PROGRAM
    out = self.run_python(code, '--elements', '2', '--length', '8', *arguments, command=command)
    kind = re.match(r'(\w+), \w+, 459 unknowns', out)
    steps = re.findall(r'^stiffness .* (\d+) iterations; the end sinks by (\S+) um, by beam theory (\S+) um$', out, re.M)
    self.assertTrue(kind and len(steps) == 3, out)
    return kind.group(1), [int(step[0]) for step in steps], [float(step[1]) for step in steps], [float(step[2]) for step in steps], out

  def test_types(self):
    for command in ((), ('mpirun', '-n', '3')):
      kind, iterations, sinking, theory, out = self.run_tutorial(command=command)
      other, _, reference, _, _ = self.run_tutorial('-mat_type', 'aij', command=command)
      self.assertEqual((kind, other), ('mpiaijdcsrcuda', 'mpiaij') if command else ('seqaijdcsrcuda', 'seqaij'))
      self.assertEqual(sinking, reference)
      self.assertTrue(max(iterations) < 30 and all(0.8 < a / b < 1 for a, b in zip(sinking, theory)), out)

  def test_plot(self):
    file = os.path.join(self.work, 'beam.png')
    out = self.run_tutorial('--plot', file)[-1]
    with open(file, 'rb') as f:
      self.assertEqual(f.read(8), b'\x89PNG\r\n\x1a\n', out)


class Agreement(Case):
  def test_names(self):
    with open(os.path.join(REPO, 'include', 'petscsparsecuda.h')) as f:
      header = dict(re.findall(r'^#define (MAT\w+)\s+"(\w+)"', f.read(), re.M))
    names = [prefix + root for root in ('DCSR', 'HISPARSE') for prefix in ('', 'AIJ', 'SEQAIJ', 'MPIAIJ')]
    out = self.run_python('import json, petscsparsecuda as p\nprint(json.dumps([getattr(p, name) for name in %r]))\n' % names)
    self.assertEqual(json.loads(out), [header['MAT%sCUDA' % name] for name in names])

  def test_version(self):
    with open(os.path.join(REPO, 'conf', 'versions.sh')) as f:
      version = re.search(r'^PETSCSPARSECUDA_VERSION=(\S+)', f.read(), re.M).group(1)
    self.assertEqual(self.run_python('import importlib.metadata, petscsparsecuda as p\nprint(p.__version__, importlib.metadata.version("petscsparsecuda"))\n').split(), [version, version])

  def test_no_network(self):
    """Without a network conf/get-petsc4py says so with status 77, and leaves nothing that is trusted."""
    env = dict(os.environ, XDG_CACHE_HOME=self.work, PIP_NO_INDEX='1')
    done = subprocess.run([os.path.join(REPO, 'conf', 'get-petsc4py')], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, timeout=300)
    self.assertEqual((done.returncode, done.stdout), (77, ''), done.stderr)
    self.assertIn('cannot get the packages for petsc4py', done.stderr)
    self.assertEqual([name for _, _, files in os.walk(self.work) for name in files if name == 'finished'], [])


class Silent(unittest.TextTestResult):
  passed = 0

  def addSuccess(self, test):
    super().addSuccess(test)
    self.passed += 1


suite = unittest.TestLoader()
if len(sys.argv) > 1:
  suite.testNamePatterns = ['*%s*' % sys.argv[1]]
result = unittest.TextTestRunner(stream=open(os.devnull, 'w'), verbosity=0, resultclass=Silent).run(suite.loadTestsFromModule(sys.modules[__name__]))
for test, text in result.failures + result.errors:
  print('not ok %s\n%s' % (test.id(), text))
failed = len(result.failures) + len(result.errors)
print('%d passed, %d failed, %d skipped' % (result.passed, failed, len(result.skipped)))
sys.exit(1 if failed else 0)
