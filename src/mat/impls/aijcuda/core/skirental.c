/* The rule of renting and buying, and prices that do not depend on the matrix. */
#include "skirental.h"

/* NVIDIA H200. */
// clang-format off
static const double prices[SKI_NUM_PURCHASES] = {
  [SKI_COMPACT_ROWS]    = 8,    /* products: 4 to 5 for stencils, 8 to 13 for R-MAT (spmv-inserted-* of benchmarks/insert) */
  [SKI_TRANSPOSE_LISTS] = 1,    /* products: one alone would not pay for them */
  [SKI_STORAGE_LOOK]    = 50,   /* looks: one takes about 2 % of the products then, which is what a matrix that stays in rows may lose */
  [SKI_MINIMUM_LOOK]    = 25,   /* twice as many products as the least come in the median of the solves with PCGAMG, whose least are told */
};
// clang-format on

/*
  SkiRentalBuys - Whether something is made before the next product

  Not Collective

  Input Parameter:
. rental - what is known

  Note:
  Who expects products gets what gains more than its price in those that are still to come. When all of them have come, and when nobody expects any, those that were seen count.

  With a minimum those that were seen and those that are to come count together. When they gain the price, no more than the rent so far is spent beyond the best choice in hindsight.
*/
PetscBool SkiRentalBuys(const SkiRental *rental)
{
  if (rental->gain <= 0) return PETSC_FALSE;
  if (rental->minimum) return (PetscBool)(rental->gain * (double)PetscMax(rental->expected, rental->seen) >= rental->price);
  if (rental->expected > rental->seen) return (PetscBool)(rental->gain * (double)(rental->expected - rental->seen) > rental->price);
  return (PetscBool)(rental->gain * (double)rental->seen >= rental->price);
}

/*
  SkiRentalBuysFor - The same for what has its price in the table

  Not Collective

  Input Parameters:
+ what     - which price
. seen     - products without it so far
. expected - products in all; 0: not known
. minimum  - more may come than are expected
- gain     - of one product, in the unit of the price: 1 where that is products
*/
PetscBool SkiRentalBuysFor(SkiPurchase what, PetscCount seen, PetscCount expected, PetscBool minimum, double gain)
{
  const SkiRental rental = {.seen = seen, .expected = expected, .minimum = minimum, .gain = gain, .price = prices[what]};

  return SkiRentalBuys(&rental);
}
