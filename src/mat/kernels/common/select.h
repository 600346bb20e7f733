#pragma once
/*
  Selections from device arrays, by CUB, which is compiled for them once. All keep the order of what they select.
*/
#include <petscsparsecuda/sys.h>

/*
  DCSRSelectFlagged - the entries of from [n] whose flag [n] is not 0, all on the device. Asynchronous
  In the order of the prototypes: what the workspace is for, for the message of PETSC_ERR_MEM (nothing stays allocated then), n, from, flags, to, which has room for what is selected, and num, how many
  that is, on the device.
*/
PETSC_INTERN PetscErrorCode DCSRSelectFlagged8(const char[], PetscCount, const unsigned char[], const unsigned char[], unsigned char[], PetscCount *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSelectFlagged32(const char[], PetscCount, const int32_t[], const unsigned char[], int32_t[], PetscCount *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSelectFlagged64(const char[], PetscCount, const int64_t[], const unsigned char[], int64_t[], PetscCount *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSelectFlaggedScalars(const char[], PetscCount, const PetscScalar[], const unsigned char[], PetscScalar[], PetscCount *, cudaStream_t);

/*
  DCSRSelectDistinct - the distinct numbers of a sorted list [n]: equal numbers are neighbors; to another array
  All on the device, with room for what is selected, and num, how many that is. Asynchronous. The string says what the workspace is for, in the message of PETSC_ERR_MEM; nothing stays allocated then.
*/
PETSC_INTERN PetscErrorCode DCSRSelectDistinct32(const char[], PetscCount, const int32_t[], int32_t[], PetscCount *, cudaStream_t);

/*
  DCSRSelectLongRows - the rows with more entries than a limit, ascending. Asynchronous
  offsets [num_rows + 1], device. rows, device, has room for what is selected; num, device: how many that is.
  The string says what the workspace is for, in the message of PETSC_ERR_MEM; nothing stays allocated then.
*/
PETSC_INTERN PetscErrorCode DCSRSelectLongRows32(const char[], int32_t, const int32_t[], int32_t, int32_t[], int32_t *, cudaStream_t);
PETSC_INTERN PetscErrorCode DCSRSelectLongRows64(const char[], int32_t, const int64_t[], int32_t, int32_t[], int32_t *, cudaStream_t);

#if defined(__cplusplus)
/* By the width of the offsets. */
template <typename Offset>
inline PetscErrorCode DCSRSelectLongRows(const char what[], int32_t num_rows, const Offset offsets[], int32_t limit, int32_t rows[], int32_t *num, cudaStream_t stream)
{
  static_assert(sizeof(Offset) == sizeof(int32_t) || sizeof(Offset) == sizeof(int64_t), "32 or 64 bits");
  PetscFunctionBegin;
  if constexpr (sizeof(Offset) == sizeof(int32_t)) PetscCall(DCSRSelectLongRows32(what, num_rows, (const int32_t *)offsets, limit, rows, num, stream));
  else PetscCall(DCSRSelectLongRows64(what, num_rows, (const int64_t *)offsets, limit, rows, num, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
