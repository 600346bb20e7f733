static char help[] = "Renting and buying: whatever comes, no more than twice the best in hindsight is spent; who tells how many products come gets the best; who tells a minimum does not spend more than that either.\n\n";

#include "../mat/impls/dcsr/testmat.h"
#include <petscsparsecuda/skirental.h>

/* Time of n products, 1 without and 1 - gain with what is bought. *bought: after so many products; n: never. */
static double Spend(PetscCount n, PetscCount expected, PetscBool minimum, double gain, double price, PetscCount *bought)
{
  double spent = 0;

  *bought = n;
  for (PetscCount seen = 0; seen < n; seen++) {
    const SkiRental rental = {.seen = seen, .expected = expected, .minimum = minimum, .gain = gain, .price = price};

    if (*bought == n && SkiRentalBuys(&rental)) {
      *bought = seen;
      spent += price;
    }
    spent += *bought < n ? 1 - gain : 1;
  }
  return spent;
}

static double Best(PetscCount n, double gain, double price)
{
  return PetscMin((double)n, price + (double)n * (1 - gain));
}

/* What is spent beyond the best is never more than the best and one product, since products are not divided. */
static PetscErrorCode TestCounting(double gain, double price)
{
  PetscCount bought;

  PetscFunctionBegin;
  for (PetscCount n = 0; n < 200; n++) {
    const double spent = Spend(n, 0, PETSC_FALSE, gain, price, &bought), best = Best(n, gain, price);

    PetscCheck(spent <= 2 * best + 1 + 1e-9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, price %g: %" PetscCount_FMT " products take %g, at best %g", gain, price, n, spent, best);
    PetscCheck(bought == n || gain > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Bought without a gain");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who tells the truth gets the best. */
static PetscErrorCode TestTold(double gain, double price)
{
  PetscCount bought;

  PetscFunctionBegin;
  for (PetscCount n = 1; n < 200; n++) {
    const double spent = Spend(n, n, PETSC_FALSE, gain, price, &bought), best = Best(n, gain, price);

    PetscCheck(PetscAbsReal((PetscReal)(spent - best)) < 1e-9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, price %g, %" PetscCount_FMT " products told: they take %g, at best %g", gain, price, n, spent, best);
    (void)Spend(2 * n + 1000, n, PETSC_FALSE, gain, price, &bought);
    PetscCheck(gain <= 0 || (double)bought <= PetscMax((double)n, price / gain + 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, price %g: bought after %" PetscCount_FMT " products, where %" PetscCount_FMT " were told and more came", gain, price,
               bought, n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who tells a minimum from the beginning, however many come. What is bought and the rent that it would have saved are no more than twice the least of these and one product; no more than the least where the minimum gains the price. */
static PetscErrorCode TestMinimum(double gain, double price)
{
  PetscFunctionBegin;
  for (PetscCount minimum = 0; minimum < 120; minimum += 7) {
    const PetscBool pays = (PetscBool)((double)minimum * gain >= price), buys = (PetscBool)(2 * (double)minimum * gain >= price);

    for (PetscCount n = minimum; n < 200; n++) {
      PetscCount   bought, counted;
      const double spent = Spend(n, minimum, PETSC_TRUE, gain, price, &bought) - (double)n * (1 - PetscMax(gain, 0)), best = PetscMin(price, (double)n * PetscMax(gain, 0));

      (void)Spend(n, 0, PETSC_FALSE, gain, price, &counted);
      PetscCheck(spent <= (pays ? best : 2 * best + 1) + 1e-9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, price %g, %" PetscCount_FMT " of at least %" PetscCount_FMT " products: %g is spent, at best %g", gain, price, n, minimum, spent, best);
      PetscCheck(bought <= counted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, price %g, at least %" PetscCount_FMT " products: bought after %" PetscCount_FMT ", after %" PetscCount_FMT " when nobody tells", gain, price, minimum, bought, counted);
      PetscCheck(!buys || bought == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, price %g, at least %" PetscCount_FMT " products: it was bought after %" PetscCount_FMT, gain, price, minimum, bought);
      PetscCheck(bought == n || gain > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Bought without a gain");
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prices in products are those that the documents name. */
static PetscErrorCode TestTable(void)
{
  static const struct {
    SkiPurchase what;
    PetscCount  seen, expected;
    PetscBool   minimum;
    double      gain;
    PetscBool   buys;
  } cases[] = {{SKI_COMPACT_ROWS, 7, 0, PETSC_FALSE, 1, PETSC_FALSE},    {SKI_COMPACT_ROWS, 8, 0, PETSC_FALSE, 1, PETSC_TRUE},     {SKI_COMPACT_ROWS, 0, 8, PETSC_FALSE, 1, PETSC_FALSE},     {SKI_COMPACT_ROWS, 0, 9, PETSC_FALSE, 1, PETSC_TRUE},
               {SKI_TRANSPOSE_LISTS, 0, 0, PETSC_FALSE, 1, PETSC_FALSE}, {SKI_TRANSPOSE_LISTS, 1, 0, PETSC_FALSE, 1, PETSC_TRUE},  {SKI_TRANSPOSE_LISTS, 0, 1, PETSC_FALSE, 1, PETSC_FALSE},  {SKI_TRANSPOSE_LISTS, 0, 2, PETSC_FALSE, 1, PETSC_TRUE},
               {SKI_STORAGE_LOOK, 99, 0, PETSC_FALSE, 0.5, PETSC_FALSE}, {SKI_STORAGE_LOOK, 100, 0, PETSC_FALSE, 0.5, PETSC_TRUE}, {SKI_STORAGE_LOOK, 3, 103, PETSC_FALSE, 0.5, PETSC_FALSE}, {SKI_STORAGE_LOOK, 3, 104, PETSC_FALSE, 0.5, PETSC_TRUE},
               {SKI_STORAGE_LOOK, 8, 0, PETSC_FALSE, 0, PETSC_FALSE},    {SKI_COMPACT_ROWS, 3, 5, PETSC_TRUE, 1, PETSC_FALSE},     {SKI_COMPACT_ROWS, 2, 5, PETSC_TRUE, 1, PETSC_TRUE},       {SKI_STORAGE_LOOK, 30, 64, PETSC_TRUE, 0.5, PETSC_FALSE},
               {SKI_STORAGE_LOOK, 30, 65, PETSC_TRUE, 0.5, PETSC_TRUE},  {SKI_STORAGE_LOOK, 100, 40, PETSC_TRUE, 0.5, PETSC_TRUE}, {SKI_MINIMUM_LOOK, 30, 39, PETSC_TRUE, 0.5, PETSC_FALSE},  {SKI_MINIMUM_LOOK, 30, 40, PETSC_TRUE, 0.5, PETSC_TRUE}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++)
    PetscCheck(SkiRentalBuysFor(cases[k].what, cases[k].seen, cases[k].expected, cases[k].minimum, cases[k].gain) == cases[k].buys, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Purchase %d, %" PetscCount_FMT " products of %" PetscCount_FMT ", gain %g: not as the table says", (int)cases[k].what, cases[k].seen, cases[k].expected, cases[k].gain);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const double gains[] = {-0.5, 0, 0.02, 0.3, 0.6, 1}, prices[] = {0.5, 1, 4, 20, 90};
  char               *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(gains); g++)
    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(prices); p++) {
      PetscCall(TestCounting(gains[g], prices[p]));
      PetscCall(TestTold(gains[g], prices[p]));
      PetscCall(TestMinimum(gains[g], prices[p]));
    }
  PetscCall(TestTable());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../mat/impls/dcsr/testmat.c

   test:
      output_file: output/empty.out
      args: -device_enable none

TEST*/
