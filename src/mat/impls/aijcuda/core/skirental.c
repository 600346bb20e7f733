/* The rule of renting and buying, and prices that do not depend on the matrix. */
#include "skirental.h"

/* NVIDIA H200. */
// clang-format off
static const double prices[SKI_NUM_PURCHASES] = {
  [SKI_COMPACT_ROWS]    = 8,    /* products: 4 to 5 for stencils, 8 to 13 for R-MAT (spmv-inserted-* of benchmarks/insert) */
  [SKI_TRANSPOSE_LISTS] = 1,    /* products: one alone would not pay for them */
  [SKI_STORAGE]         = 20,   /* products: making it takes 4 to 10 of them, new CSR 2.4 to 5, and each gains a third (hisparse.jsonl: 16 to 25) */
  [SKI_STORAGE_LOOK]    = 50,   /* looks: one takes about 2 % of the products then, which is what a matrix that stays in rows may lose */
  [SKI_MINIMUM_LOOK]    = 25,   /* so that it falls into the setup that tells the minimum, of which it is a thousandth: a conversion in the middle of a solve costs more than one before it */
};
// clang-format on

/*
  SkiRentalBuys - Whether something is made before the next product

  Who expects products gets what gains more than its price in those that are still to come. When all of them have come, and when nobody expects any, those that were seen count.

  With a minimum those that were seen and twice those that are to come count together. When s were seen, m are to come and (s + m) g <= price <= (s + 2 m) g, s g + price is spent, no more than 2 (s + m) g, twice the least that the best choice in hindsight can be; with a lower price, which is the best then, no more than twice the price.
*/
PetscBool SkiRentalBuys(const SkiRental *rental)
{
  const double seen = (double)rental->seen, coming = (double)PetscMax(rental->expected - rental->seen, 0);

  if (rental->gain <= 0) return PETSC_FALSE;
  if (coming > 0 && !rental->minimum) return (PetscBool)(rental->gain * coming > rental->price);
  return (PetscBool)(rental->gain * (seen + 2 * coming) >= rental->price);
}

/*
  SkiRentalBuysFor - SkiRentalBuys() for what has its price in the table: seen products were without it so far, expected is all of them or 0 when that is not known, and with minimum more may come.

  The gain is that of one product, in the unit of the price: 1 where that is products.
*/
PetscBool SkiRentalBuysFor(SkiPurchase what, PetscCount seen, PetscCount expected, PetscBool minimum, double gain)
{
  const SkiRental rental = {.seen = seen, .expected = expected, .minimum = minimum, .gain = gain, .price = prices[what]};

  return SkiRentalBuys(&rental);
}
