#!/usr/bin/env bash
# conf/make-api --check is silent about the sources as they are, and finds a stale page and what a docstring or a header lacks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
found=$(conf/make-api --check) || { printf '%s\n' "$found"; exit 1; }
[ -z "$found" ] || { printf '%s\n' "$found"; exit 1; }

# A tree of its own for each change: script, headers, documents, the sources that have docstrings.
fresh() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/conf"
  cp -r include docs "$work/tree/"
  cp --parents $(grep -rlE '^/\*(@C?|MC)$' src) "$work/tree/"
  cp conf/make-api "$work/tree/conf/"
}
expect() { # TEXT: --check fails and says it.
  local status=0
  found=$("$work/tree/conf/make-api" --check 2>&1) || status=$?
  [ "$status" -eq 1 ] || { printf 'make-api --check did not fail with 1 but %d where it should say "%s":\n%s\n' "$status" "$1" "$found"; exit 1; }
  grep -qF -- "$1" <<<"$found" || { printf 'make-api --check did not say "%s":\n%s\n' "$1" "$found"; exit 1; }
}
change() { # FILE SED: what is to change is there.
  cp "$work/tree/$1" "$work/before"
  sed -i -E "$2" "$work/tree/$1"
  ! cmp -s "$work/before" "$work/tree/$1" || { printf '%s has nothing for %s\n' "$1" "$2"; exit 1; }
}
expect_after() { # FILE SED TEXT
  fresh
  change "$1" "$2"
  expect "$3"
}
storage=src/mat/impls/dcsr/storage.c
header=include/petscsparsecuda.h

# The page: a line too many, a docstring that changed, no page; writing it cures that.
expect_after docs/api.md '$a another line' 'docs/api.md: is not what conf/make-api writes'
expect_after $storage 's/Gives the device memory/Says the device memory/' 'docs/api.md: is not what conf/make-api writes'
fresh
rm "$work/tree/docs/api.md"
expect 'docs/api.md: is not what conf/make-api writes'
"$work/tree/conf/make-api"
cmp -s docs/api.md "$work/tree/docs/api.md" || { echo 'conf/make-api wrote another page'; exit 1; }

# Docstrings: none, without a part of it, with too much.
expect_after $storage '/^\/\*@C$/{N;s/^\/\*@C(\n  MatDCSRCUDAGetMemoryUsed)/\/*\1/}' 'the public function MatDCSRCUDAGetMemoryUsed has no docstring'
expect_after include/petscsparsecuda_device.h '0,/^\/\*@C$/s//\/*/' 'the public function MatDCSRCUDAInsert has no docstring'
expect_after $storage '/^\. bytes - /d' 'the docstring of MatDCSRCUDAGetMemoryUsed lacks its parameter bytes'
expect_after src/mat/impls/aijcuda/insert/insertdevice.c '/^\. j    - /d' 'the docstring of MatDCSRCUDASetValuesDevice lacks its parameter j'
expect_after $storage 's/^\. bytes - /. right - /' 'describes right, which is no parameter'
expect_after $storage 's/^(PetscErrorCode MatDCSRCUDADefragment\(Mat )A\)$/\1matrix)/' 'the docstring of MatDCSRCUDADefragment lacks its parameter matrix'
expect_after $storage '/MatDCSRCUDADefragment - /,/Level/{/Not Collective/d}' 'the docstring of MatDCSRCUDADefragment does not say whether it is collective'
expect_after $storage '/MatDCSRCUDADefragment - /,/@\*\//{/Level:/d}' 'the docstring of MatDCSRCUDADefragment has no Level'
expect_after $storage 's/MatDCSRCUDADefragment - .*/MatDCSRCUDADefragment/' 'the docstring of MatDCSRCUDADefragment has no summary'
expect_after $storage '/MatDCSRCUDADefragment - /,/@\*\//{s/^  Notes:/  Wishes:/}' 'has a section "Wishes" that conf/make-api does not know'
expect_after $storage 's/`MatDCSRCUDASetValuesDevice\(\)`$/`MatDCSRCUDAGone()`/' 'names MatDCSRCUDAGone, which is not public'
expect_after src/mat/impls/aijcuda/insert/inserter.c 's|docs/insertion\.md|docs/gone.md|' 'names docs/gone.md, which does not exist'

# Headers: what is new has no docstring, and nothing is passed over.
expect_after $header '$a PETSC_EXTERN PetscErrorCode MatDCSRCUDANew(Mat);' 'the public function MatDCSRCUDANew has no docstring'
expect_after $header '$a typedef struct _p_New *New;' 'the public type New has neither a docstring nor a comment'
expect_after $header '$a #define MATNEWDCSRCUDA "new"' 'the public name MATNEWDCSRCUDA has neither a docstring nor a comment'
expect_after $header '$a PETSC_EXTERN PetscLogEvent NewEvent;' 'does not understand what is declared here'

# With complaints no page is written.
fresh
rm "$work/tree/docs/api.md"
change $storage '/^\. bytes - /d'
! "$work/tree/conf/make-api" 2>"$work/said" || { echo 'conf/make-api did not fail'; exit 1; }
grep -q 'lacks its parameter bytes' "$work/said" && [ ! -e "$work/tree/docs/api.md" ] || { echo 'conf/make-api wrote a page in spite of a complaint, or said nothing:'; cat "$work/said"; exit 1; }
