#!/usr/bin/env python3
"""Poisson's equation on the unit square with dcsrcuda and PCGAMG from Python.

The matrix of the five-point stencil is made in two ways: from a scipy.sparse matrix, and from lists of rows, columns and values (COO). The lists are CuPy arrays on the GPU when CuPy and a GPU
are there, else NumPy arrays. Without SciPy the first way is left out.

  python3 poisson.py --grid 200 --plot history.png -ksp_monitor
  mpirun -n 2 python3 poisson.py

petsc4py and the package in python/ must be installed; PETSCSPARSECUDA_LIBRARY names the library when the package does not find it. Options that are not listed here go to PETSc; -mat_type aij solves with PETSc's own type.
"""
import argparse
import sys

import numpy
import petsc4py
import petscsparsecuda

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('--grid', type=int, default=64, help='points in each direction (default: 64)')
parser.add_argument('--plot', metavar='FILE', help='plot the residuals into FILE (needs matplotlib)')
arguments, petsc_options = parser.parse_known_args()
if arguments.grid < 1:
  parser.error('--grid must be positive')

petscsparsecuda.init()
petsc4py.init(sys.argv[:1] + petsc_options)
from petsc4py import PETSc  # noqa: E402, only after petsc4py.init()


def local_rows(n):
  """The rows of this process, as [first, last)."""
  rank, size = PETSc.COMM_WORLD.rank, PETSc.COMM_WORLD.size
  first = rank * (n // size) + min(rank, n % size)
  return first, first + n // size + (rank < n % size)


def new_matrix(n):
  first, last = local_rows(n)
  matrix = PETSc.Mat().create(PETSc.COMM_WORLD)
  matrix.setSizes(((last - first, n), (last - first, n)))
  matrix.setType(petscsparsecuda.DCSR)
  matrix.setFromOptions()
  return matrix


def from_scipy(grid):
  """Every process makes the whole matrix and hands its rows to PETSc."""
  import scipy.sparse

  line = scipy.sparse.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(grid, grid))
  unit = scipy.sparse.identity(grid)
  first, last = local_rows(grid * grid)
  rows = (scipy.sparse.kron(unit, line) + scipy.sparse.kron(line, unit)).tocsr()[first:last]
  rows.sort_indices()
  matrix = new_matrix(grid * grid)
  matrix.setPreallocationCSR((rows.indptr.astype(PETSc.IntType), rows.indices.astype(PETSc.IntType), rows.data.astype(PETSc.ScalarType)))
  matrix.assemble()
  return matrix


def array_module():
  """CuPy when it can be used, else NumPy."""
  try:
    import cupy

    if cupy.cuda.runtime.getDeviceCount() > 0:
      return cupy
  except Exception:  # no CuPy, no driver, no GPU
    pass
  return numpy


def from_coo(grid, arrays):
  """Every process lists the entries of its rows, on the GPU when arrays is CuPy."""
  first, last = local_rows(grid * grid)
  row = arrays.arange(first, last, dtype=PETSc.IntType)
  x, y = row % grid, row // grid
  rows, columns, values = [row], [row], [arrays.full(row.size, 4, dtype=PETSc.ScalarType)]
  for inside, neighbor in ((x > 0, row - 1), (x < grid - 1, row + 1), (y > 0, row - grid), (y < grid - 1, row + grid)):
    rows.append(row[inside])
    columns.append(neighbor[inside])
    values.append(arrays.full(rows[-1].size, -1, dtype=PETSc.ScalarType))
  matrix = new_matrix(grid * grid)
  petscsparsecuda.set_preallocation_coo(matrix, arrays.concatenate(rows), arrays.concatenate(columns))
  petscsparsecuda.set_values_coo(matrix, arrays.concatenate(values))
  return matrix


def solve(name, matrix, grid):
  """Solves for u = sin(pi x) sin(pi y), and returns the norms of the residuals."""
  h = 1 / (grid + 1)
  first, last = local_rows(grid * grid)
  row = numpy.arange(first, last)
  exact = numpy.sin(numpy.pi * h * (row % grid + 1)) * numpy.sin(numpy.pi * h * (row // grid + 1))
  u, b = matrix.createVecs()
  b.setArray(2 * numpy.pi**2 * h**2 * exact)

  ksp = PETSc.KSP().create(PETSc.COMM_WORLD)
  ksp.setOperators(matrix)
  ksp.setType(PETSc.KSP.Type.CG)
  ksp.getPC().setType(PETSc.PC.Type.GAMG)
  ksp.setTolerances(rtol=1e-8)
  ksp.setConvergenceHistory()
  ksp.setFromOptions()
  ksp.solve(b, u)
  if ksp.getConvergedReason() < 0:
    raise SystemExit('%s: no convergence, reason %d' % (name, ksp.getConvergedReason()))

  difference = u.copy()
  difference.setArray(u.getArray(readonly=True) - exact)
  history = ksp.getConvergenceHistory()
  PETSc.Sys.Print('%s, %s: %d iterations, residual %.1e of the first, error %.1e' % (name, matrix.getType(), ksp.getIterationNumber(), history[-1] / history[0], difference.norm(PETSc.NormType.INFINITY)))
  return history


def plot(histories, file):
  import matplotlib

  matplotlib.use('Agg')
  from matplotlib import pyplot

  figure, axes = pyplot.subplots()
  for name, history in histories.items():
    axes.semilogy(history, marker='o', label=name)
  axes.set_xlabel('iteration')
  axes.set_ylabel('norm of the residual')
  axes.legend()
  figure.savefig(file)


arrays = array_module()
makers = {'scipy.sparse': lambda: from_scipy(arguments.grid), 'COO (%s)' % arrays.__name__: lambda: from_coo(arguments.grid, arrays)}
try:
  import scipy.sparse  # noqa: F401
except ImportError:
  PETSc.Sys.Print('SciPy is not installed')
  del makers['scipy.sparse']
matrices = {name: make() for name, make in makers.items()}
if len(matrices) == 2 and not matrices['scipy.sparse'].equal(list(matrices.values())[1]):
  raise SystemExit('the matrices differ')
histories = {name: solve(name, matrix, arguments.grid) for name, matrix in matrices.items()}
if arguments.plot and PETSc.COMM_WORLD.rank == 0:
  plot(histories, arguments.plot)
  print('residuals plotted into', arguments.plot)
