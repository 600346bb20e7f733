#!/usr/bin/env bash
# A test that exceeds its time limit says where its processes are: conf/run-tests with a program whose first process never comes to a barrier.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
library=$(dirname "${PETSCSPARSECUDA_LIBRARY:?}")/../tests/tools/stack.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tools"
cp "$library" "$work/tools/" || { echo "make test-programs makes $library"; exit 1; }
cat >"$work/hang.c" <<'END'
#include <mpi.h>
#include <unistd.h>
void WaitForTheOthers(void) { MPI_Barrier(MPI_COMM_WORLD); }
void ComeTooLate(void) { sleep(60); }
int main(int argc, char **argv)
{
  int rank;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank) WaitForTheOthers();
  else ComeTooLate();
  return MPI_Finalize();
}
END
${PETSC_CC:-mpicc} -rdynamic -O0 "$work/hang.c" -o "$work/hang" || exit 1
# What PETSc's harness does with -t: mpiexec ends the program, and the comment says so. Open MPI's mpiexec has been seen to wait for ever afterwards, on a loaded machine.
cat >"$work/runhang.sh" <<END
while [ "\$1" != -t ]; do shift; done
MPIEXEC_TIMEOUT=\$2 timeout -k 5 60 mpiexec -n 2 "$work/hang" >/dev/null 2>&1 || echo "not ok hang # Exceeded timeout limit of \$2 s"
END
echo '[{"script": "runhang.sh", "gpu": false}]' >"$work/cases.json"
said=$(conf/run-tests -t 3 "$work")
for wanted in 'not ok hang' 'hang-[0-9]* was here' WaitForTheOthers ComeTooLate '0 passed, 1 failed'; do
  grep -q "$wanted" <<<"$said" || { printf 'nothing about "%s" in:\n%s\n' "$wanted" "$said"; exit 1; }
done
