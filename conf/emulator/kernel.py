#!/usr/bin/env python3
"""Usage: kernel.py NAME PROGRAM OUTPUT

Makes a shared library of a kernel, by its name in PTX, for the stand-in of the CUDA runtime (cudart.c). The PTX comes from the program and the libraries in EMULATOR_LIBRARIES, by cuobjdump (EMULATOR_CUOBJDUMP); what was
found there stays in EMULATOR_CACHE."""
import hashlib
import os
import pickle
import subprocess
import sys

import ptx2c


def kernels_of(path, cache):
  """The kernels of a program or library."""
  status = os.stat(path)
  table = os.path.join(cache, hashlib.sha256(('%s %r %d' % (path, status.st_mtime, status.st_size)).encode()).hexdigest()[:16] + '.kernels')
  if not os.path.exists(table):
    ptx = subprocess.run([os.environ.get('EMULATOR_CUOBJDUMP', 'cuobjdump'), '-ptx', path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout
    with open('%s.%d' % (table, os.getpid()), 'wb') as f:
      pickle.dump(ptx2c.kernels(ptx.decode(errors='replace')), f)
    os.rename(f.name, table)
  with open(table, 'rb') as f:
    return pickle.load(f)


def main():
  name, program, output = sys.argv[1:]
  for path in [program] + os.environ['EMULATOR_LIBRARIES'].split():
    found = kernels_of(path, os.path.dirname(output)).get(name)
    if found is not None:
      break
  else:
    sys.exit('emulator: there is no PTX of %s: build with PTX (CUDA_ARCHS)' % name)
  source = '%s.%d.c' % (output, os.getpid())
  with open(source, 'w') as f:
    f.write(ptx2c.translate(*found))
  here = os.path.dirname(os.path.abspath(__file__))
  subprocess.run(['cc', '-O1', '-ffp-contract=off', '-fno-strict-aliasing', '-fwrapv', '-w', '-fPIC', '-shared', '-I' + here, '-o', source + '.so', source, '-lm'], check=True)
  os.rename(source + '.so', output)
  os.unlink(source)


main()
