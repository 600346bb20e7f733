static char help[] = "Renting and buying: whatever comes, no more than twice the best in hindsight is spent; who tells how many products come gets the best.\n\n";

#include "../dcsr/testmat.h"
#include "../../../../src/mat/impls/aijcuda/core/skirental.h"

/* Time of n products, 1 without and 1 - gain with what is bought. *bought: after so many products; n: never. */
static double Spend(PetscCount n, PetscCount expected, double gain, double price, PetscCount *bought)
{
  double spent = 0;

  *bought = n;
  for (PetscCount seen = 0; seen < n; seen++) {
    const SkiRental rental = {.seen = seen, .expected = expected, .gain = gain, .price = price};

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
    const double spent = Spend(n, 0, gain, price, &bought), best = Best(n, gain, price);

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
    const double spent = Spend(n, n, gain, price, &bought), best = Best(n, gain, price);

    PetscCheck(PetscAbsReal((PetscReal)(spent - best)) < 1e-9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, price %g, %" PetscCount_FMT " products told: they take %g, at best %g", gain, price, n, spent, best);
    (void)Spend(2 * n + 1000, n, gain, price, &bought);
    PetscCheck(gain <= 0 || (double)bought <= PetscMax((double)n, price / gain + 1), PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, price %g: bought after %" PetscCount_FMT " products, where %" PetscCount_FMT " were told and more came", gain, price,
               bought, n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Prices in products are those that the documents name. */
static PetscErrorCode TestTable(void)
{
  static const struct {
    SkiPurchase what;
    PetscCount  seen, expected;
    double      gain;
    PetscBool   buys;
  } cases[] = {{SKI_COMPACT_ROWS, 7, 0, 1, PETSC_FALSE},     {SKI_COMPACT_ROWS, 8, 0, 1, PETSC_TRUE},     {SKI_COMPACT_ROWS, 0, 8, 1, PETSC_FALSE},   {SKI_COMPACT_ROWS, 0, 9, 1, PETSC_TRUE},     {SKI_TRANSPOSE_LISTS, 0, 0, 1, PETSC_FALSE},
               {SKI_TRANSPOSE_LISTS, 1, 0, 1, PETSC_TRUE},   {SKI_TRANSPOSE_LISTS, 0, 1, 1, PETSC_FALSE}, {SKI_TRANSPOSE_LISTS, 0, 2, 1, PETSC_TRUE}, {SKI_STORAGE_LOOK, 99, 0, 0.5, PETSC_FALSE}, {SKI_STORAGE_LOOK, 100, 0, 0.5, PETSC_TRUE},
               {SKI_STORAGE_LOOK, 3, 103, 0.5, PETSC_FALSE}, {SKI_STORAGE_LOOK, 3, 104, 0.5, PETSC_TRUE}, {SKI_STORAGE_LOOK, 8, 0, 0, PETSC_FALSE}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++)
    PetscCheck(SkiRentalBuysFor(cases[k].what, cases[k].seen, cases[k].expected, cases[k].gain) == cases[k].buys, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Purchase %d, %" PetscCount_FMT " products of %" PetscCount_FMT ", gain %g: not as the table says",
               (int)cases[k].what, cases[k].seen, cases[k].expected, cases[k].gain);
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
    }
  PetscCall(TestTable());
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

   build:
      depends: ../dcsr/testmat.c

   test:
      output_file: output/empty.out
      args: -device_enable none

TEST*/
