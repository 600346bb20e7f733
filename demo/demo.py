#!/usr/bin/env python3
"""Solves with PETSc's own, unmodified programs on several matrix types and shows one table.

The programs are PETSc's tutorials; our type comes in with -dll_append. Times are PETSc's own, from -log_view: assembly is all that makes the system
matrix, with the computation of its entries (docs/measuring.md, Whole solves), setup is KSPSetUp and PCSetUp, solve is KSPSolve. Types take turns. A run that fails, runs as another type than asked for, or needs other iterations than aij
is shown as such, and the exit status says so."""
import argparse
import csv
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in (os.path.join(HERE, '..', 'conf'), HERE):
  if os.path.exists(os.path.join(folder, 'machine.py')):
    sys.path.insert(0, folder)
import machine

GAMG = '-ksp_type cg -pc_type gamg -mg_levels_ksp_type chebyshev -mg_levels_pc_type jacobi'
# name: program, its options, how it is told the type, how vectors come to the device (where they are not made from the matrix), and the stage that is
# assembly where no event of PETSc's log has the computation of the entries and MatSetValues(), which PETSc does not log
PROGRAMS = {
  'bench_kspsolve': ('ksp-bench_kspsolve', '-n {n} ' + GAMG, '-mat_type {type}', '', 'Step1  - Vecs and Mat'),
  'ex56': ('ksp-ex56', '-ne {ne} -alpha 1e-3 -use_mat_nearnullspace ' + GAMG, '-mat_type {type}', '', 'Main Stage'),
  'ex45': ('ksp-ex45', '-da_grid_x {n} -da_grid_y {n} -da_grid_z {n} ' + GAMG, '-dm_mat_type {type}', '-dm_vec_type cuda', ''),
  'ex19': ('snes-ex19', '-da_grid_x {n} -da_grid_y {n} -snes_converged_reason -ksp_type gmres -pc_type gamg -pc_gamg_agg_nsmooths 0 -mg_levels_ksp_type richardson '
           '-mg_levels_ksp_richardson_scale 0.6 -mg_levels_pc_type jacobi', '-dm_mat_type {type}', '-dm_vec_type cuda', ''),
  'ksp-ex54': ('ksp-ex54', '-ne {n} -alpha 1e-3 ' + GAMG, '-mat_type {type}', '-vec_type cuda', 'Main Stage'),
  'ksp-ex55': ('ksp-ex55', '-ne {n} -alpha 1e-3 -use_coordinates ' + GAMG, '-mat_type {type}', '-vec_type cuda', 'Main Stage'),
  'snes-ex13': ('snes-ex13', '-dm_plex_dim {dim} -dm_plex_simplex 0 -dm_plex_box_faces {faces} -potential_petscspace_degree {degree} ' + GAMG, '-dm_mat_type {type}', '-dm_vec_type cuda', ''),
  'snes-ex56': ('snes-ex56', '-dm_plex_dim 3 -dm_plex_simplex 0 -dm_plex_box_faces {faces} -petscspace_degree 2 -max_conv_its 1 -snes_type ksponly -use_mat_nearnullspace true ' + GAMG,
                '-dm_mat_type {type}', '-dm_vec_type cuda', ''),
  'ts-ex45': ('ts-ex45', '-sol_type quadratic_linear -dm_plex_dim 3 -dm_plex_simplex 0 -dm_plex_box_faces {faces} -temp_petscspace_degree 1 -ts_type beuler -ts_max_steps 2 '
              '-ts_time_step 0.1 ' + GAMG, '-dm_mat_type {type}', '-dm_vec_type cuda', ''),
  'beam': ('tutorials/elasticity/elasticity', '-n {n} ' + GAMG, '-mat_type {type}', '', ''), # ours, for a shape that PETSc's programs do not have
  'heat': ('tutorials/timestepping/heat', '-n {n} -verbose ' + GAMG, '-mat_type {type}', '', ''), # and for many steps, whose mean it prints
}
NO_AGGRESSIVE = '-pc_gamg_aggressive_coarsening 0'
# case of the result records: program, size in words, numbers, further options; by how much memory the machine has
SIZES = {
  'laptop': [('bench_kspsolve-30', 'bench_kspsolve', '30^3', {'n': 30}, ''), ('bench_kspsolve-30-noaggressive', 'bench_kspsolve', '30^3', {'n': 30}, NO_AGGRESSIVE),
             ('ex56-10', 'ex56', '3 x 10^3', {'ne': 9}, ''), ('ex45-30', 'ex45', '30^3', {'n': 30}, ''), ('ex19', 'ex19', '4 x 32^2', {'n': 32}, '')],
  'small': [('bench_kspsolve-100', 'bench_kspsolve', '100^3', {'n': 100}, ''), ('bench_kspsolve-60-noaggressive', 'bench_kspsolve', '60^3', {'n': 60}, NO_AGGRESSIVE),
            ('ex56-20', 'ex56', '3 x 20^3', {'ne': 19}, ''), ('ex45-100', 'ex45', '100^3', {'n': 100}, ''), ('ex19', 'ex19', '4 x 64^2', {'n': 64}, '')],
  'large': [('bench_kspsolve-100', 'bench_kspsolve', '100^3', {'n': 100}, ''), ('bench_kspsolve-200', 'bench_kspsolve', '200^3', {'n': 200}, ''), ('bench_kspsolve-200-noaggressive', 'bench_kspsolve', '200^3', {'n': 200}, NO_AGGRESSIVE),
            ('ex56-40', 'ex56', '3 x 40^3', {'ne': 39}, ''), ('ex45-200', 'ex45', '200^3', {'n': 200}, ''), ('ex19', 'ex19', '4 x 128^2', {'n': 128}, ''),
            ('ksp-ex54-500', 'ksp-ex54', '500^2', {'n': 499}, ''), ('ksp-ex55-300', 'ksp-ex55', '2 x 300^2', {'n': 299}, ''),
            ('snes-ex13-q1-64', 'snes-ex13', 'Q1 on 64^3', {'dim': 3, 'faces': '64,64,64', 'degree': 1}, ''), ('snes-ex13-q2-32', 'snes-ex13', 'Q2 on 32^3', {'dim': 3, 'faces': '32,32,32', 'degree': 2}, ''),
            ('snes-ex13-q3-170', 'snes-ex13', 'Q3 on 170^2', {'dim': 2, 'faces': '170,170', 'degree': 3}, ''), ('snes-ex56-8', 'snes-ex56', '3 x Q2 on 8^3', {'faces': '8,8,8'}, ''),
            ('ts-ex45-32', 'ts-ex45', 'Q1 on 32^3', {'faces': '32,32,32'}, '')],
}
HYPRE = '-pc_type hypre -pc_hypre_type boomeramg -pc_mg_galerkin_mat_product_algorithm hypre'
PMIS = HYPRE + ' -pc_hypre_boomeramg_coarsen_type PMIS -pc_hypre_boomeramg_interp_type ext+i -pc_hypre_boomeramg_relax_type_all l1scaled-Jacobi -pc_hypre_boomeramg_P_max 4'
AMGX = '-pc_type amgx -pc_amgx_amg_method CLASSICAL -pc_amgx_selector PMIS -pc_amgx_smoother JACOBI_L1 -pc_amgx_presweeps 1 -pc_amgx_postsweeps 1'  # its PCG_CLASSICAL_V_JACOBI
# What --rivals compares: name, matrix type, whether all cores of the host do it, and the options after those of the program. Ours come first.
RIVALS = {
  'dcsrcuda': ('dcsrcuda', False, ''),
  'dcsrcuda double': ('dcsrcuda', False, '-pc_gamg_level_values double'),
  'dcsrcuda robust': ('dcsrcuda', False, '-pc_gamg_preset robust'),
  'hisparsecuda single': ('hisparsecuda', False, '-pc_gamg_level_values single'),
  'aijcusparse gamg': ('aijcusparse', False, ''),
  'aijkokkos gamg': ('aijkokkos', False, ''),
  'hypre': ('hypre', False, HYPRE),
  'hypre pmis': ('hypre', False, PMIS),
  'hypre pmis aggressive': ('hypre', False, PMIS + ' -pc_hypre_boomeramg_agg_nl 1'),
  'hypre pmis chebyshev': ('hypre', False, PMIS + ' -pc_hypre_boomeramg_relax_type_all Chebyshev'),
  'hypre elasticity': ('hypre', False, PMIS + ' -pc_hypre_boomeramg_agg_nl 1 -pc_hypre_boomeramg_strong_threshold 0.7'),
  'hypre on aijcusparse': ('aijcusparse', False, PMIS),
  'hypre on dcsrcuda': ('dcsrcuda', False, PMIS),
  'amgx': ('aijcusparse', False, AMGX),
  'amgx aggressive': ('aijcusparse', False, AMGX + ' -pc_amgx_aggressive_levels 1'),
  'amgx aggregation': ('aijcusparse', False, '-pc_type amgx -pc_amgx_amg_method AGGREGATION -pc_amgx_selector SIZE_8 -pc_amgx_smoother BLOCK_JACOBI -pc_amgx_presweeps 0 -pc_amgx_postsweeps 3'),
  'host gamg': ('aij', True, '-device_enable none'),
  'host hypre': ('aij', True, HYPRE + ' -mat_bind_below 1000000000 -vec_bind_below 1000000000'),  # a hypre for GPUs wants one
}
OURS = ('dcsrcuda', 'dcsrcuda double', 'dcsrcuda robust', 'hisparsecuda single')
# To the same residual, which repeat.so computes again with MATAIJ; where that one is LARGER times as large, the run has failed.
SAME_RESIDUAL = '-ksp_rtol %g -ksp_norm_type unpreconditioned'
LARGER        = 1.1
RIVAL_CASES = [('bench_kspsolve-100', 'bench_kspsolve', '100^3', {'n': 100}, ''), ('bench_kspsolve-200', 'bench_kspsolve', '200^3', {'n': 200}, ''), ('bench_kspsolve-320', 'bench_kspsolve', '320^3', {'n': 320}, ''),
               ('ex45-100', 'ex45', '100^3', {'n': 100}, ''), ('ex45-200', 'ex45', '200^3', {'n': 200}, ''), ('ex45-320', 'ex45', '320^3', {'n': 320}, ''),
               ('ex56-40', 'ex56', '3 x 40^3', {'ne': 39}, ''), ('ex56-70', 'ex56', '3 x 70^3', {'ne': 69}, ''), ('ex56-100', 'ex56', '3 x 100^3', {'ne': 99}, ''),
               ('ex56-189', 'ex56', '3 x 189^3', {'ne': 188}, ''),
               ('ksp-ex54-1000', 'ksp-ex54', '1000^2', {'n': 999}, ''), ('ksp-ex55-500', 'ksp-ex55', '2 x 500^2', {'n': 499}, ''), ('ex19', 'ex19', '4 x 256^2', {'n': 256}, ''),
               ('beam-20', 'beam', '3 x 200 x 20^2', {'n': 20}, '-steps 1'), ('beam-20-softer', 'beam', '3 x 200 x 20^2', {'n': 20}, '-steps 3 -factor 0.03 -ksp_rtol 1e-5'), # in double precision residuals end at 4e-7
               ('snes-ex56-8-newton', 'snes-ex56', '3 x Q2 on 8^3', {'faces': '8,8,8'}, '-snes_type newtonls -snes_rtol 1e-12'), # two steps
               ('heat-100', 'heat', '100^3, implicit Euler', {'n': 100}, '-ksp_rtol 1e-6'),
               ('snes-ex13-q1-64', 'snes-ex13', 'Q1 on 64^3', {'dim': 3, 'faces': '64,64,64', 'degree': 1}, ''), ('snes-ex13-q3-340', 'snes-ex13', 'Q3 on 340^2', {'dim': 2, 'faces': '340,340', 'degree': 3}, '')]
# Systems that benchmarks/scaling does not make, for --gpus: structured, with three unknowns a point, and on an unstructured mesh.
SCALING_CASES = [('ex45-200', 'ex45', '200^3', {'n': 200}, ''), ('beam-46', 'beam', '3 x 460 x 46^2', {'n': 46}, '-steps 1'),
                 ('snes-ex13-q1-64', 'snes-ex13', 'Q1 on 64^3', {'dim': 3, 'faces': '64,64,64', 'degree': 1}, '-petscpartitioner_type simple')]
# The default for a GPU by its memory in GiB; aijcusparse needs 123 GB for the largest case.
LARGE_MEMORY = 130
# Runs and setups that take longer, in seconds, are not repeated.
LONGEST_RUN      = 6.0
LONGEST_REPEATED = 3.0
ASSEMBLY = {'DMCreateMat', 'MatSetPreallCOO', 'MatSetValuesCOO', 'MatSetValues', 'MatAssemblyBegin', 'MatAssemblyEnd', 'Set values', 'SNESJacobianEval'}
NOT_ASSEMBLY = {'PCSetUp', 'KSPSetUp', 'KSPSolve', 'PCSetUpOnBlocks'}
# What PCSetUp is made of: outermost events of PETSc's log inside of it, the first pattern that fits.
SPLIT = (('graph', r'PCGAMGCreateG|MatCreateGraph'), ('square, coarsening', r'PCGAMG Squ|MatCoarsen'), ('permutation', r'GAMGDevPermute'), ('independent set', r'GAMGDevIndSet'),
         ('aggregates', r'GAMGDevAggs'), ('tentative prolongator', r'GAMGDevTentative'), ('products', r'Mat(PtAP|MatMult|TrnMatMult|MatTrnMult|MatMatMult|RARt)'),
         ('sums', r'MatAXPY|MatScale'), ('prolongator values', r'GAMG Prol|MatSetValues|MatGetRow|MatAssembly'), ('estimates', r'KSPSolve'))
FAILURES = (('out of memory', 'out of memory'), ('unknown type', 'type not registered'), ('Unable to open dynamic library', 'library not loaded'))


def find_files(arguments):
  """The folder of the programs and the library: from the options, the environment of the makefile, the bundle, or the build tree."""
  build = os.environ.get('PETSCSPARSECUDA_BUILD', '')
  places = [os.path.join(build, 'demo')] if build else []
  places += [os.path.join(HERE, 'programs'), HERE]
  places += [os.path.join(HERE, '..', 'build', d, 'demo') for d in sorted(os.listdir(os.path.join(HERE, '..', 'build')))] if os.path.isdir(os.path.join(HERE, '..', 'build')) else []
  programs = arguments.programs or next((p for p in places if any(os.path.exists(os.path.join(p, program[0])) for program in PROGRAMS.values())), '')
  if not programs:
    sys.exit("petscsparsecuda: the demo programs are not compiled\n  cure: run 'make demo'")
  library = arguments.library or os.environ.get('PETSCSPARSECUDA_LIBRARY') or os.path.join(programs, '..', 'lib', 'libpetscsparsecuda.so')
  if not os.path.exists(library):
    sys.exit("petscsparsecuda: there is no library %s\n  cure: run 'make'" % library)
  return os.path.abspath(programs), os.path.abspath(library)


class PeakMemory(threading.Thread):
  """Looks at the used device memory every 20 ms; peak is the most above what was in use before, in bytes."""

  def __init__(self):
    super().__init__(daemon=True)
    self.peak, self.stopped, self.handle = None, threading.Event(), None
    try:
      import ctypes
      self.ctypes, self.nvml = ctypes, ctypes.CDLL('libnvidia-ml.so.1')
      handle = ctypes.c_void_p()
      if self.nvml.nvmlInit_v2() == 0 and self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle)) == 0:
        self.handle, self.before, self.peak = handle, 0, 0
        self.before = self.used()
    except OSError:
      pass

  def used(self):
    memory = (self.ctypes.c_ulonglong * 3)()
    return memory[2] if self.nvml.nvmlDeviceGetMemoryInfo(self.handle, self.ctypes.byref(memory)) == 0 else 0

  def run(self):
    while self.handle is not None and not self.stopped.wait(0.02):
      self.peak = max(self.peak, self.used() - self.before)

  def stop(self):
    self.stopped.set()
    self.join()
    return self.peak


def flat_time(path, events, stage=''):
  """Seconds in the events, in one stage or summed over all, the slowest rank; the event "summary" is the whole stage."""
  total = {}
  with open(path) as f:
    for row in csv.DictReader(f):
      if row['Event Name'] in events and stage in ('', row['Stage Name']):
        key = row['Stage Name'], row['Event Name']
        total[key] = max(total.get(key, 0.0), float(row['Time']))
  return sum(total.values())


def assembly_time(path):
  """Seconds in the outermost events that fill matrices, outside of the preconditioner's setup and the solve."""
  tree = next(ElementTree.parse(path).getroot().iter('timertree'))
  whole = float(tree.findtext('totaltime'))

  def walk(node):
    seconds = 0.0
    for child in node:
      if child.tag == 'event':
        name = (child.findtext('name') or '').strip()
        if name in NOT_ASSEMBLY:
          continue
        if name in ASSEMBLY:
          value = child.find('time/value')
          value = child.find('time/avgvalue') if value is None else value
          seconds += 0.0 if value is None else float(value.text) * whole / 100
          continue
      seconds += walk(child)
    return seconds

  return walk(tree)


def setup_split(path):
  """Seconds of each part of SPLIT inside PCSetUp, and of what is in none of them."""
  tree = next(ElementTree.parse(path).getroot().iter('timertree'))
  whole = float(tree.findtext('totaltime'))
  parts = {part: 0.0 for part, _ in SPLIT}

  def seconds_of(node):
    value = node.find('time/value')
    value = node.find('time/avgvalue') if value is None else value
    return 0.0 if value is None else float(value.text) * whole / 100

  def walk(node, inside):
    total = 0.0
    for child in node:
      name = (child.findtext('name') or '').strip() if child.tag == 'event' else ''
      part = next((p for p, pattern in SPLIT if re.match(pattern, name)), None) if inside and name else None
      if part:
        parts[part] += seconds_of(child)
      elif name == 'PCSetUp' and not inside:
        total += seconds_of(child)
        walk(child, True)
      else:
        total += walk(child, inside)
    return total

  whole_setup = walk(tree, False)
  parts['other'] = max(0.0, whole_setup - sum(parts.values()))
  return parts


def reason(text, code):
  """One short sentence about a run that failed."""
  for pattern, words in FAILURES:
    if pattern in text:
      return words
  lines = [re.sub(r'^\[\d+\]PETSC ERROR: ', '', line).strip() for line in text.splitlines() if 'PETSC ERROR' in line]
  lines = [line for line in lines if line and not line.startswith('---')]
  return (': '.join(lines[:2]) if lines else 'exit status %d' % code)[:90]


def find_program(programs, program):
  """One of PETSc's programs; a tutorial of ours lies in the build tree or the bundle."""
  places = [os.path.join(programs, folder, program) for folder in ('', '..', os.path.join('..', '..'))]
  return next((place for place in places if os.path.exists(place)), places[0])


def command_of(case, kind, arguments, gpu, programs, library):
  """The command that runs the program of a case with one type, and the stage of its log that is assembly."""
  _, name, _, numbers, further = case
  program, options, type_option, device_vector, stage = PROGRAMS[name]
  mat_type, host, rival = RIVALS[kind] if arguments.rivals else (kind, False, '')
  words = options.format(**numbers) + ' ' + further + ' ' + type_option.format(type=mat_type)
  if gpu and mat_type != 'aij' and device_vector:
    words += ' ' + device_vector.replace('cuda', 'kokkos' if mat_type == 'aijkokkos' else 'cuda')
  if arguments.rivals:
    words += ' ' + SAME_RESIDUAL % rtol(case) + ' ' + rival
  ranks = os.cpu_count() if host else arguments.np
  if host and name == 'ex56': # wants a cube of ranks
    ranks = max(n for n in range(1, ranks + 1) if n**3 <= ranks)**3
  command = machine.mpiexec() + ['-n', str(ranks), find_program(programs, program)] + words.split()
  if mat_type in ('dcsrcuda', 'hisparsecuda', 'autocuda'):
    command += ['-dll_append', library]
  return command, stage


def repeated_setup(case, kind, arguments, gpu, programs, library):
  """Seconds of a setup that is done again in the same process, of one for new values, and of a solve (tests/tools/repeat.c), the medians of several, and the residual; nothing when the run fails."""
  command, _ = command_of(case, kind, arguments, gpu, programs, library)
  environment = dict(os.environ, LD_PRELOAD=arguments.repeat_library, REPEAT_SETUP=str(arguments.repeated), REPEAT_REFRESH=str(arguments.repeated),
                     REPEAT_SOLVE=str(arguments.repeated if arguments.rivals else 0))
  try:
    process = subprocess.run(command + arguments.options.split(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', env=environment,
                             timeout=arguments.timeout)
  except subprocess.TimeoutExpired:
    return {}
  found = {name: [float(value) for value in re.findall(r'repeat: .*\b%s (\S+)' % name, process.stdout)] for name in ('repeated', 'refresh', 'solve', 'residual')}
  return {name: max(values) for name, values in found.items() if values} if process.returncode == 0 else {} # of several ranks the slowest


def rtol(case):
  """The relative residual that --rivals solve to: 1e-8, or what the case says."""
  words = case[4].split()
  return float(words[words.index('-ksp_rtol') + 1]) if '-ksp_rtol' in words else 1e-8


def solve(case, kind, arguments, gpu, programs, library):
  """Runs one program with one type; a dictionary with the metrics, or with 'failed'."""
  with tempfile.TemporaryDirectory() as folder:
    flat, nested, view = (os.path.join(folder, f) for f in ('flat.csv', 'nested.xml', 'view.txt'))
    command, stage = command_of(case, kind, arguments, gpu, programs, library)
    command += ['-ksp_converged_reason', '-memory_view', '-ksp_view', ':' + view, '-log_view', ':%s:ascii_csv' % flat + ('' if arguments.gpus else ',:%s:ascii_xml' % nested)] + arguments.options.split()
    if arguments.verbose:
      print('  ' + ' '.join(command), flush=True)
    memory = PeakMemory()
    memory.start()
    start = time.time()
    process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors='replace', start_new_session=True)
    try:
      text, _ = process.communicate(timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
      os.killpg(process.pid, 9)
      process.communicate()
      return {'failed': 'no end after %d s' % arguments.timeout, 'wall': time.time() - start}
    finally:
      peak = memory.stop()
    result = {'wall': time.time() - start}
    if process.returncode != 0 or 'PETSC ERROR' in text:
      if arguments.verbose:
        print(text)
      return dict(result, failed=reason(text, process.returncode))
    converged = [int(n) for n in re.findall(r'Linear solve converged due to \S+ iterations (\d+)', text)]
    if not converged or 'did not converge' in text:
      return dict(result, failed='did not converge')
    with open(view) as f:
      types = re.findall(r'type: ((?:seq|mpi)aij\w*)', f.read())
    mat_type = RIVALS[kind][0] if arguments.rivals else kind
    wanted = mat_type if mat_type.startswith('aij') else 'aij' + mat_type
    if mat_type != 'hypre' and wanted not in (t[3:] for t in types):
      return dict(result, failed='ran as %s, not as %s' % (types[-1] if types else 'another type', kind))
    steps = re.search(r'(\S+) steps per second', text)
    if steps: # the program's own
      result['step'] = 1 / float(steps.group(1))
    host = re.search(r'process memory:\s+total (\S+)', text)
    result.update(iterations=sum(converged), solves=len(converged), assembly=None if arguments.gpus else flat_time(flat, {'summary'}, stage) if stage else assembly_time(nested),
                  setup=flat_time(flat, {'KSPSetUp', 'PCSetUp'}), solve=flat_time(flat, {'KSPSolve'}),
                  peak_memory=peak if gpu and peak is not None else float(host.group(1)) if host else None)
    if arguments.gpus: # the nested log fails with a GPU-aware Open MPI 4.1 (PETSc 3.26, PetscPrintXMLGlobalPerformanceElement()): MPI_ERR_BUFFER
      return dict(result, split={}, total=result['setup'] + result['solve'])
    result['split'] = setup_split(nested)
    result['total'] = result['assembly'] + result['setup'] + result['solve']
    return result


def middle(results):
  """The medians of several runs, of each time by itself; what is no time is that of the run with the median solve. A failed one if any failed."""
  failed = [r for r in results if 'failed' in r]
  if failed:
    return failed[0]
  run = sorted(results, key=lambda r: r['solve'])[len(results) // 2]
  times = {key: sorted(r[key] for r in results)[len(results) // 2] for key in ('assembly', 'setup', 'solve', 'total') if run[key] is not None}
  split = {part: sorted(r['split'][part] for r in results)[len(results) // 2] for part in run['split']}
  return dict(run, split=split, **times)


def seconds(t):
  return '%.1f' % t if t >= 100 else '%.3g' % t if t >= 0.001 else '%.1e' % t


def table(rows):
  """Prints rows of strings in columns: texts to the left, numbers to the right."""
  widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
  for number, row in enumerate(rows):
    if number == 1:
      print('-' * (sum(widths) + 2 * len(widths) - 2))
    print('  '.join(text.ljust(w) if k < 4 or k == len(row) - 1 else text.rjust(w) for k, (text, w) in enumerate(zip(row, widths))).rstrip())


def facts():
  """What the records say about the build: build-info.json of the bundle, or git and the build tree."""
  for folder in (HERE, os.path.join(HERE, '..'), os.environ.get('PETSCSPARSECUDA_BUILD', '')):
    path = os.path.join(folder, 'build-info.json')
    if os.path.exists(path):
      with open(path) as f:
        return json.load(f)
  return {}


def record_head(gpu):
  """A record that says where and with what it was measured, and nothing else yet."""
  info = facts()
  head = {key: None for key in ('benchmark', 'case', 'metric', 'unit', 'ours', 'best', 'competitor', 'floor')}
  head.update(gpu=gpu['name'] if gpu else 'none', driver=gpu['driver'] if gpu else 'none', cuda=info.get('cuda', 'unknown'), petsc=info.get('petsc', 'unknown'),
              commit=info.get('commit', 'unknown'), date=datetime.date.today().isoformat())
  return head


def write_records(path, results, gpu):
  head = record_head(gpu)
  with open(path, 'w') as f:
    for case in results:
      runs = results[case]
      ours = runs.get('dcsrcuda')
      if ours is None or 'failed' in ours:
        continue
      others = {k: r for k, r in runs.items() if k != 'dcsrcuda' and 'failed' not in r}
      # The competitor is the in-tree type for the same hardware: on a GPU the host type is no competitor in time or memory.
      competitor = next((k for k in ('aijcusparse', 'aij') if k in others), None)
      # and dcsrcuda is the one that hisparsecuda has to beat.
      pairs = [('solve', ours, competitor, others.get(competitor))]
      if 'hisparsecuda' in others:
        pairs.append(('hisparse-solve', others['hisparsecuda'], 'dcsrcuda', ours))
      # autocuda is to be as good as the better of the two.
      if 'autocuda' in others and 'hisparsecuda' in others:
        better = min(('dcsrcuda', 'hisparsecuda'), key=lambda k: runs[k]['solve'])
        pairs.append(('auto-solve', others['autocuda'], better, runs[better]))
      for benchmark, run, name, other in pairs:
        for metric, unit in (('assembly', 's'), ('setup', 's'), ('solve', 's'), ('iterations', '1'), ('peak_memory', 'GB')):
          scale = 1e-9 if metric == 'peak_memory' else 1
          value, best = run[metric], other[metric] if other else None
          if value is None:
            continue
          f.write(json.dumps(dict(head, benchmark=benchmark, case=case, metric=metric, unit=unit, ours=value * scale, best=None if best is None else best * scale, competitor=name)) + '\n')
      for part, value in ours['split'].items():
        best = others[competitor]['split'][part] if competitor else None
        f.write(json.dumps(dict(head, benchmark='setup', case=case, metric=re.sub(r'\W+', '-', part), unit='s', ours=value, best=best, competitor=competitor)) + '\n')
      for key in ('repeated', 'refresh'):
        if ours.get(key) is None:
          continue
        best = others[competitor].get(key) if competitor else None
        f.write(json.dumps(dict(head, benchmark='setup', case=case, metric='setup-' + key, unit='s', ours=ours[key], best=best, competitor=competitor if best is not None else None)) + '\n')


def write_scaling_records(path, results, gpu, num_gpus):
  """Ours on so many GPUs, a process each; memory is that of the first GPU."""
  head = dict(record_head(gpu), benchmark='scaling', gpus=num_gpus)
  with open(path, 'w') as f:
    for case, run in ((case, runs['dcsrcuda']) for case, runs in results.items() if 'failed' not in runs['dcsrcuda']):
      times = {'setup-first': run['setup'], 'setup': run.get('repeated'), 'refresh': run.get('refresh'), 'solve': run['solve'], 'iterations': run['iterations'],
               'peak_memory': run['peak_memory'] * 1e-9 if run['peak_memory'] is not None else None}
      for metric, value in times.items():
        if value is not None:
          f.write(json.dumps(dict(head, case=case, metric=metric, unit={'iterations': '1', 'peak_memory': 'GB'}.get(metric, 's'), ours=value)) + '\n')


def rival_times(run):
  """The metrics of a configuration: whole is a first solve with all before it, step the next one with new values and the same pattern."""
  times = {key: run[key] for key in ('assembly', 'setup', 'solve', 'iterations')}
  times.update(whole=run['total'], refresh=run.get('refresh'), step=run.get('step'), peak_memory=run['peak_memory'] * 1e-9 if run['peak_memory'] is not None else None)
  return times


def write_rival_records(path, results, gpu):
  """Each of our configurations beside the rival that is fastest: by step for what belongs to a step, else by whole."""
  head = dict(record_head(gpu), benchmark='rivals')
  with open(path, 'w') as f:
    for case, runs in results.items():
      times = {name: rival_times(run) for name, run in runs.items() if 'failed' not in run}
      rivals = [name for name in times if name not in OURS]
      for name in (name for name in times if name in OURS):
        for metric, value in times[name].items():
          key = 'step' if metric in ('step', 'refresh') else 'whole'
          able = [r for r in rivals if times[r][key] is not None]
          best = min(able, key=lambda r: times[r][key]) if able else None
          if value is not None:
            unit = {'iterations': '1', 'peak_memory': 'GB'}.get(metric, 's')
            f.write(json.dumps(dict(head, case='%s@%s' % (case, name.replace(' ', '-')), metric=metric, unit=unit, ours=value, best=times[best][metric] if best else None, competitor=best)) + '\n')


def rivals_table(results, cases, types):
  """Prints all configurations of each case; the ratios are of the best rival's time to that of the row."""
  rows = [['program', 'size', 'configuration', '', 'its', 'assembly s', 'setup s', 'solve s', 'whole s', 'refresh s', 'step s', 'memory GB', 'residual', 'whole ratio', 'step ratio', '']]
  for name, program, words, _, _ in cases:
    times = {kind: rival_times(run) for kind, run in results[name].items() if 'failed' not in run}
    best = {key: min((times[k][key] for k in times if k not in OURS and times[k][key] is not None), default=None) for key in ('whole', 'step')}
    for kind in types:
      run = results[name][kind]
      if 'failed' in run:
        rows.append([program, words, kind, ''] + ['-'] * 11 + ['failed: ' + run['failed']])
        continue
      t = times[kind]
      row = [program, words, kind, '', str(run['iterations'])] + ['-' if t[key] is None else seconds(t[key]) for key in ('assembly', 'setup', 'solve', 'whole', 'refresh', 'step')]
      row += ['-' if t['peak_memory'] is None else '%.2f' % t['peak_memory'], '%.1e' % run['residual'] if 'residual' in run else '-']
      row += ['%.2f' % (best[key] / t[key]) if kind in OURS and best[key] is not None and t[key] else '' for key in ('whole', 'step')]
      rows.append(row + [''])
  print()
  table(rows)
  print('\nwhole = assembly + setup + solve; step = refresh + solve with new values; ratio: the time of the best rival over that of the row; residual: of the last solve, by MATAIJ.')


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--size', choices=sorted(SIZES), help='default: what the machine can do')
  parser.add_argument('--types', default='', help='comma-separated matrix types; default: aij, aijcusparse when there is a GPU, dcsrcuda')
  parser.add_argument('--rivals', action='store_true', help='configurations of PCGAMG, hypre and the host in place of types (--types names them), to the same residual, on larger cases; with --size on those of that size')
  parser.add_argument('--cases', default='', help='comma-separated parts of case names; default: all')
  parser.add_argument('--timeout', type=int, default=600, help='seconds a run may take (%(default)s)')
  parser.add_argument('--repeat', type=int, default=3, help='runs of each, types taking turns; medians count, and what takes longer than 6 s runs once (%(default)s)')
  parser.add_argument('--repeated', type=int, help='also measure setups that are done so many times more in one process, and as many for new values (5 with --rivals, else 0: none)')
  parser.add_argument('--np', type=int, default=1, help='MPI ranks (%(default)s)')
  parser.add_argument('--gpus', type=int, help='our type alone on so many GPUs, a process each, on cases of its own: records of the benchmark scaling')
  parser.add_argument('--options', default='', help='PETSc options added to every run')
  parser.add_argument('--programs', default='', help='folder of the compiled tutorials')
  parser.add_argument('--library', default='', help='libpetscsparsecuda.so')
  parser.add_argument('-o', dest='output', help='also write result records to this file, one JSON object a line')
  parser.add_argument('-v', dest='verbose', action='store_true', help='show the command lines, and all output of a run that fails')
  parser.add_argument('--list', action='store_true', help='name the cases and stop')
  parser.add_argument('--list-programs', action='store_true', help='name the programs that they run and stop')
  arguments = parser.parse_args()

  os.environ.update(machine.environment())
  gpu = machine.gpu()
  size = arguments.size or ('laptop' if gpu is None else 'large' if gpu['memory'] >= LARGE_MEMORY else 'small')
  if arguments.gpus:
    arguments.np, arguments.types = arguments.gpus, 'dcsrcuda'
  if arguments.repeated is None:
    arguments.repeated = 5 if arguments.rivals or arguments.gpus else 0
  types = arguments.types.split(',') if arguments.types else list(RIVALS) if arguments.rivals else ['aij'] + (['aijcusparse'] if gpu else []) + ['dcsrcuda']
  unknown = [kind for kind in types if arguments.rivals and kind not in RIVALS]
  if unknown:
    sys.exit("petscsparsecuda: '%s' is no configuration\n  cure: one of %s" % (unknown[0], ', '.join(RIVALS)))
  cases = [c for c in (SCALING_CASES if arguments.gpus else RIVAL_CASES if arguments.rivals and gpu and not arguments.size else SIZES[size]) if not arguments.cases or any(part in c[0] for part in arguments.cases.split(','))]
  if arguments.list:
    for c in cases:
      print(c[0])
    return 0
  if arguments.list_programs:
    print(' '.join(sorted({PROGRAMS[c[1]][0] for c in cases if not PROGRAMS[c[1]][0].startswith('tutorials/')})))
    return 0
  if not cases:
    sys.exit("petscsparsecuda: no case matches '%s'\n  cure: --list names them" % arguments.cases)
  programs, library = find_files(arguments)
  places = [os.path.join(os.path.dirname(os.path.abspath(programs)), '..', 'tests', 'tools', 'repeat.so'), os.path.join(programs, '..', 'tests', 'tools', 'repeat.so')]
  arguments.repeat_library = next((os.path.abspath(p) for p in places if os.path.exists(p)), '')
  if arguments.repeated and not arguments.repeat_library:
    sys.exit("petscsparsecuda: there is no repeat.so\n  cure: make test-programs")
  if shutil.which(machine.mpiexec()[0]) is None:
    sys.exit('petscsparsecuda: there is no %s on this machine\n  cure: install openmpi-bin, or name the MPI starter in PETSCMPIEXEC' % machine.mpiexec()[0])

  print('PETSc\'s own programs with %s on %s' % (', '.join(types), '%s (driver %s)' % (gpu['name'], gpu['driver']) if gpu else 'the host: no GPU here, dcsrcuda runs its host path'), flush=True)
  results = {}
  for case in cases:
    runs = {kind: [] for kind in types}
    for turn in range(arguments.repeat):
      for kind in types:
        if turn == 0 or ('failed' not in runs[kind][0] and runs[kind][0]['wall'] < LONGEST_RUN):
          runs[kind].append(solve(case, kind, arguments, gpu, programs, library))
    for kind in types:
      run = middle(runs[kind])
      if arguments.repeated and 'failed' not in run and 'step' not in run and run['setup'] < LONGEST_REPEATED:
        again = repeated_setup(case, kind, arguments, gpu, programs, library)
        run.update(repeated=again.get('repeated'), refresh=again.get('refresh'))
        if 'solve' in again:
          run.update(step=again['refresh'] + again['solve'], residual=again['residual'])
          if not again['residual'] <= LARGER * rtol(case):
            run['failed'] = 'residual %.1e' % again['residual']
      results.setdefault(case[0], {})[kind] = run
      outcome = 'failed: ' + run['failed'] if 'failed' in run else '%d iterations, assembly %s, setup %s, solve %s s' % (run['iterations'], *('-' if run[k] is None else seconds(run[k]) for k in ('assembly', 'setup', 'solve')))
      print('  %s %s: %s' % (case[0], kind, outcome), flush=True)
    if arguments.output and arguments.gpus:
      write_scaling_records(arguments.output, results, gpu, arguments.gpus)
    elif arguments.output: # after each case: a run that is cut off has those before
      (write_rival_records if arguments.rivals else write_records)(arguments.output, results, gpu)
  if arguments.gpus:
    return 1 if any('failed' in results[case[0]]['dcsrcuda'] for case in cases) else 0
  if arguments.rivals:
    rivals_table(results, cases, types)
    return 1 if any('failed' in results[case[0]].get('dcsrcuda', {}) for case in cases) else 0

  bad = 0
  rows = [['program', 'size', 'options', 'type', 'its', 'assembly s', 'setup s', 'solve s', 'memory GB', 'solve ratio', 'total ratio', '']]
  for name, program, words, _, further in cases:
    runs = results[name]
    reference = next((k for k in ('aijcusparse', 'aij') if k in runs and 'failed' not in runs[k]), None)
    for kind in types:
      run, note = runs[kind], ''
      label = [program, words, 'no aggressive coarsening' if further == NO_AGGRESSIVE else further or 'default', kind]
      if 'failed' in run:
        bad += kind == 'dcsrcuda'
        rows.append(label + ['-'] * 7 + ['failed: ' + run['failed']])
        continue
      if 'aij' in runs and 'failed' not in runs['aij'] and abs(run['iterations'] - runs['aij']['iterations']) > runs['aij']['solves']:
        bad += kind == 'dcsrcuda'
        note = 'other iterations than aij'
      ratios = ['', '']
      if reference and kind != reference:
        ratios = ['%.2f' % (runs[reference][k] / run[k]) if run[k] > 0 else '-' for k in ('solve', 'total')]
        if kind == 'dcsrcuda' and runs[reference]['total'] < 0.97 * run['total']:
          note = (note + ', ' if note else '') + 'slower in total'
      memory = '-' if run['peak_memory'] is None else '%.2f' % (run['peak_memory'] / 1e9)
      rows.append(label + [str(run['iterations'])] + [seconds(run[k]) for k in ('assembly', 'setup', 'solve')] + [memory] + ratios + [note])
  print()
  table(rows)
  print('\nratio: the time of %s over that of the row, above 1 is faster; total = assembly + setup + solve; memory: peak %s.' %
        ('aijcusparse' if gpu else 'aij', 'on the device' if gpu else 'of the process'))
  split = [['PCSetUp, seconds', 'size', 'options', 'type'] + [part for part, _ in SPLIT] + ['other', 'repeated', 'refresh', '']]
  for name, program, words, _, further in cases:
    for kind in types:
      if 'split' in results[name][kind]:
        split.append([program, words, 'no aggressive coarsening' if further else 'default', kind] + [seconds(s) for s in results[name][kind]['split'].values()] +
                     ['-' if results[name][kind].get(key) is None else seconds(results[name][kind][key]) for key in ('repeated', 'refresh')] + [''])
  print()
  table(split)
  return 1 if bad else 0


if __name__ == '__main__':
  sys.exit(main())
