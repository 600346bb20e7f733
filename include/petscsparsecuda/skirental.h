#pragma once
/*
  When something is made that products with vectors gain by: as soon as products amortize its cost. It is the ski rental problem, whose rule is of Karlin, Manasse, Rudolph and Sleator (Competitive
  Snoopy Caching, 1988).
  Without a hint, it is made when the products so far would have gained its cost. So whatever comes, no more than twice the time of the best choice in hindsight is spent.
  With a hint of how many products come, it is made at once, or not yet. With a hint of a lower bound, it is made as soon as the products so far and twice those of the hint gain the cost. No more than
  twice the best is spent then, too, whatever comes after, for the best is no less than what all products that are known gain.
*/
#include <petscsys.h>

/* What has a cost that does not depend on the matrix (src/tuning has the numbers). What autocuda makes has a cost that is predicted. */
typedef enum {
  SKI_COMPACT_ROWS,      /* fragmented rows are made compact; for each entry that a row has in the mean */
  SKI_TRANSPOSE_LISTS,   /* transpose products get lists of the columns of tiles */
  SKI_STORAGE,           /* hisparsecuda makes its storage of another structure than the first */
  SKI_SAMPLING,          /* autocuda samples a matrix */
  SKI_SAMPLING_AT_LEAST, /* the same where the hint is a lower bound */
  SKI_NUM_ITEMS
} SkiItem;

/* A decision. Gain and cost have the same unit. */
typedef struct {
  PetscCount seen;     /* products without it so far */
  PetscCount expected; /* products in all, by a hint or as an earlier matrix had; 0: not known */
  PetscBool  at_least; /* expected is a lower bound */
  double     gain;     /* of one product, in the mean */
  double     cost;
} SkiRental;

PETSC_INTERN PetscBool SkiRentalAmortizes(const SkiRental *);
PETSC_INTERN PetscBool SkiRentalAmortizesFor(SkiItem, PetscCount, PetscCount, PetscBool, double);
