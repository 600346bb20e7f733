#!/usr/bin/env bash
# conf/check-messages is silent about the messages as they are, and finds a new one, one in a macro or by SETERRQ(), a row and an exception without a message, a row that says too little, and a text
# that it cannot read. A fault of the library itself needs no row, and a comment is no message.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { # WANTED FOUND
  printf 'check-messages did not say "%s":\n%s\n' "$1" "$2"
  exit 1
}
expect() { # TEXT ARGUMENTS...
  local wanted=$1 found
  shift
  found=$(conf/check-messages "$@")
  grep -qF -- "$wanted" <<<"$found" || fail "$wanted" "$found"
}
silent() { # ARGUMENTS...
  local found
  found=$(conf/check-messages "$@")
  [ -z "$found" ] || fail '' "$found"
}
silent

mkdir -p "$work/src/new" "$work/include"
new=$work/src/new/new.c
cat >"$work/page.md" <<'END'
# A page

| `Not in the section of messages` | a | b |

## Messages

| message | cause | cure |
|---|---|---|
| `Row ... has ... entries, "too many"`, `A second pattern` | a | b |
END
printf 'src/new/ | Never seen by ... | a reason\n' >"$work/exceptions"
cat >"$new" <<'END'
  PetscCheck(n < (m ? 1 : 2), PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "Row %" PetscInt_FMT " has "
             "%" PetscInt_FMT " entries, \"too many\"", n, f(m, "in a string)"));
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "A second pattern");
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "Never seen by %s", who);
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_PLIB, "A fault of the library itself");
  // PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_SUP, "In a comment");
  /* SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "In another one"); */
  ierr = PetscError(PETSC_COMM_SELF, __LINE__, PETSC_FUNCTION_NAME, __FILE__, ierr, PETSC_ERROR_REPEAT, " ");
END
silent "$work" "$work/page.md" "$work/exceptions"

cp "$new" "$work/saved"
add() { # LINE: after the others; the check names it
  cp "$work/saved" "$new"
  printf '%s\n' "$1" >>"$new"
}
for code in ARG_OUTOFRANGE SUP MEM GPU FILE_OPEN USER ORDER; do
  add "  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_$code, \"A message that is new: %g\", x);"
  expect 'src/new/new.c:9: "A message that is new: ..."' "$work" "$work/page.md" "$work/exceptions"
done
add '  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Not in the section of messages");'
expect '"Not in the section of messages"' "$work" "$work/page.md" "$work/exceptions"
add '#define M(e) return PetscError(PETSC_COMM_SELF, __LINE__, "f", __FILE__, (PetscErrorCode)e, PETSC_ERROR_INITIAL, "Raised by hand")'
expect '"Raised by hand"' "$work" "$work/page.md" "$work/exceptions"
add '  #error "while it is compiled"'
expect '"while it is compiled"' "$work" "$work/page.md" "$work/exceptions"
add '  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_SUP, text, n);'
expect 'src/new/new.c:9: an error without a code or a text' "$work" "$work/page.md" "$work/exceptions"
cp "$work/saved" "$new"
mkdir "$work/src/other"
sed -n 4p "$new" >"$work/src/other/other.cu"
expect 'src/other/other.cu:1: "Never seen by ..."' "$work" "$work/page.md" "$work/exceptions"
rm -r "$work/src/other"

for row in '| `This is not raised by anybody` | a | b |' '| `Row ... | a | b |' '| `... ...` | a | b |'; do
  cp "$work/page.md" "$work/more.md"
  printf '%s\n' "$row" >>"$work/more.md"
  case "$row" in
    *anybody*) expect 'more.md:10: no message is "This is not raised by anybody"' "$work" "$work/more.md" "$work/exceptions" ;;
    *'... ...'*) expect 'more.md:10: "... ..." says too little' "$work" "$work/more.md" "$work/exceptions" ;;
    *) silent "$work" "$work/more.md" "$work/exceptions" ;; # no closed backquotes: no pattern
  esac
done
printf 'src/new/ | Nobody says this | a reason\n' >>"$work/exceptions"
expect 'exceptions:2: no message is "Nobody says this"' "$work" "$work/page.md" "$work/exceptions"
printf 'src/new/ | Nobody says this\n' >"$work/exceptions"
if conf/check-messages "$work" "$work/page.md" "$work/exceptions" 2>/dev/null; then fail 'not of the form' ''; fi
if conf/check-messages "$work" README.md 2>/dev/null; then fail 'no section' ''; fi

# The page as it is, with one row less.
grep -v '^| `Out of device memory for' docs/moving.md >"$work/less.md"
expect '"Out of device memory for ...: asked for ... bytes' . "$work/less.md"
