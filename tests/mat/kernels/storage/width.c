static char help[] = "Where 32 bits are not enough: which numbers of entries need 64-bit offsets, and which PetscInt does not count.\n\n";

#include "../../../lib/sys.h"
#include <petscsparsecuda/dcsr.h>

static PetscErrorCode CheckWide(PetscCount n, PetscBool expected)
{
  PetscBool wide;

  PetscFunctionBegin;
  PetscCall(DCSRNeedsWide(n, &wide));
  PetscCheck(wide == expected, PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " entries: %s offsets", n, wide ? "64-bit" : "32-bit");
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckNonzeros(PetscCount n, PetscBool fit)
{
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = DCSRCheckNonzeros(n);
  PetscCall(PetscPopErrorHandler());
  PetscCheck(ierr == (fit ? PETSC_SUCCESS : PETSC_ERR_ARG_OUTOFRANGE), PETSC_COMM_SELF, PETSC_ERR_PLIB, "%" PetscCount_FMT " nonzeros: error %d", n, (int)ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscCount narrow = DCSR_MAX_NARROW, beyond = (PetscCount)PETSC_INT32_MAX + 1;
  PetscInt         limit = -1;
  PetscCount       most;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(TestLibSetFromOptions());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-mat_dcsr_test_max_nonzeros", &limit, NULL));
  PetscCall(CheckWide(0, PETSC_FALSE));
  PetscCall(CheckWide(narrow, PETSC_FALSE));
  PetscCall(CheckWide(narrow + 1, PETSC_TRUE));
  PetscCall(CheckWide(beyond, PETSC_TRUE));
  PetscCall(DCSRGetMaxNonzeros(&most));
  PetscCheck(most == (limit >= 0 ? limit : PETSC_INT_MAX), PETSC_COMM_SELF, PETSC_ERR_PLIB, "At most %" PetscCount_FMT " nonzeros", most);
  PetscCall(CheckNonzeros(0, PETSC_TRUE));
  PetscCall(CheckNonzeros(most, PETSC_TRUE));
  if (limit >= 0) PetscCall(CheckNonzeros(most + 1, PETSC_FALSE));
  else PetscCall(CheckNonzeros(beyond, PetscDefined(USE_64BIT_INDICES)));
  PetscCall(PetscFinalize());
  return 0;
}

/*TEST

  testset:
    output_file: output/empty.out
    test:
      suffix: 1
    test:
      suffix: limit
      args: -mat_dcsr_test_max_nonzeros 1000

TEST*/
