#!/usr/bin/env python3
"""What the scripts ask about the machine they run on. `machine.py env` prints the environment for MPI programs as shell text, `machine.py mpiexec` their starter, `machine.py gpu` the GPU's name, `machine.py gpus` how many there are.
`machine.py env FOLDER` prints the environment for the Open MPI that is in FOLDER, whatever the machine is."""
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


def find_own_mpi():
  """The folder of the Open MPI of `make mpi`: that of this bundle, else the one in the cache that PETSC_DIR's PETSc can run with; '' when there is none."""
  conf = os.path.dirname(os.path.abspath(__file__))
  bundled = os.path.join(os.path.dirname(conf), 'mpi')
  if os.path.exists(os.path.join(bundled, 'bin', 'mpiexec')):
    return bundled
  get_mpi = os.path.join(conf, 'get-mpi')
  if not os.path.exists(get_mpi):
    return ''
  return subprocess.run([get_mpi, '--find'], stdout=subprocess.PIPE, text=True).stdout.strip()


def choose_mpi():
  """The folder of the Open MPI to run programs with, '' for the one that is in PATH: ours where it is and programs can use several GPUs, unless PETSCSPARSECUDA_MPI says something else."""
  wanted = os.environ.get('PETSCSPARSECUDA_MPI', '') or 'auto'
  if wanted not in ('auto', 'own', 'system'):
    sys.exit("petscsparsecuda: PETSCSPARSECUDA_MPI is '%s'\n  cure: say auto, own or system" % wanted)
  if wanted == 'system':
    return ''
  # A starter or an installation that the user names is the user's choice.
  active = os.environ.get('OPAL_PREFIX', '')
  if wanted == 'auto' and not active and os.environ.get('PETSCMPIEXEC'):
    return ''
  folder = find_own_mpi()
  if wanted == 'own':
    if not folder:
      sys.exit('petscsparsecuda: PETSCSPARSECUDA_MPI is own, and there is no Open MPI of our own for this PETSc\n  cure: make mpi (and make bundle again, for a bundle)')
    return folder
  if not folder or (active and active != folder):
    return ''
  return folder if active or gpu_count() > 1 else ''


def own_mpi_environment(folder):
  """The variables that make programs run with the Open MPI in a folder: they go together, another Open MPI's starter cannot use this library."""
  env = {'OPAL_PREFIX': folder}
  for name, part in (('PATH', 'bin'), ('LD_LIBRARY_PATH', 'lib')):
    first, old = os.path.join(folder, part), os.environ.get(name, '')
    if old.split(':')[0] != first:
      env[name] = first + (':' + old if old else '')
  if not os.environ.get('PETSCMPIEXEC'):  # PETSc's scripts have the path of the starter that PETSc was configured with
    env['PETSCMPIEXEC'] = os.path.join(folder, 'bin', 'mpiexec')
  # No words about a driver that is not there, nor about host memory that cannot be registered, which costs next to nothing.
  quiet = ['OMPI_MCA_mpi_common_cuda_warning'] + (['OMPI_MCA_opal_warn_on_missing_libcuda'] if gpu_count() == 0 else [])
  env.update({name: '0' for name in quiet if name not in os.environ})
  return env


def environment(mpi=None):
  """The variables to add to the environment of a test, demo or benchmark; what the user has set stays. mpi is the folder of an Open MPI to use in any case."""
  env = {k: v for k, v in MPI_ENVIRONMENT.items() if k not in os.environ}
  mpi = mpi or choose_mpi()
  if mpi:
    env.update(own_mpi_environment(mpi))
  options = os.environ.get('PETSC_OPTIONS', '')
  if '-use_gpu_aware_mpi' not in options:
    env['PETSC_OPTIONS'] = (options + ' -use_gpu_aware_mpi %d' % (1 if mpi else 0)).strip()
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
  """The MPI starter, as a list of words: that of PETSCMPIEXEC, else the one that PETSC_DIR's PETSc was configured with (mpiexec, srun) if it is on this machine, else mpiexec."""
  words = os.environ.get('PETSCMPIEXEC', '').split()
  variables = os.path.join(os.environ.get('PETSC_DIR', ''), os.environ.get('PETSC_ARCH', ''), 'lib', 'petsc', 'conf', 'petscvariables')
  if not words and os.path.exists(variables):
    with open(variables) as f:
      words = next((line.split()[2:] for line in f if line.startswith('MPIEXEC = ')), [])
    words = words if words and shutil.which(words[0]) else []
  return words or ['mpiexec']


if __name__ == '__main__':
  what = sys.argv[1] if len(sys.argv) > 1 else ''
  if what == 'env':
    for key, value in environment(sys.argv[2] if len(sys.argv) > 2 else None).items():
      print("export %s='%s'" % (key, value))
  elif what == 'mpiexec':
    print(' '.join(mpiexec()))
  elif what == 'gpu':
    print(gpu_slug())
  elif what == 'gpus':
    print(gpu_count())
  else:
    sys.exit('usage: machine.py (env [FOLDER]|mpiexec|gpu|gpus)')
