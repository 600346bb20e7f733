#!/usr/bin/env bash
# Device arrays go to PetscSF through sfdevice.c alone, and to MPI through rowmessages.c alone, which check that MPI can export them: memory of the pool would travel a hundred times slower.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seam=src/mat/impls/aijcuda/exchange/sfdevice.c
failed=0
# What tells PetscSF that an array is in device memory, but for the seam; WithMemType calls of arrays on the host are fine.
found=$(grep -rnE 'PetscSF[A-Za-z]*WithMemTypeBegin *\(' src --include='*.c' --include='*.cu' | grep -v "^$seam:" | grep -vE 'PETSC_MEMTYPE_HOST.*PETSC_MEMTYPE_HOST')
[ -z "$found" ] || { printf 'device memory goes to PetscSF without PetscSparseCUDASFBcast():\n%s\n' "$found"; failed=1; }
# Nothing in device code knows MPI; cudaMalloc() and the default pool have one file.
found=$(grep -rnE '\b(MPI|MPIU)_(Send|Recv|Isend|Irecv|Bcast|Allreduce|Gather|Scatter|Alltoall)' src --include='*.cu' --include='*.cuh')
[ -z "$found" ] || { printf 'device code calls MPI:\n%s\n' "$found"; failed=1; }
messages=src/mat/impls/aijcuda/exchange/rowmessages.c
found=$(grep -rnE '\b(MPI|MPIU)_(Send|Recv|Isend|Irecv|Alltoall)' src --include='*.c' | grep -v "^$messages:")
[ -z "$found" ] || { printf 'messages that %s does not check:\n%s\n' "$messages" "$found"; failed=1; }
[ "$(sed -n '/^PetscErrorCode RowMessagesExchangeWithMemType(/,/^}/p' $messages | grep -c 'PetscSparseCUDACheckExportable(\(sent\|received\),')" -eq 2 ] || { echo "$messages does not check both arrays"; failed=1; }
found=$(grep -rnE '\bcudaMalloc(Async|Managed)?\(' src --include='*.c' --include='*.cu' | grep -vE '^src/sys/(exportable|preload)\.c:')
[ -z "$found" ] || { printf 'device memory that is neither of the pool nor exportable:\n%s\n' "$found"; failed=1; }
[ "$(grep -c 'CheckArrays(sf' $seam)" -eq "$(grep -cE 'PetscSF[A-Za-z]*WithMemTypeBegin\(' $seam)" ] || { echo "a function of $seam checks nothing"; failed=1; }
exit $failed
