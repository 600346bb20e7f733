/* The rule of renting and buying, and the prices that do not depend on the matrix. */
#include "skirental.h"

/* Prices in gains: that of so many products. NVIDIA H200. */
// clang-format off
static const double prices[SKI_NUM_PURCHASES] = {
  [SKI_COMPACT_ROWS]    = 8, /* 4 to 5 for stencils, 8 to 13 for R-MAT (spmv-inserted-* of benchmarks/insert) */
  [SKI_TRANSPOSE_LISTS] = 1, /* one product alone would not pay for them */
  [SKI_STORAGE_LOOK]    = 8, /* no conversion pays for itself earlier (benchmarks/select) */
};
// clang-format on

/*
  SkiRentalBuys - Whether something is made before the next product

  Not Collective

  Input Parameter:
. rental - what is known

  Note:
  Who expects products gets what gains more than its price in those that are still to come. When all of them have come, and when nobody expects any, those that were seen count.
*/
PetscBool SkiRentalBuys(const SkiRental *rental)
{
  if (rental->gain <= 0) return PETSC_FALSE;
  if (rental->expected > rental->seen) return (PetscBool)(rental->gain * (double)(rental->expected - rental->seen) > rental->price);
  return (PetscBool)(rental->gain * (double)rental->seen >= rental->price);
}

/*
  SkiRentalBuysAfter - The same for what is bought after so many products

  Not Collective

  Input Parameters:
+ what     - has its price in the table
. seen     - products without it so far
- expected - products in all; 0: not known
*/
PetscBool SkiRentalBuysAfter(SkiPurchase what, PetscCount seen, PetscCount expected)
{
  const SkiRental rental = {.seen = seen, .expected = expected, .gain = 1, .price = prices[what]};

  return SkiRentalBuys(&rental);
}
