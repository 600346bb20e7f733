"""COO lists from arrays in host or device memory: NumPy, CuPy, or any array with __cuda_array_interface__ or __dlpack__."""
import ctypes

import numpy

from . import _library

DLPACK_HOST, DLPACK_CUDA, DLPACK_CUDA_HOST, DLPACK_CUDA_MANAGED = 1, 2, 3, 13
DLPACK_KINDS = {0: 'i', 1: 'u', 2: 'f', 5: 'c'}
STREAM_LEGACY = 1
COUNT = 'petscsparsecuda_coo_count'  # attribute of a matrix


class _DLTensor(ctypes.Structure):
  _fields_ = [('data', ctypes.c_void_p), ('device_type', ctypes.c_int32), ('device_id', ctypes.c_int32), ('ndim', ctypes.c_int32), ('code', ctypes.c_uint8), ('bits', ctypes.c_uint8),
              ('lanes', ctypes.c_uint16), ('shape', ctypes.POINTER(ctypes.c_int64)), ('strides', ctypes.POINTER(ctypes.c_int64)), ('byte_offset', ctypes.c_uint64)]


class _Array:
  """One-dimensional and contiguous: address, size, whether it is in device memory; keep holds what owns the memory."""

  def __init__(self, address, size, device, keep):
    self.address, self.size, self.device, self.keep = address, size, device, keep


def _functions():
  if not hasattr(_functions, 'of'):
    _functions.of = _library.PETSc().functions
  return _functions.of


def _require(what, shape, strides, dtype, wanted):
  if len(shape) != 1:
    raise ValueError('%s must have one dimension, not %d' % (what, len(shape)))
  if dtype != wanted:
    raise TypeError('%s in device memory must be of type %s, not %s: convert them there' % (what, wanted, dtype))
  if strides is not None and shape[0] > 1 and strides[0] != dtype.itemsize:
    raise ValueError('%s in device memory must be contiguous' % what)


def _wait(stream):
  """Until what that stream has been given is done."""
  import petscsparsecuda
  library = ctypes.CDLL(petscsparsecuda._loaded) if petscsparsecuda._loaded else ctypes.CDLL(None)
  code = library.cudaStreamSynchronize(ctypes.c_void_p(stream))
  if code:
    raise RuntimeError('cudaStreamSynchronize() failed with CUDA error %d' % code)


def _from_cuda_array_interface(what, array, wanted):
  face = array.__cuda_array_interface__
  if face.get('mask') is not None:
    raise TypeError('%s must not have a mask' % what)
  _require(what, face['shape'], face.get('strides'), numpy.dtype(face['typestr']), wanted)
  stream = face.get('stream', STREAM_LEGACY)  # before version 3 nothing is said about streams
  if stream is not None:
    _wait(stream)
  return _Array(face['data'][0], face['shape'][0], True, (array, face))


def _from_dlpack(what, array, wanted):
  capsule = array.__dlpack__(stream=STREAM_LEGACY)
  _wait(STREAM_LEGACY)
  pointer = ctypes.pythonapi.PyCapsule_GetPointer
  pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
  tensor = _DLTensor.from_address(pointer(capsule, b'dltensor'))  # not consumed: the capsule frees it
  dtype = numpy.dtype('%s%d' % (DLPACK_KINDS.get(tensor.code, 'V'), tensor.bits // 8 * tensor.lanes))
  _require(what, tensor.shape[:tensor.ndim], [tensor.strides[0] * dtype.itemsize] if tensor.strides and tensor.ndim == 1 else None, dtype, wanted)
  return _Array((tensor.data or 0) + tensor.byte_offset, tensor.shape[0], True, capsule)


def _array(what, array, wanted, copy=False):
  wanted = numpy.dtype(wanted)
  if hasattr(array, '__cuda_array_interface__'):
    return _from_cuda_array_interface(what, array, wanted)
  if hasattr(array, '__dlpack_device__'):
    device = array.__dlpack_device__()[0]
    if device in (DLPACK_CUDA, DLPACK_CUDA_MANAGED):
      return _from_dlpack(what, array, wanted)
    if device not in (DLPACK_HOST, DLPACK_CUDA_HOST):
      raise TypeError('%s are in memory of DLPack device type %d, which PETSc does not read' % (what, device))
    if not hasattr(array, '__array__') and not hasattr(array, '__array_interface__'):
      array = numpy.from_dlpack(array)
  host = numpy.asarray(array)
  if host.ndim != 1:
    raise ValueError('%s must have one dimension, not %d' % (what, host.ndim))
  if host.size and not numpy.can_cast(host.dtype, wanted, 'same_kind'):
    raise TypeError('%s of type %s do not go into %s' % (what, host.dtype, wanted))
  if host.dtype != wanted and wanted.kind == 'i' and host.size and (host.max() > numpy.iinfo(wanted).max or host.min() < numpy.iinfo(wanted).min):
    raise ValueError('%s do not fit PetscInt, which has %d bits' % (what, 8 * wanted.itemsize))
  host = numpy.array(host, dtype=wanted, order='C', copy=True) if copy else numpy.ascontiguousarray(host, dtype=wanted)
  return _Array(host.ctypes.data, host.size, False, host)


def _call(mat, function, arrays, *arguments):
  code = getattr(_functions(), function)(ctypes.c_void_p(mat.handle), *arguments)
  if code:
    raise _library.petsc_error(_functions(), code)
  if any(array.device for array in arrays):
    from petsc4py import PETSc
    PETSc.DeviceContext.getCurrent().synchronize()  # the arrays may be changed or freed when the caller has them back


def set_preallocation_coo(mat, rows, columns):
  """Mat.setPreallocationCOO() for arrays in host or device memory; returns mat.

  rows and columns are the global indices of all entries, in any order and with repeats. Each is what NumPy takes, or has __cuda_array_interface__ or __dlpack__. Indices in device memory are of
  PETSc.IntType and contiguous; PETSc may change them. Those on the host are copied.
  """
  from petsc4py import PETSc
  i, j = _array('rows', rows, PETSc.IntType, copy=True), _array('columns', columns, PETSc.IntType, copy=True)
  if i.size != j.size:
    raise ValueError('there are %d rows and %d columns: both are one for each entry' % (i.size, j.size))
  if i.device != j.device:
    raise ValueError('rows and columns must both be in host memory, or both in device memory')
  _call(mat, 'MatSetPreallocationCOO', (i, j), ctypes.c_ssize_t(i.size), ctypes.c_void_p(i.address), ctypes.c_void_p(j.address))
  mat.setAttr(COUNT, i.size)
  return mat


def set_values_coo(mat, values, addv=None):
  """Mat.setValuesCOO() for an array in host or device memory, in the order of set_preallocation_coo(); returns mat.

  values is what NumPy takes, or has __cuda_array_interface__ or __dlpack__. Values in device memory are of PETSc.ScalarType and contiguous. Repeated entries are added up; addv=True or ADD_VALUES adds to what the
  matrix holds, too.
  """
  from petsc4py import PETSc
  v = _array('values', values, PETSc.ScalarType)
  count = mat.getAttr(COUNT)
  if count is not None and count != v.size:
    raise ValueError('there are %d values for the %d entries of set_preallocation_coo()' % (v.size, count))
  mode = PETSc.InsertMode.ADD_VALUES if addv is True else PETSc.InsertMode.INSERT_VALUES if addv is None or addv is False else addv
  _call(mat, 'MatSetValuesCOO', (v,), ctypes.c_void_p(v.address), ctypes.c_int(mode))
  return mat
