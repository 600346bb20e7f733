#!/usr/bin/env bash
# PETSc's tests of every AIJ matrix: what tests/petsc/aij.py substitutes, and tests/petsc/runner with a journal and with expected failures that only --all knows.
set -uo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$top/tests/petsc" python3 - <<'END' || exit 1
import aij
code = '#include <petscmat.h>\n#if X\n#include <x.h>\n#endif\nint main(void)\n{\n  MatSetType(A[0], MATMPIAIJ); DMSetMatType(da, MATAIJ); MatSetType(B, MATBAIJ);\n  PetscObjectTypeCompare((PetscObject)A, MATSEQAIJ, &same);\n  MatCreateAIJ(comm, 1, 1, 1, 1, 0, 0, 0, 0, &A);\n}\n'
made = aij.code_with_type(code, 'aijours')
for wanted in ('MatSetType(A[0], "mpiaijours")', 'DMSetMatType(da, "aijours")', 'MatSetType(B, MATBAIJ)', '  CreateAIJOfType(comm, 1,', 'MatSetType(*A, "aijours")', 'PetscObjectBaseTypeCompare((PetscObject)A, MATSEQAIJ, &same)'):
  assert wanted in made, wanted + ' is not in ' + made
assert made.index('CreateAIJOfType(MPI_Comm') < made.index('#if X')
tests = '   test:\n     suffix: aij\n     args: -mat_type aij -sub_mat_type seqaij -pc_type x -mat_type baij -dm_mat_type aijsell\n'
assert aij.arguments_with_type(tests, 'aijours') == tests.replace('-mat_type aij ', '-mat_type aijours ').replace('seqaij', 'seqaijours')
assert aij.creates_aij(code + '/*TEST*/') and not aij.creates_aij(code) and not aij.creates_aij('VecCreate(comm, &v);/*TEST*/') and aij.makes_other_types(code, '') and aij.makes_other_types('', '-tao_mf_hessian')
END

printf '# name script kind\n' >"$work/list"
for name in good bad later; do
  printf 'echo run >>%s/%s.runs\nprintf "failed %%d\\nsuccess 1\\n" %d >%s/tests/counts/%s.counts\n' "$work" "$name" "$([ $name = good ]; echo $?)" "$work" "$name" >"$work/$name.sh"
  echo "$name $name.sh plain" >>"$work/list"
done
printf 'bad host a reason\nlater host+ another\n' >"$work/expected"
run() { "$top/tests/petsc/runner" --root "$work" --form host --jobs 1 --expected "$work/expected" "$@" >"$work/said" 2>&1; }
fail() { printf '%s\n' "$1"; cat "$work/said"; exit 1; }
run && fail 'the failure that only --all expects was expected without it'
grep -q '^1 passed, 1 failed, 1 skipped' "$work/said" || fail 'wrong numbers'
for k in 1 2; do run --all --journal "$work/journal" || fail "run $k with a journal"; done
grep -q '^1 passed, 0 failed, 2 skipped' "$work/said" || fail 'wrong numbers from the journal'
grep -q "^1 of those that passed compare MATAIJ" "$work/said" || fail 'not a word about what is compared'
[ "$(cat "$work"/*.runs | wc -l)" -eq 6 ] || fail 'a test of the journal was run again'
