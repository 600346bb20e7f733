#!/usr/bin/env python3
"""What the scripts ask about the machine they run on. `machine.py env` prints the environment for MPI programs as shell text, `machine.py gpu` the GPU's name, `machine.py gpus` how many there are."""
import ctypes
import os
import re
import shutil
import subprocess
import sys

# Many ranks on few cores, in containers too, without a word from Open MPI; other MPIs ignore these.
MPI_ENVIRONMENT = {
  'OMPI_ALLOW_RUN_AS_ROOT': '1',
  'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1',
  'OMPI_MCA_rmaps_base_oversubscribe': '1',
  'OMPI_MCA_hwloc_base_binding_policy': 'none',
  'OMPI_MCA_plm_rsh_agent': '',
  'OMPI_MCA_btl_vader_single_copy_mechanism': 'none',
  'OMPI_MCA_btl_base_warn_component_unused': '0',
  'PRTE_MCA_rmaps_default_mapping_policy': ':oversubscribe',
  'PRTE_MCA_hwloc_default_binding_policy': 'none',
  'OPENBLAS_NUM_THREADS': '1',
}


def environment():
  """The variables to add to the environment of a test, demo or benchmark; what the user has set stays."""
  env = {k: v for k, v in MPI_ENVIRONMENT.items() if k not in os.environ}
  options = os.environ.get('PETSC_OPTIONS', '')
  if '-use_gpu_aware_mpi' not in options:
    env['PETSC_OPTIONS'] = (options + ' -use_gpu_aware_mpi 0').strip()
  return env


def gpu_count():
  """How many GPUs CUDA programs can use; 0 without a driver."""
  if os.environ.get('CUDA_VISIBLE_DEVICES', None) == '':
    return 0
  try:
    cuda = ctypes.CDLL('libcuda.so.1')
  except OSError:
    return 0
  n = ctypes.c_int(0)
  if cuda.cuInit(0) != 0 or cuda.cuDeviceGetCount(ctypes.byref(n)) != 0:
    return 0
  return n.value


def gpu():
  """Name, memory in GiB and driver version of the first GPU, or None."""
  if gpu_count() == 0:
    return None
  smi = shutil.which('nvidia-smi')
  if smi is None:
    return {'name': 'unknown', 'memory': 0.0, 'driver': 'unknown'}
  query = [smi, '--query-gpu=name,memory.total,driver_version', '--format=csv,noheader,nounits']
  fields = [f.strip() for f in subprocess.run(query, capture_output=True, text=True).stdout.splitlines()[0].split(',')]
  return {'name': fields[0], 'memory': float(fields[1]) / 1024, 'driver': fields[2]}


def gpu_slug():
  """The folder name of this GPU's results: "h200" for "NVIDIA H200"; "none" without a GPU."""
  g = gpu()
  if g is None:
    return 'none'
  words = [w for w in re.split(r'[^a-z0-9]+', g['name'].lower()) if w]
  return next((w for w in words if re.search('[a-z]', w) and re.search('[0-9]', w)), '-'.join(words))


def mpiexec():
  """The MPI starter, as a list of words."""
  return os.environ.get('PETSCMPIEXEC', 'mpiexec').split()


if __name__ == '__main__':
  what = sys.argv[1] if len(sys.argv) > 1 else ''
  if what == 'env':
    for key, value in environment().items():
      print("export %s='%s'" % (key, value))
  elif what == 'gpu':
    print(gpu_slug())
  elif what == 'gpus':
    print(gpu_count())
  else:
    sys.exit('usage: machine.py (env|gpu|gpus)')
