#pragma once
/*
  Layer 1: what -mat_dcsr_report prints at the end: copies between host and device by their causes, and what was done where. A header of its own, since no kernel needs it.
*/
#include <petscsys.h>

/* Why something is copied. Callers say it around a copy (PetscCallReported()); those of copies without a cause are small lists and results of kernels. */
typedef enum {
  REPORT_OTHER,
  REPORT_STRUCTURE, /* of a matrix, for host code or from it */
  REPORT_VALUES,    /* of a matrix, the same */
  REPORT_VECTOR,    /* vectors that live on the host */
  REPORT_INSERTION, /* entries that are set: MatSetValues(), lists of coordinates */
  REPORT_OPERAND,   /* other matrices that live on the host: dense ones, MATSEQAIJ */
  REPORT_PC,        /* what PETSc's code for PCGAMG has on the host */
  REPORT_NUM_CAUSES
} PetscSparseCUDACause;

/* A cause, and who asked: the name of a function, borrowed for good, or NULL. */
typedef struct {
  PetscSparseCUDACause cause;
  const char          *who;
} PetscSparseCUDAReportScope;

PETSC_INTERN PetscErrorCode             PetscSparseCUDAReportInitialize(void);
PETSC_INTERN PetscBool                  PetscSparseCUDAReportActive(void);
PETSC_INTERN PetscSparseCUDAReportScope PetscSparseCUDAReportEnter(PetscSparseCUDACause, const char[]);
PETSC_INTERN void                       PetscSparseCUDAReportLeave(PetscSparseCUDAReportScope);
PETSC_INTERN void                       PetscSparseCUDAReportCopy(PetscBool, size_t, PetscLogDouble);
PETSC_INTERN PetscErrorCode             PetscSparseCUDAReportLine(const char[], ...) PETSC_ATTRIBUTE_FORMAT(1, 2);
PETSC_INTERN PetscErrorCode             PetscSparseCUDAReportHostVector(PetscBool *);

/* PetscCallReported - PetscCall() whose copies have a cause, also when it fails; those inside keep their own cause. */
#define PetscCallReported(cause, who, ...) \
  do { \
    const PetscSparseCUDAReportScope outer_         = PetscSparseCUDAReportEnter(cause, who); \
    const PetscErrorCode             ierr_reported_ = __VA_ARGS__; \
\
    PetscSparseCUDAReportLeave(outer_); \
    PetscCall(ierr_reported_); \
  } while (0)
