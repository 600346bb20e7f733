#pragma once
/*
  MATDCSRCUDA.
*/
#include "../aijcuda/core/core.h"

/* seqdcsr.c */
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJ_SeqAIJDCSRCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_SeqAIJDCSRCUDA_SeqAIJ(Mat, MatType, MatReuse, Mat *);

/* mpidcsr.c */
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJ_MPIAIJDCSRCUDA(Mat, MatType, MatReuse, Mat *);
PETSC_INTERN PetscErrorCode MatConvert_MPIAIJDCSRCUDA_MPIAIJ(Mat, MatType, MatReuse, Mat *);
