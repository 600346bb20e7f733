#!/usr/bin/env bash
# The library loads without a GPU driver, exports its public names alone, and has no symbol left undefined.
set -uo pipefail
library=${PETSCSPARSECUDA_LIBRARY:?}
failed=0
if readelf -d "$library" | grep -E 'NEEDED.*(libcuda\.so|libnvidia)'; then
  echo 'the library needs the GPU driver to load'
  failed=1
fi
if ldd -r "$library" 2>&1 | grep -E 'not found|undefined symbol'; then failed=1; fi
exported=$(nm -D --defined-only "$library" | awk '$2 ~ /[TBDR]/ { print $3 }' | grep -vE '^(PetscDLLibraryRegister_petscsparsecuda|PetscSparseCUDA[A-Za-z]*|Mat[A-Za-z]*(DCSRCUDA|DCSR|HiSparseCUDA|AutoCUDA)[A-Za-z]*|PCGAMGCUDA[A-Za-z]*|_init|_fini)$')
if [ -n "$exported" ]; then
  printf 'exported, though not public:\n%s\n' "$exported"
  failed=1
fi
grep -q ' T PetscDLLibraryRegister_petscsparsecuda$' <<<"$(nm -D --defined-only "$library")" || { echo 'PetscDLLibraryRegister_petscsparsecuda() is not exported'; failed=1; }
exit $failed
