#!/usr/bin/env python3
"""Linear elasticity: elasticity.c from Python.

A beam of steel with one end clamped sinks under its weight. Its middle third loses stiffness step by step: the matrix gets new values, as a COO list, and PCGAMG keeps its interpolation. The list is in
CuPy arrays on the GPU when CuPy and a GPU are there, else in NumPy arrays.

  python3 elasticity.py --elements 6 --plot beam.png
  mpirun -n 2 python3 elasticity.py --steps 5

petsc4py and the package in python/ must be installed. Options that are not listed here go to PETSc; -mat_type aij solves with PETSc's own type.
"""
import argparse
import sys
import time

import numpy
import petsc4py
import petscsparsecuda

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('--elements', type=int, default=4, help='across the beam, which is a square (default: 4)')
parser.add_argument('--length', type=int, default=10, help='of the beam, in widths (default: 10)')
parser.add_argument('--steps', type=int, default=3, help='solves, the first with the same stiffness everywhere (default: 3)')
parser.add_argument('--factor', type=float, default=0.5, help='that the stiffness of the middle third is multiplied with from step to step (default: 0.5)')
parser.add_argument('--plot', metavar='FILE', help='plot the displaced beam at each step into FILE (needs matplotlib)')
arguments, petsc_options = parser.parse_known_args()
if arguments.elements < 1 or arguments.length < 3 or arguments.steps < 1 or arguments.factor <= 0:
  parser.error('--elements and --steps must be at least 1, --length 3, --factor positive')

petscsparsecuda.init()
petsc4py.init(sys.argv[:1] + petsc_options)
from petsc4py import PETSc  # noqa: E402, only after petsc4py.init()

WIDTH, YOUNG, POISSON, WEIGHT = 0.1, 210e9, 0.3, 7850 * 9.81  # m, Pa, 1, N/m^3
CORNERS = numpy.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)])  # as DMDA orders them


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


def unit_matrix():
  """Of a cube of unit size and stiffness, with eight Gauss points."""
  lame, mu = POISSON / ((1 + POISSON) * (1 - 2 * POISSON)), 0.5 / (1 + POISSON)
  shape = numpy.where(CORNERS[:, None] == CORNERS, 0.5 + 0.5 / 3**0.5, 0.5 - 0.5 / 3**0.5)  # of point, corner, direction
  g = numpy.stack([(2 * CORNERS[:, d] - 1) * shape[:, :, (d + 1) % 3] * shape[:, :, (d + 2) % 3] for d in range(3)], axis=2)
  matrix = lame * numpy.einsum('pai,pbj->aibj', g, g) + mu * numpy.einsum('paj,pbi->aibj', g, g) + mu * numpy.einsum('pad,pbd,ij->aibj', g, g, numpy.eye(3))
  return matrix.reshape(24, 24) / 8


class Beam:
  """The elements of this process; x is along the beam, z points upwards."""

  def __init__(self, n, length, arrays):
    self.n, self.length, self.h, self.arrays = n, length, WIDTH / n, arrays
    self.dm = PETSc.DMDA().create(sizes=(n * length + 1, n + 1, n + 1), dof=3, stencil_width=1, stencil_type=PETSc.DMDA.StencilType.BOX, comm=PETSc.COMM_WORLD)
    self.dm.setUniformCoordinates(0, WIDTH * length, 0, WIDTH, 0, WIDTH)
    local = self.dm.getElements(PETSc.DMDA.ElementType.Q1)
    x = self.dm.getCoordinatesLocal().getArray(readonly=True).real.reshape(-1, 3)[local[:, 0], 0]
    self.x = numpy.rint(x / self.h).astype(int)  # of elements
    self.nodes = self.dm.getLGMap().getBlockIndices()[local]
    self.clamped = (self.x == 0)[:, None] & (CORNERS[:, 0] == 0)  # of elements, corners
    self.middle = n * length // 3, 2 * n * length // 3
    unit, free = unit_matrix(), numpy.repeat(CORNERS[:, 0], 3)
    at_end = numpy.where(numpy.outer(free, free), unit, numpy.eye(24))  # displacements of the clamped end are zero
    self.unit = arrays.asarray(numpy.stack([unit.ravel(), at_end.ravel()]))

  def new_matrix(self):
    """With its structure: all entries of all elements. What couples clamped nodes to others has a negative column, which is ignored; their own blocks stay, as full ones."""
    size = self.dm.createGlobalVec().getSizes()
    matrix = PETSc.Mat().create(PETSc.COMM_WORLD)
    matrix.setSizes((size, size))
    matrix.setBlockSize(3)  # three unknowns a node
    matrix.setType(petscsparsecuda.DCSR)
    matrix.setFromOptions()
    number = self.arrays.asarray((3 * self.nodes[:, :, None] + numpy.arange(3)).reshape(-1, 24).astype(PETSc.IntType))
    clamped = self.arrays.asarray(self.clamped)
    ignored = (clamped[:, :, None] | clamped[:, None, :]) & ~self.arrays.eye(8, dtype=bool)
    ignored = self.arrays.repeat(self.arrays.repeat(ignored, 3, axis=1), 3, axis=2)
    rows = self.arrays.broadcast_to(number[:, :, None], ignored.shape)
    columns = self.arrays.where(ignored, -1, number[:, None, :]).astype(PETSc.IntType)
    petscsparsecuda.set_preallocation_coo(matrix, rows.ravel(), columns.ravel())
    matrix.setNearNullSpace(PETSc.NullSpace().createRigidBody(self.dm.getCoordinates()))  # so that PCGAMG's coarse levels know rotations
    return matrix

  def set_values(self, matrix, factor):
    """The matrix of each element is a multiple of one of two."""
    in_middle = (self.x >= self.middle[0]) & (self.x < self.middle[1])
    stiffness = self.arrays.asarray(YOUNG * self.h * numpy.where(in_middle, factor, 1))
    values = stiffness[:, None] * self.unit[self.arrays.asarray((self.x == 0).astype(int))]
    petscsparsecuda.set_values_coo(matrix, values.ravel().astype(PETSc.ScalarType))
    matrix.setOption(PETSc.Mat.Option.SPD, True)

  def set_weight(self, f):
    """An eighth of the weight of an element at each of its corners."""
    rows = (3 * self.nodes + 2)[~self.clamped].astype(PETSc.IntType)
    f.setValues(rows, numpy.full(rows.size, -WEIGHT * self.h**3 / 8), addv=PETSc.InsertMode.ADD_VALUES)
    f.assemble()

  def shape(self, u):
    """Displacements of all nodes on the first process, for z, y, x; None on others."""
    natural = self.dm.createNaturalVec()
    self.dm.globalToNatural(u, natural)
    scatter, everything = PETSc.Scatter.toZero(natural)
    scatter.scatter(natural, everything)
    return everything.getArray().real.reshape(self.n + 1, self.n + 1, -1, 3).copy() if PETSc.COMM_WORLD.rank == 0 else None

  def theory(self, factor):
    """How far the end sinks by Euler and Bernoulli: the integral of bending moment times lever over stiffness."""
    to_end = WIDTH * self.length, *(WIDTH * self.length - self.h * x for x in self.middle)
    return WEIGHT * 12 / (8 * YOUNG * WIDTH**2) * (to_end[0]**4 + (1 / factor - 1) * (to_end[1]**4 - to_end[2]**4))


def new_solver(matrix):
  ksp = PETSc.KSP().create(PETSc.COMM_WORLD)
  ksp.setOperators(matrix)
  ksp.setType(PETSc.KSP.Type.CG)
  ksp.setTolerances(rtol=1e-8)
  ksp.setErrorIfNotConverged(True)
  ksp.getPC().setType(PETSc.PC.Type.GAMG)
  options = PETSc.Options()
  if not options.hasName('pc_gamg_reuse_interpolation'):
    options['pc_gamg_reuse_interpolation'] = True
  ksp.setFromOptions()
  return ksp


def plot(beam, shapes, file):
  """The surface, with displacements so much larger that the end of the last one sinks by a fifth of the length."""
  import matplotlib

  matplotlib.use('Agg')
  from matplotlib import pyplot

  z, y, x = numpy.meshgrid(*(beam.h * numpy.arange(k + 1) for k in (beam.n, beam.n, beam.n * beam.length)), indexing='ij')
  length, largest = WIDTH * beam.length, max(numpy.abs(u).max() for _, u in shapes)
  figure, axes = pyplot.subplots(1, len(shapes), figsize=(4.2 * len(shapes), 3.4), subplot_kw={'projection': '3d'}, squeeze=False, layout='constrained')
  colors = matplotlib.cm.ScalarMappable(matplotlib.colors.Normalize(0, 1e6 * largest), 'viridis')
  for axis, (factor, u) in zip(axes[0], shapes):
    points = numpy.stack((x, y, z), axis=3) + length / 5 / largest * u
    size = 1e6 * numpy.linalg.norm(u, axis=3)
    for side in (numpy.s_[0], numpy.s_[-1], numpy.s_[:, 0], numpy.s_[:, -1], numpy.s_[:, :, 0], numpy.s_[:, :, -1]):
      axis.plot_surface(*numpy.moveaxis(points[side], 2, 0), rstride=1, cstride=1, facecolors=colors.to_rgba(size[side][:-1, :-1]), edgecolor='black', linewidth=0.1, shade=False)
    axis.set(xlim=(0, length), ylim=(0, WIDTH), zlim=(-length / 5, WIDTH), title='stiffness of the middle third: %g' % factor)
    axis.set_box_aspect((length, WIDTH, length / 5 + WIDTH), zoom=1.15)
    axis.view_init(elev=20, azim=-60)
    axis.set_axis_off()
  figure.colorbar(colors, ax=axes, label='displacement in um', shrink=0.8)
  figure.savefig(file)


beam = Beam(arguments.elements, arguments.length, array_module())
begin = time.time()
matrix = beam.new_matrix()
PETSc.Sys.Print('%s, %s, %d unknowns: structure %.1f ms' % (matrix.getType(), beam.arrays.__name__, matrix.getSize()[0], 1e3 * (time.time() - begin)))
beam.dm.setVecType(matrix.getVecType())  # on the GPU where the matrix is
u, f = beam.dm.createGlobalVec(), beam.dm.createGlobalVec()
beam.set_weight(f)
ksp, shapes, factor = new_solver(matrix), [], 1
for step in range(arguments.steps):
  times = [time.time()]
  for work in (lambda: beam.set_values(matrix, factor), ksp.setUp, lambda: ksp.solve(f, u)):
    work()
    f.dot(f)  # waits for what the GPU has been given
    times.append(time.time())
  shape, theory = beam.shape(u), beam.theory(factor)
  if PETSc.COMM_WORLD.rank == 0:
    shapes.append((factor, shape))
    sinking = -shape[:, :, -1, 2].mean()
    print('stiffness %g: values %.1f ms, %s %.1f ms, solve %.1f ms, %d iterations; the end sinks by %.2f um, by beam theory %.2f um' %
          (factor, 1e3 * (times[1] - times[0]), 'refresh' if step else 'setup', 1e3 * (times[2] - times[1]), 1e3 * (times[3] - times[2]), ksp.getIterationNumber(), 1e6 * sinking, 1e6 * theory))
  factor *= arguments.factor
if arguments.plot and PETSc.COMM_WORLD.rank == 0:
  plot(beam, shapes, arguments.plot)
  print('displaced beam plotted into', arguments.plot)
