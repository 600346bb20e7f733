/* When products amortize what is made for them. */
#include <petscsparsecuda/tuning.h>

/*
  SkiRentalAmortizes - Whether something is made before the next product

  With a hint it is made when it gains more than its cost in the products that are still to come. When all of them have come, and without a hint, those that were seen count.

  With a lower bound those that were seen and twice those that are to come count together. When s were seen, m are to come and (s + m) g <= cost <= (s + 2 m) g, s g + cost is spent, no more than 2 (s
  + m) g, twice the least that the best choice in hindsight can be; with a lower cost, which is the best then, no more than twice the cost.
*/
PetscBool SkiRentalAmortizes(const SkiRental *rental)
{
  const double seen = (double)rental->seen, coming = (double)PetscMax(rental->expected - rental->seen, 0);

  if (rental->gain <= 0) return PETSC_FALSE;
  if (coming > 0 && !rental->at_least) return (PetscBool)(rental->gain * coming > rental->cost);
  return (PetscBool)(rental->gain * (seen + 2 * coming) >= rental->cost);
}

/*
  SkiRentalAmortizesFor - SkiRentalAmortizes() for what has its cost in the tuning of the device: seen products were without it so far, expected is all of them or 0 when that is not known, and with
  at_least that is a lower bound.

  The gain is that of one product, in the unit of the cost: 1 where that is products.
*/
PetscBool SkiRentalAmortizesFor(SkiItem what, PetscCount seen, PetscCount expected, PetscBool at_least, double gain)
{
  const PetscSparseCUDATuning *tuning = NULL;
  SkiRental                    rental = {.seen = seen, .expected = expected, .at_least = at_least, .gain = gain};

  if (PetscSparseCUDAGetTuning(&tuning) != PETSC_SUCCESS) return PETSC_FALSE;
  rental.cost = tuning->ski_costs[what];
  return SkiRentalAmortizes(&rental);
}
