#pragma once
/* What the tests' library has for memory, copies and kernels that are loaded beforehand, and its options. */
#include <petscsparsecuda/report.h>

/* Device memory that the library holds: bytes handed out and not freed, and, unless peak is NULL, the most there were in the pool since the last reset. */
PETSC_EXTERN PetscErrorCode PetscSparseCUDAGetMemoryInUse(size_t *now, size_t *peak);
PETSC_EXTERN PetscErrorCode TestLibMemoryInUse(size_t *now); /* when all work queued so far is done */
PETSC_EXTERN PetscErrorCode PetscSparseCUDATestResetPeak(void);
PETSC_EXTERN PetscErrorCode PetscSparseCUDATestGetMemoryHeld(size_t *held); /* by the pool, handed out or not */

/* The n-th of the next device allocations, counted from 1, fails as if the device were full; 0 lets all succeed. */
PETSC_EXTERN PetscErrorCode PetscSparseCUDATestFailAllocation(PetscInt n);
PETSC_EXTERN PetscErrorCode PetscSparseCUDATestSetMemoryAvailable(size_t bytes); /* that seem to be available; 0: those that are */
PETSC_EXTERN PetscBool      PetscSparseCUDATestFailurePending(void);             /* whether that is still to come */

/* TestLibCallFailing - ierr is what a call gives whose n-th device allocation fails: PETSC_SUCCESS or PETSC_ERR_MEM, of which nothing is printed. */
#define TestLibCallFailing(n, ierr, ...) \
  do { \
    PetscCall(PetscSparseCUDATestFailAllocation(n)); \
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); \
    ierr = __VA_ARGS__; \
    PetscCall(PetscPopErrorHandler()); \
    PetscCall(PetscSparseCUDATestFailAllocation(0)); \
    PetscCheck(ierr == PETSC_SUCCESS || ierr == PETSC_ERR_MEM, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Error %d in place of out of memory, allocation %d", (int)ierr, (int)(n)); \
  } while (0)

/* Waits for the threads that load kernels: kernels of groups whose thread was started, and those of them that cannot be loaded. */
PETSC_EXTERN PetscErrorCode PetscSparseCUDATestPreloadWait(PetscInt *num_loaded, PetscInt *num_failed);

/* What this process has copied for a cause in a direction: copies, and bytes in all. */
PETSC_EXTERN void PetscSparseCUDATestGetReport(PetscSparseCUDACause cause, PetscBool to_host, PetscInt64 *count, PetscLogDouble *bytes);

/*
  Reads the options below. PetscSparseCUDAInitialize() does so, too; tests that do without that call it by themselves.
  -petscsparsecuda_test_available_memory n : n bytes of the device seem to be available
  -mat_dcsr_test_wide_from n               : arrays of more than n entries have 64-bit offsets
  -mat_dcsr_test_max_nonzeros n            : a sequential matrix has at most n nonzeros
*/
PETSC_EXTERN PetscErrorCode TestLibSetFromOptions(void);
