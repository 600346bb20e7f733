#pragma once
/*
  What the tests of the type share: random matrices entered alike into any type, and comparisons that end the test with a message.
*/
#include "../../../lib/testlib.h"
#include <petscsparsecuda.h>
#include <petscmat.h>

/* A large matrix of this process whose products keep the stream of the current context busy; one of zeros keeps nothing busy. */
typedef struct {
  Mat A;
  Vec x, y;
} TestBusy;

/* Layouts of rows: PETSc's own; everything on the last rank; alternating ranks without rows. */
typedef enum {
  TEST_EVEN,
  TEST_LAST_RANK,
  TEST_EVERY_OTHER
} TestLayout;

PetscErrorCode TestInitialize(int *, char ***, const char[], char **);                                    /* PetscInitialize() and our library; the type of -mat_type (default dcsrcuda), static */
PetscErrorCode TestEnter(Mat, PetscInt, PetscInt);                                                        /* enters values (per row, seed) and assembles */
PetscErrorCode TestCreate(MatType, PetscInt, PetscInt, TestLayout, PetscInt, PetscInt, Mat *);            /* rows, columns, layout, entries a row, seed */
PetscErrorCode TestCreatePair(MatType, PetscInt, PetscInt, TestLayout, PetscInt, PetscInt, Mat *, Mat *); /* MATAIJ's and the type's */
PetscErrorCode TestCreatePoisson(MatType, PetscInt, Mat *);                                               /* 5 points on a square with so many points a side */
PetscErrorCode TestFill(Vec, PetscInt);                                                                   /* values by global index and seed */
PetscErrorCode TestCompare(Mat, Mat, const char[]);                                                       /* products first, then entry by entry; exact structure */
PetscErrorCode TestCompareProducts(Mat, Mat, const char[]);                                               /* y = A x, y = A^T x with vectors of MatCreateVecs() */
PetscErrorCode TestCompareMult(Mat, Mat, const char[]);                                                   /* y = A x alone */
PetscErrorCode TestCompareRows(Mat, Mat, const char[]);
PetscErrorCode TestCompareVec(Vec, Vec, const char[]);
PetscErrorCode TestHasType(Mat, const char[], const char[]);           /* the type name contains this */
PetscErrorCode TestBlockHasType(Mat, PetscInt, MatType, const char[]); /* of a block of a matrix of this type: off-diagonal blocks (1) of hisparsecuda and autocuda are dcsrcuda */
MatType        TestRootName(MatType);                                  /* of one of ours, "dcsrcuda" for "mpiaijdcsrcuda"; a part of the name itself */
PetscErrorCode TestBlocks(Mat, PetscInt *, Mat[2]);                    /* the sequential matrices of this rank */
PetscErrorCode TestAssemble(Mat, MatAssemblyType);                     /* begin and end */
PetscErrorCode TestFragment(Mat, PetscInt);                            /* the type's rows in up to 3 segments where they are on the device, with so many unused entries behind each row */
PetscErrorCode TestIsValid(Mat, const char[]);                         /* the type's storage */
PetscErrorCode TestUsesDevice(Mat, PetscBool *);                       /* its vectors are VECCUDA */
PetscErrorCode TestBusyCreate(TestBusy *);
PetscErrorCode TestBusyRun(const TestBusy *, int); /* queues so many products, 100 of which take milliseconds */
PetscErrorCode TestBusyDestroy(TestBusy *);
PetscErrorCode TestPreallocateCOO(Mat, PetscCount, const PetscInt[], const PetscInt[]); /* MatSetPreallocationCOO() with copies of the lists, which it changes */
PetscErrorCode TestTextOpen(MPI_Comm, PetscViewer *);                                   /* a viewer into memory, one at a time, */
PetscErrorCode TestTextClose(PetscViewer *, char **);                                   /* and what was written, to be freed by free() */
PetscErrorCode TestGetInfo(Mat, char **);                                               /* what -mat_view ::ascii_info says of a sequential matrix; the same */
