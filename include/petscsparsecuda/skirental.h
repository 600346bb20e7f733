#pragma once
/*
  Renting and buying: when something is made that products with vectors gain by. The ski rental problem, whose rule is of Karlin, Manasse, Rudolph and Sleator (Competitive Snoopy Caching, 1988): products without it are rent,
  and it is bought when those so far would have gained its price. So whatever comes, no more than twice the time of the best choice in hindsight is spent. Who knows how many products will come buys at once, or not yet.
  Who knows how many will come at least buys as soon as those so far and twice these gain the price: no more than twice the best is spent then, too, whatever comes after, for the best is no less than what all that are known gain.
*/
#include <petscsys.h>

/* What has a price that does not depend on the matrix (src/tuning has the numbers). What autocuda makes has a price that is foretold. */
typedef enum {
  SKI_COMPACT_ROWS,    /* fragmented rows are made compact */
  SKI_TRANSPOSE_LISTS, /* transpose products get lists of the columns of tiles */
  SKI_STORAGE,         /* hisparsecuda makes its storage of another structure than the first */
  SKI_STORAGE_LOOK,    /* autocuda looks at a matrix */
  SKI_MINIMUM_LOOK,    /* the same where a minimum is told */
  SKI_NUM_PURCHASES
} SkiPurchase;

/* A decision. Gain and price have the same unit. */
typedef struct {
  PetscCount seen;     /* products without it so far */
  PetscCount expected; /* products in all, as somebody tells or an earlier matrix had; 0: not known */
  PetscBool  minimum;  /* more may come than are expected */
  double     gain;     /* of one product, in the mean */
  double     price;
} SkiRental;

PETSC_INTERN PetscBool SkiRentalBuys(const SkiRental *);
PETSC_INTERN PetscBool SkiRentalBuysFor(SkiPurchase, PetscCount, PetscCount, PetscBool, double);
