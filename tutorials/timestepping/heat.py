#!/usr/bin/env python3
"""The heat equation with a coefficient that changes, by implicit Euler with steps of adaptive length: heat.c from Python.

u' = div(k grad u) in the unit cube, u = 0 on its boundary. A part of the material that conducts ten times as well goes around the center once in a unit of time. The matrix gets new values in each
step, as a COO list: CuPy arrays on the GPU when CuPy and a GPU are there, else NumPy arrays. PCGAMG keeps its interpolation.

  python3 heat.py --grid 40 --end 0.05 --plot heat.png -ts_monitor
  mpirun -n 2 python3 heat.py

petsc4py and the package in python/ must be installed. Options that are not listed here go to PETSc; -mat_type aij solves with PETSc's own type.
"""
import argparse
import sys
import time

import numpy
import petsc4py
import petscsparsecuda

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('--grid', type=int, default=16, help='inner points in each direction (default: 16)')
parser.add_argument('--end', type=float, default=0.05, help='time at which it ends (default: 0.05)')
parser.add_argument('--plot', metavar='FILE', help='plot the temperature at several times into FILE (needs matplotlib)')
arguments, petsc_options = parser.parse_known_args()
if arguments.grid < 1:
  parser.error('--grid must be positive')

petscsparsecuda.init()
petsc4py.init(sys.argv[:1] + petsc_options)
from petsc4py import PETSc  # noqa: E402, only after petsc4py.init()


def array_module():
  """CuPy when it can be used and the matrices of -mat_type are on the GPU, else NumPy."""
  kind = PETSc.Mat().create(PETSc.COMM_WORLD)
  kind.setType(petscsparsecuda.DCSR)
  kind.setFromOptions()
  if 'cuda' not in kind.getVecType():
    return numpy
  try:
    import cupy

    if cupy.cuda.runtime.getDeviceCount() > 0:
      return cupy
  except Exception:  # no CuPy, no driver, no GPU
    pass
  return numpy


class Heat:
  """The rows of this process; x runs fastest."""

  def __init__(self, n, arrays):
    rank, size, total = PETSc.COMM_WORLD.rank, PETSc.COMM_WORLD.size, n**3
    self.n, self.h, self.arrays = n, 1 / (n + 1), arrays
    self.first = rank * (total // size) + min(rank, total % size)
    self.num_rows = total // size + (rank < total % size)
    self.row = arrays.arange(self.first, self.first + self.num_rows, dtype=PETSc.IntType)
    self.place = [self.row % n, self.row // n % n, self.row // n // n]
    self.x = [self.h * (p + 1) for p in self.place]

  def coefficient(self, x, t):
    center = (0.5 + 0.25 * numpy.cos(2 * numpy.pi * t), 0.5 + 0.25 * numpy.sin(2 * numpy.pi * t), 0.5)
    return 1 + 9 * self.arrays.exp(-sum((a - c)**2 for a, c in zip(x, center)) / 0.02)

  def new_matrix(self):
    """With the structure of all: the point itself, then its neighbors; columns on the boundary are negative, which COO lists ignore."""
    matrix = PETSc.Mat().create(PETSc.COMM_WORLD)
    matrix.setSizes(((self.num_rows, self.n**3), (self.num_rows, self.n**3)))
    matrix.setType(petscsparsecuda.DCSR)
    matrix.setFromOptions()
    columns = [self.row]
    for d, stride in enumerate((1, self.n, self.n**2)):
      columns.append(self.arrays.where(self.place[d] > 0, self.row - stride, -1))
      columns.append(self.arrays.where(self.place[d] < self.n - 1, self.row + stride, -1))
    rows = self.arrays.concatenate([self.row] * 7)
    petscsparsecuda.set_preallocation_coo(matrix, rows, self.arrays.concatenate(columns).astype(PETSc.IntType))
    return matrix

  def set_values(self, matrix, t, shift):
    """shift I - div(k grad) at a time."""
    sides = []
    for d in range(3):
      for step in (-self.h / 2, self.h / 2):
        sides.append(self.coefficient([x + step if e == d else x for e, x in enumerate(self.x)], t) / self.h**2)
    values = [shift + sum(sides)] + [-side for side in sides]
    petscsparsecuda.set_values_coo(matrix, self.arrays.concatenate(values).astype(PETSc.ScalarType))


class Problem:
  """What TS calls; within a step the time is the same."""

  def __init__(self, heat):
    self.heat, self.matrix, self.time = heat, heat.new_matrix(), None

  def function(self, ts, t, u, udot, f):
    if t != self.time:
      self.heat.set_values(self.matrix, t, 0)
      self.time = t
    self.matrix.mult(u, f)
    f.axpy(1, udot)

  def jacobian(self, ts, t, u, udot, shift, J, P):
    self.heat.set_values(P, t, shift)


def new_solver(problem, end):
  ts = PETSc.TS().create(PETSc.COMM_WORLD)
  jacobian = problem.heat.new_matrix()
  ts.setProblemType(PETSc.TS.ProblemType.LINEAR)
  ts.setType(PETSc.TS.Type.BEULER)
  ts.setIFunction(problem.function)
  ts.setIJacobian(problem.jacobian, jacobian)
  ts.setTimeStep(1e-4)
  ts.setMaxTime(end)
  ts.setExactFinalTime(PETSc.TS.ExactFinalTime.MATCHSTEP)
  ts.setTolerances(atol=1e-3, rtol=0)
  options = PETSc.Options()
  if not options.hasName('ts_adapt_type'):
    options['ts_adapt_type'] = 'basic'
  ksp = ts.getSNES().getKSP()
  ksp.setType(PETSc.KSP.Type.CG)
  ksp.setTolerances(rtol=1e-6)
  ksp.getPC().setType(PETSc.PC.Type.GAMG)
  ts.setFromOptions()
  return ts, jacobian


def middle(u, n):
  """The plane z = 1/2 on the first process, None on others."""
  scatter, everything = PETSc.Scatter.toZero(u)
  scatter.scatter(u, everything)
  return everything.getArray().real.reshape(n, n, n)[n // 2].copy() if PETSc.COMM_WORLD.rank == 0 else None


def plot(slices, file):
  import matplotlib

  matplotlib.use('Agg')
  from matplotlib import pyplot

  figure, axes = pyplot.subplots(1, len(slices), figsize=(3.2 * len(slices), 3.4), layout='constrained')
  for axis, (t, values) in zip(numpy.atleast_1d(axes), slices):
    image = axis.imshow(values, origin='lower', extent=(0, 1, 0, 1), vmin=0, cmap='inferno')
    axis.set_title('time %.3f' % t)
    figure.colorbar(image, ax=axis, orientation='horizontal', shrink=0.8)
  figure.savefig(file)


heat = Heat(arguments.grid, array_module())
problem = Problem(heat)
ts, jacobian = new_solver(problem, arguments.end)
u, _ = jacobian.createVecs()
u.set(1)
wanted, slices = [arguments.end * k / 3 * (1 - 1e-9) for k in range(4)], []  # the last step ends at the end but for rounding


def keep(ts, step, t, u):
  if arguments.plot and len(slices) < len(wanted) and t >= wanted[len(slices)]:
    slices.append((t, middle(u, heat.n)))


ts.setMonitor(keep)
begin = time.time()
ts.solve(u)
seconds = time.time() - begin
if ts.getConvergedReason() < 0:
  raise SystemExit('no convergence, reason %d' % ts.getConvergedReason())
steps = ts.getStepNumber() + ts.getStepRejections()
PETSc.Sys.Print('%s, %s: %d steps, %d rejected, %d iterations, largest temperature %.6f at time %g; %.1f steps per second' %
                (jacobian.getType(), heat.arrays.__name__, ts.getStepNumber(), ts.getStepRejections(), ts.getKSPIterations(), u.max()[1], ts.getTime(), steps / seconds))
if arguments.plot and PETSc.COMM_WORLD.rank == 0:
  plot(slices, arguments.plot)
  print('temperature plotted into', arguments.plot)
