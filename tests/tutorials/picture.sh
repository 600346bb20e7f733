#!/usr/bin/env bash
# tutorials/hisparse/picture.py: its counts for matrices whose segments and blocks are known, the number of its strokes, and its words about bad files.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
python=${PYTHON:-python3}
picture=tutorials/hisparse/picture.py
[ -f "$picture" ] || exit 77 # a bundle
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# draw LINE... -- ARGUMENTS: the tool succeeds and says these lines; the picture is XML and has each of them.
draw() {
  local lines=() line said
  while [ "$1" != -- ]; do lines+=("$1"); shift; done
  shift
  said=$("$python" "$picture" "$@" -o "$work/out.svg" 2>&1) || { printf 'picture.py %s failed:\n%s\n' "$*" "$said"; exit 1; }
  "$python" -c 'import sys, xml.etree.ElementTree; xml.etree.ElementTree.parse(sys.argv[1])' "$work/out.svg" || { echo "picture.py $*: no XML"; exit 1; }
  for line in "${lines[@]}"; do
    grep -qxF -- "$line" <<<"$said" || { printf 'picture.py %s does not say "%s":\n%s\n' "$*" "$line" "$said"; exit 1; }
    grep -qF -- ">$line</text>" "$work/out.svg" || { printf 'the picture of %s does not say "%s"\n' "$*" "$line"; exit 1; }
  done
}
# strokes NUMBER PATTERN: so many elements of the last picture match.
strokes() {
  local found
  found=$(grep -cE -- "$2" "$work/out.svg")
  [ "$found" -eq "$1" ] || { echo "the last picture has $found elements $2, not $1"; exit 1; }
}
# refuse TEXT ARGUMENTS: the tool fails and says this, without a trace of Python and without a picture.
refuse() {
  local text=$1 said
  shift
  rm -f "$work/no.svg"
  said=$("$python" "$picture" "$@" -o "$work/no.svg" 2>&1) && { echo "picture.py $* does not fail"; exit 1; }
  grep -qF -- "$text" <<<"$said" || { printf 'picture.py %s does not say "%s":\n%s\n' "$*" "$text" "$said"; exit 1; }
  ! grep -q Traceback <<<"$said" || { printf 'picture.py %s:\n%s\n' "$*" "$said"; exit 1; }
  [ ! -e "$work/no.svg" ] || { echo "picture.py $* fails and leaves a picture"; exit 1; }
}
# matrix FILE ROWS COLUMNS ENTRIES [INTEGER VALUE TAIL]: a binary file of PETSc; ENTRIES is a Python expression, a set of (row, column). INTEGER: code of an integer, i or q; VALUE: bytes of a value; TAIL: bytes that follow.
matrix() {
  "$python" - "$@" <<'PYTHON'
import struct, sys
path, rows, columns, entries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sorted(eval(sys.argv[4]))
code, value, tail = sys.argv[5] if len(sys.argv) > 5 else 'i', int(sys.argv[6]) if len(sys.argv) > 6 else 8, int(sys.argv[7]) if len(sys.argv) > 7 else 0
lengths = [0] * rows
for i, _ in entries:
  lengths[i] += 1
numbers = [1211216, rows, columns, len(entries)] + lengths + [c for _, c in entries]
with open(path, 'wb') as f:
  f.write(struct.pack('>%d%s' % (len(numbers), code), *numbers) + bytes(value * len(entries) + tail))
PYTHON
}

# Five points, 128 x 128: a line of the grid is a slice. 5 segments each, 4 of the first and the last; those at columns + 1 and - 1 lack an entry.
draw '128 slices of 128 rows, 638 diagonal segments, 0 entries outside of them' 'segments a slice: 4 to 5, 5.0 on average; 127.6 entries a segment' '8.21 bytes a nonzero; rows (CSR) take 12.81' \
  'bytes: 8 a value + 24 a segment + 16 a slice' 'segments with entries in all rows: 382' 'segments with entries in more, but not all: 256' -- --stencil 5 --size 128
strokes 638 '<path'
for b in 2 3 4 6; do draw "1 slices of 128 rows of blocks, 5 diagonal segments of $b x $b blocks, 0 entries outside of them" 'bytes: 8 a value + 24 a segment + 16 a slice' -- --stencil 5 --size 10 --unknowns "$b" --format blockdiagonals; strokes 460 'class="block"'; done

# 16 of 128 entries are a segment, 15 are not; 1 of the 8 rows of a short slice is one.
matrix "$work/thin" 136 1000 '{(i, i) for i in range(128)} | {(i, i + 200) for i in range(16)} | {(i, i + 300) for i in range(15)} | {(130, 7)}'
draw '2 slices of 128 rows, 3 diagonal segments, 15 entries outside of them' 'entries outside of segments: 15, in 15 rows' 'segments with entries in less than a quarter of the rows: 2' \
  'bytes: 8 a value + 24 a segment + 16 a slice + 4 a column outside of segments + 8 a row that has any' -- "$work/thin"
strokes 15 'class="other"'
# Half of the entries may lie outside of segments, one more may not.
matrix "$work/half" 128 1000 '{(i, i) for i in range(16)} | {(i, i + 300) for i in range(15)} | {(0, 999)}'
draw '1 slices of 128 rows, 1 diagonal segments, 16 entries outside of them' -- "$work/half"
matrix "$work/more" 128 1000 '{(i, i) for i in range(16)} | {(i, i + 300) for i in range(15)} | {(0, 999), (0, 500)}'
refuse 'no diagonals for more: 17 of 33 entries lie outside of segments' "$work/more"

# 32-bit and 64-bit integers, complex values, and a vector behind the matrix.
for layout in 'i 8 0' 'q 8 0' 'i 16 0' 'i 4 0' 'q 8 800'; do
  matrix "$work/row" 1 80000 '{(0, c) for c in (0, 16384, 40000, 60000, 79999)}' $layout
  draw '1 slices of 128 rows, 5 diagonal segments, 0 entries outside of them' -- "$work/row"
done
matrix "$work/complex" 1 80000 '{(0, 0), (0, 3)}' i 16
draw 'bytes: 16 a value + 24 a segment + 16 a slice' -- "$work/complex"

# One entry less, and there are no full blocks; 2 x 2 blocks in an odd number of rows neither.
matrix "$work/lack" 4 4 '{(i, j) for i in range(4) for j in range(4)} - {(3, 2)}'
refuse 'no diagonals of blocks for lack' "$work/lack" --format blockdiagonals
refuse 'no diagonals of blocks for 5 points, 3 x 3' --stencil 5 --size 3 --format blockdiagonals
refuse 'no diagonals of blocks for 27 points' --stencil 27 --size 8 --unknowns 3 --shuffle --format blockdiagonals
matrix "$work/moved" 4 6 '{(i, j) for i in range(4) for j in (1, 2, 3, 4)}'
refuse 'no diagonals of blocks for moved' "$work/moved" --format blockdiagonals

# Not more than 20,000 strokes, and the legend says so.
draw 'drawn: each 3-th slice only, 27 of 79' -- --stencil 5 --size 100 --unknowns 2 --format blockdiagonals
[ "$(grep -cE '<path|class="block"' "$work/out.svg")" -le 20000 ] || { echo 'more than 20,000 strokes'; exit 1; }
# Also of one slice: 512 segments, the most that a slice has, and entries on as many diagonals as there are entries.
matrix "$work/many" 128 30000 '{(i, i + k) for i in range(128) for k in range(512)} | {(i, 1000 + 129 * j) for i in range(128) for j in range(200)}'
draw '1 slices of 128 rows, 512 diagonal segments, 25600 entries outside of them' 'drawn: each 2-th stroke only of what these have' -- "$work/many"
strokes 256 '<path'
strokes 12800 'class="other"'
matrix "$work/most" 128 30000 '{(i, i + k) for i in range(128) for k in range(513)}'
draw '1 slices of 128 rows, 512 diagonal segments, 128 entries outside of them' -- "$work/most"

# Bad files.
refuse 'No such file' "$work/none"
said=$("$python" "$picture" --stencil 5 -o "$work/no/such/folder.svg" 2>&1) && { echo 'picture.py writes into a folder that is not there'; exit 1; }
grep -qF "picture.py: $work/no/such/folder.svg: No such file" <<<"$said" || { printf 'says about a folder that is not there:\n%s\n' "$said"; exit 1; }
: >"$work/empty"
refuse 'it has 0 bytes only' "$work/empty"
echo 'this is text, not a matrix, and long enough for a header' >"$work/text"
refuse 'it does not begin with 1211216' "$work/text"
head -c 59 "$work/lack" >"$work/short"
refuse 'ends too early' "$work/short"
head -c 20 "$work/lack" >"$work/header"
refuse 'ends too early' "$work/header"
bad() { # NUMBERS TEXT: a file of these 32-bit integers and a tail of 80 bytes
  "$python" -c 'import struct, sys; n = [int(w) for w in sys.argv[2].split()]; open(sys.argv[1], "wb").write(struct.pack(">%di" % len(n), *n) + bytes(80))' "$work/bad" "$1"
  refuse "$2" "$work/bad"
}
bad '1211216 2 2 2 1 2 0 1' 'its rows have 3 entries, its header says 2'
bad '1211216 2 2 2 3 -1 0 1' 'row 1 has -1 entries'
bad '1211216 2 2 2 1 1 0 2' 'a column 2 in a matrix of 2 columns'
bad '1211216 2 2 2 1 1 -5 0' 'a column -5 in a matrix of 2 columns'
bad '1211216 1 2 2 2 1 1' 'row 0 has a column twice'
bad '1211216 -2 2 2' '-2 rows'
bad '1211216 2 2 -1' 'a dense matrix'
bad '1211216 2 2 0 0 0' 'has no entries'
bad '1211216 2147483647 2147483647 2147483647' 'ends too early'
refuse 'one of them' "$work/lack" --stencil 5
refuse 'one of them'
refuse 'are 1 at least' --stencil 5 --size 0
exit 0
