#pragma once
/*
  What was learnt of the times of products on a GPU (benchmarks/select/train.py writes autotable.c): for each of four times the sum of regression trees.
*/
#include <petscsparsecuda/features.h>

/* What is foretold; all are natural logarithms of times over that of y = A x with rows. */
typedef enum {
  AUTO_TARGET_FORWARD,   /* y = A x with the storage */
  AUTO_TARGET_TRANSPOSE, /* y = A^T x with the storage, over that of y = A^T x with rows */
  AUTO_TARGET_CONVERT,   /* making the storage */
  AUTO_TARGET_UPDATE,    /* new values */
  AUTO_NUM_TARGETS
} AutoTarget;

/* Inputs of the trees: the features, and these. */
enum {
  AUTO_INPUT_FORMAT = DCSR_NUM_FEATURES, /* the HiSparseFormat that is asked about */
  AUTO_INPUT_BYTES,                      /* the ratio that the bytes foretell */
  AUTO_NUM_INPUTS
};

/* A node of a tree, or a leaf. The left child is the next node. */
typedef struct {
  short input; /* number of the input that is compared; -1: a leaf */
  short right; /* nodes to the right child, which is for inputs above the threshold */
  float value; /* threshold, or what a leaf adds */
} AutoNode;

/* The trees of one time. */
typedef struct {
  float           base; /* what is foretold without trees */
  int             num_trees;
  const int      *roots; /* [num_trees] first nodes */
  const AutoNode *nodes;
} AutoTrees;

/* What was learnt on one GPU. */
typedef struct {
  const char *gpu;  /* as the device calls itself */
  const char *date; /* of the training */
  AutoTrees   trees[AUTO_NUM_TARGETS];
} AutoTable;

PETSC_INTERN const AutoTable *const AutoTables[]; /* ends with NULL */
