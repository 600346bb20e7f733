/* The rule of renting and buying. */
#include <petscsparsecuda/tuning.h>

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
  SkiRentalBuysFor - SkiRentalBuys() for what has its price in the tuning of the device: seen products were without it so far, expected is all of them or 0 when that is not known, and with minimum more may come.

  The gain is that of one product, in the unit of the price: 1 where that is products.
*/
PetscBool SkiRentalBuysFor(SkiPurchase what, PetscCount seen, PetscCount expected, PetscBool minimum, double gain)
{
  const PetscSparseCUDATuning *tuning = NULL;
  SkiRental                    rental = {.seen = seen, .expected = expected, .minimum = minimum, .gain = gain};

  if (PetscSparseCUDAGetTuning(&tuning) != PETSC_SUCCESS) return PETSC_FALSE;
  rental.price = tuning->prices[what];
  return SkiRentalBuys(&rental);
}
