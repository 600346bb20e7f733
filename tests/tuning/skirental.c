static char help[] =
  "When products amortize what is made for them: whatever comes, no more than twice the best in hindsight is spent; a hint of how many products come gives the best; with a lower bound no more than twice the best is spent either.\n\n";

#include "../mat/impls/dcsr/testmat.h"
#include <petscsparsecuda/skirental.h>

/* Time of n products, 1 without and 1 - gain with what is made. *made: after so many products; n: never. */
static double Spend(PetscCount n, PetscCount expected, PetscBool at_least, double gain, double cost, PetscCount *made)
{
  double spent = 0;

  *made = n;
  for (PetscCount seen = 0; seen < n; seen++) {
    const SkiRental rental = {.seen = seen, .expected = expected, .at_least = at_least, .gain = gain, .cost = cost};

    if (*made == n && SkiRentalAmortizes(&rental)) {
      *made = seen;
      spent += cost;
    }
    spent += *made < n ? 1 - gain : 1;
  }
  return spent;
}

static double Best(PetscCount n, double gain, double cost)
{
  return PetscMin((double)n, cost + (double)n * (1 - gain));
}

/* What is spent beyond the best is never more than the best and one product, since products are not divided. */
static PetscErrorCode TestCounting(double gain, double cost)
{
  PetscCount made;

  PetscFunctionBegin;
  for (PetscCount n = 0; n < 200; n++) {
    const double spent = Spend(n, 0, PETSC_FALSE, gain, cost, &made), best = Best(n, gain, cost);

    PetscCheck(spent <= 2 * best + 1 + 1e-9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, cost %g: %" PetscCount_FMT " products take %g, at best %g", gain, cost, n, spent, best);
    PetscCheck(made == n || gain > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Made without a gain");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A hint that is true gives the best. */
static PetscErrorCode TestHint(double gain, double cost)
{
  PetscCount made;

  PetscFunctionBegin;
  for (PetscCount n = 1; n < 200; n++) {
    const double spent = Spend(n, n, PETSC_FALSE, gain, cost, &made), best = Best(n, gain, cost);

    PetscCheck(PetscAbsReal((PetscReal)(spent - best)) < 1e-9, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, cost %g, %" PetscCount_FMT " products, by a hint: they take %g, at best %g", gain, cost, n,
               spent, best);
    (void)Spend(2 * n + 1000, n, PETSC_FALSE, gain, cost, &made);
    PetscCheck(gain <= 0 || (double)made <= PetscMax((double)n, cost / gain + 1), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "gain %g, cost %g: made after %" PetscCount_FMT " products, where %" PetscCount_FMT " were hinted at and more came", gain, cost, made, n);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  A lower bound from the beginning, however many come. Its cost and the gain that was missed are no more than twice the least of these and one product; no more than the least where the lower bound
  gains the cost.
*/
static PetscErrorCode TestAtLeast(double gain, double cost)
{
  PetscFunctionBegin;
  for (PetscCount at_least = 0; at_least < 120; at_least += 7) {
    const PetscBool pays = (PetscBool)((double)at_least * gain >= cost), makes = (PetscBool)(2 * (double)at_least * gain >= cost);

    for (PetscCount n = at_least; n < 200; n++) {
      PetscCount   made, counted;
      const double spent = Spend(n, at_least, PETSC_TRUE, gain, cost, &made) - (double)n * (1 - PetscMax(gain, 0)), best = PetscMin(cost, (double)n * PetscMax(gain, 0));

      (void)Spend(n, 0, PETSC_FALSE, gain, cost, &counted);
      PetscCheck(spent <= (pays ? best : 2 * best + 1) + 1e-9, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "gain %g, cost %g, %" PetscCount_FMT " of at least %" PetscCount_FMT " products: %g is spent, at best %g", gain, cost, n, at_least, spent, best);
      PetscCheck(made <= counted, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, cost %g, at least %" PetscCount_FMT " products: made after %" PetscCount_FMT ", after %" PetscCount_FMT " without a hint",
                 gain, cost, at_least, made, counted);
      PetscCheck(!makes || made == 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "gain %g, cost %g, at least %" PetscCount_FMT " products: it was made after %" PetscCount_FMT, gain, cost, at_least, made);
      PetscCheck(made == n || gain > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Made without a gain");
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Costs in products are those that the documents name. */
static PetscErrorCode TestTable(void)
{
  static const struct {
    SkiItem    what;
    PetscCount seen, expected;
    PetscBool  at_least;
    double     gain;
    PetscBool  makes;
  } cases[] = {{SKI_COMPACT_ROWS, 7, 0, PETSC_FALSE, 1.0 / 16, PETSC_FALSE}, // rows of 16 entries
               {SKI_COMPACT_ROWS, 8, 0, PETSC_FALSE, 1.0 / 16, PETSC_TRUE},  {SKI_COMPACT_ROWS, 0, 8, PETSC_FALSE, 1.0 / 16, PETSC_FALSE},
               {SKI_COMPACT_ROWS, 0, 9, PETSC_FALSE, 1.0 / 16, PETSC_TRUE},  {SKI_TRANSPOSE_LISTS, 0, 0, PETSC_FALSE, 1, PETSC_FALSE},
               {SKI_TRANSPOSE_LISTS, 1, 0, PETSC_FALSE, 1, PETSC_TRUE},      {SKI_TRANSPOSE_LISTS, 0, 1, PETSC_FALSE, 1, PETSC_FALSE},
               {SKI_TRANSPOSE_LISTS, 0, 2, PETSC_FALSE, 1, PETSC_TRUE},      {SKI_SAMPLING, 99, 0, PETSC_FALSE, 0.5, PETSC_FALSE},
               {SKI_SAMPLING, 100, 0, PETSC_FALSE, 0.5, PETSC_TRUE},         {SKI_SAMPLING, 3, 103, PETSC_FALSE, 0.5, PETSC_FALSE},
               {SKI_SAMPLING, 3, 104, PETSC_FALSE, 0.5, PETSC_TRUE},         {SKI_SAMPLING, 8, 0, PETSC_FALSE, 0, PETSC_FALSE},
               {SKI_COMPACT_ROWS, 3, 5, PETSC_TRUE, 1.0 / 16, PETSC_FALSE},  {SKI_COMPACT_ROWS, 2, 5, PETSC_TRUE, 1.0 / 16, PETSC_TRUE},
               {SKI_SAMPLING, 30, 64, PETSC_TRUE, 0.5, PETSC_FALSE},         {SKI_SAMPLING, 30, 65, PETSC_TRUE, 0.5, PETSC_TRUE},
               {SKI_SAMPLING, 100, 40, PETSC_TRUE, 0.5, PETSC_TRUE},         {SKI_SAMPLING_AT_LEAST, 30, 39, PETSC_TRUE, 0.5, PETSC_FALSE},
               {SKI_SAMPLING_AT_LEAST, 30, 40, PETSC_TRUE, 0.5, PETSC_TRUE}};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++)
    PetscCheck(SkiRentalAmortizesFor(cases[k].what, cases[k].seen, cases[k].expected, cases[k].at_least, cases[k].gain) == cases[k].makes, PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "Item %d, %" PetscCount_FMT " products of %" PetscCount_FMT ", gain %g: not as the table says", (int)cases[k].what, cases[k].seen, cases[k].expected, cases[k].gain);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const double gains[] = {-0.5, 0, 0.02, 0.3, 0.6, 1}, costs[] = {0.5, 1, 4, 20, 90};
  char               *type;

  PetscFunctionBeginUser;
  PetscCall(TestInitialize(&argc, &argv, help, &type));
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(gains); g++)
    for (size_t p = 0; p < PETSC_STATIC_ARRAY_LENGTH(costs); p++) {
      PetscCall(TestCounting(gains[g], costs[p]));
      PetscCall(TestHint(gains[g], costs[p]));
      PetscCall(TestAtLeast(gains[g], costs[p]));
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
