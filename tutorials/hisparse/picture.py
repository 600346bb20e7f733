#!/usr/bin/env python3
"""Draws how a matrix of type hisparsecuda is stored, as SVG: masked diagonals, or masked diagonals of dense blocks.

The matrix is a binary file that MatView() has written, or a stencil on a grid that is made here. The segments and blocks are computed on the host from the
pattern, by the definitions of docs/hisparse.md; no GPU, no PETSc and no NumPy are needed. What is counted is in the picture and on standard output."""
import argparse
import array
import itertools
import os
import random
import struct
import sys

MAT_FILE_CLASSID = 1211216
MAX_STROKES = 20000  # of a picture; of more, bands are left out evenly

SLICE_ROWS = 128
MIN_PART = 8            # a diagonal with entries in fewer than one in so many rows of its slice is no piece
MAX_SLICE_SEGMENTS = 512  # further diagonals of a slice are no segments
BLOCK_SIZES = (6, 4, 3, 2)

STENCILS = {5: (2, True), 9: (2, False), 7: (3, True), 27: (3, False)}  # points: dimensions, and whether neighbors differ in one coordinate only


class Failure(Exception):
  """What is wrong, in words for the user."""


class Matrix:
  """A pattern in compressed rows. offsets [rows + 1]; columns [offsets[rows]], ascending in each row; value_bytes: of a value."""

  def __init__(self, rows, columns, offsets, indices, value_bytes, name):
    self.num_rows = rows
    self.num_columns = columns
    self.offsets = offsets
    self.columns = indices
    self.value_bytes = value_bytes
    self.name = name

  @property
  def num_nonzeros(self):
    return self.offsets[-1]


def big_endian(code, data):
  """An array of this type code from the bytes of a file."""
  a = array.array(code)
  a.frombytes(data)
  if sys.byteorder == 'little':
    a.byteswap()
  return a


def read_header(f, path):
  """Bytes of an integer in the file, rows, columns and nonzeros; the file is behind them afterwards."""
  head = f.read(32)
  for size, code in ((4, '>4i'), (8, '>4q')):
    if len(head) >= 4 * size:
      classid, rows, columns, nonzeros = struct.unpack(code, head[:4 * size])
      if classid == MAT_FILE_CLASSID:
        f.seek(4 * size)
        return size, rows, columns, nonzeros
  if len(head) < 16:
    raise Failure('%s is no PETSc binary matrix: it has %d bytes only' % (path, len(head)))
  raise Failure('%s is no PETSc binary matrix: it does not begin with %d; MatView() writes one with a viewer of PetscViewerBinaryOpen(), or with -mat_view binary:FILE' % (path, MAT_FILE_CLASSID))


def value_bytes_of(path, left, nonzeros, told):
  """Bytes of a value: as the user told, or what is left of the file says it, or 8 when more follows the matrix."""
  size = told
  if size is None:
    size = next((s for s in (8, 16, 4) if nonzeros * s == left), 8)
  if left < nonzeros * size:
    raise Failure('%s ends too early: %d nonzeros of %d bytes need %d bytes, and %d are there' % (path, nonzeros, size, nonzeros * size, max(left, 0)))
  return size


def read_matrix(path, told):
  """The pattern of a matrix from a PETSc binary file."""
  with open(path, 'rb') as f:
    size, rows, columns, nonzeros = read_header(f, path)
    if nonzeros == -1:
      raise Failure('%s has a dense matrix; convert it to MATAIJ first' % path)
    if min(rows, columns, nonzeros) < 0 or columns >= 2**31:
      raise Failure('%s is damaged: %d rows, %d columns and %d nonzeros' % (path, rows, columns, nonzeros))
    value_bytes = value_bytes_of(path, os.path.getsize(path) - (4 + rows + nonzeros) * size, nonzeros, told)
    lengths = big_endian('i' if size == 4 else 'q', f.read(rows * size))
    indices = big_endian('i' if size == 4 else 'q', f.read(nonzeros * size))
  if rows and min(lengths) < 0:
    raise Failure('%s is damaged: row %d has %d entries' % (path, lengths.index(min(lengths)), min(lengths)))
  offsets = [0] + list(itertools.accumulate(lengths))
  if offsets[-1] != nonzeros:
    raise Failure('%s is damaged: its rows have %d entries, its header says %d' % (path, offsets[-1], nonzeros))
  if nonzeros and (min(indices) < 0 or max(indices) >= columns):
    raise Failure('%s is damaged: a column %d in a matrix of %d columns' % (path, min(indices) if min(indices) < 0 else max(indices), columns))
  return Matrix(rows, columns, offsets, sort_rows(path, offsets, indices), value_bytes, os.path.basename(path))


def sort_rows(path, offsets, indices):
  """The columns, ascending in each row."""
  for i in range(len(offsets) - 1):
    row = indices[offsets[i]:offsets[i + 1]].tolist()
    ascending = sorted(set(row))
    if len(ascending) != len(row):
      raise Failure('%s is damaged: row %d has a column twice' % (path, i))
    if ascending != row:
      indices[offsets[i]:offsets[i + 1]] = array.array(indices.typecode, ascending)
  return indices


def make_stencil(points, n, unknowns, shuffle, value_bytes):
  """A stencil on a grid of n points a direction, with full blocks of unknowns x unknowns; with shuffle, the points are numbered at random."""
  dimensions, star = STENCILS[points]
  steps = [s for s in itertools.product((-1, 0, 1), repeat=dimensions) if not star or sum(map(abs, s)) <= 1]
  number = list(range(n**dimensions))
  if shuffle:
    random.Random(1).shuffle(number)
  rows = [None] * len(number)
  for k, p in enumerate(itertools.product(range(n), repeat=dimensions)):
    row = []
    for s in steps:
      q = 0
      for a, b in zip(p, s):
        if not 0 <= a + b < n:
          break
        q = q * n + a + b
      else:
        row.append(number[q])
    rows[number[k]] = sorted(row)
  offsets, indices = [0], array.array('i')
  for row in rows:
    entries = array.array('i', [c * unknowns + u for c in row for u in range(unknowns)])
    for _ in range(unknowns):
      indices.extend(entries)
      offsets.append(len(indices))
  name = '%d points, %s' % (points, ' x '.join([str(n)] * dimensions))
  name += ', %d unknowns a point' % unknowns if unknowns > 1 else ''
  name += ', points shuffled' if shuffle else ''
  return Matrix(len(number) * unknowns, len(number) * unknowns, offsets, indices, value_bytes, name)


class Storage:
  """What a format stores. bands: for each slice, first row, row behind its last, and strokes (kind, x, y, width, height) in rows and columns;
  facts: lines of the legend; key: (kind, text) of what the colors mean; total: bytes."""

  def __init__(self, matrix, format):
    self.matrix = matrix
    self.format = format
    self.bands = []
    self.facts = []
    self.key = []
    self.total = matrix.num_nonzeros * matrix.value_bytes
    self.parts = ['%d a value' % matrix.value_bytes]

  def add_bytes(self, number, size, what):
    """number things of this size are stored, too; without what, the legend is silent about them."""
    self.total += number * size
    if what and number:
      self.parts.append('%d %s' % (size, what))

  def finish(self):
    """The lines about bytes."""
    m = self.matrix
    csr = m.num_nonzeros * (m.value_bytes + 4) + 4 * (m.num_rows + 1)
    self.facts.append('%.2f bytes a nonzero; rows (CSR) take %.2f' % (self.total / m.num_nonzeros, csr / m.num_nonzeros))
    self.facts.append('bytes: ' + ' + '.join(self.parts))
    return self


FILL = ((0.25, 'p0', 'less than a quarter of the rows'), (0.5, 'p1', 'less than half'), (0.75, 'p2', 'less than three quarters'), (1.0, 'p3', 'more, but not all'), (2.0, 'p4', 'all rows'))  # rows with an entry, below this part


def slice_segments(matrix, first, last, min_part):
  """The segments of the slice of rows [first, last), as (column - row of the slice, mask), and its entries outside of them, as (row, column)."""
  masks = {}
  get = masks.get
  offsets, columns = matrix.offsets, matrix.columns
  for i in range(last - first):
    bit = 1 << i
    for c in columns[offsets[first + i]:offsets[first + i + 1]]:
      masks[c - i] = get(c - i, 0) | bit
  least = (last - first + min_part - 1) // min_part
  segments, others = [], []
  for c0 in sorted(masks):
    mask = masks[c0]
    if bin(mask).count('1') >= least and len(segments) < MAX_SLICE_SEGMENTS:
      segments.append((c0, mask))
    else:
      others += [(first + i, c0 + i) for i in range(last - first) if mask >> i & 1]
  return segments, others


def store_diagonals(matrix):
  """The format of masked diagonals."""
  s = Storage(matrix, 'diagonals')
  num_segments, num_others, in_slices, fill = 0, 0, {}, dict.fromkeys([kind for _, kind, _ in FILL], 0)
  other_rows = set()
  for first in range(0, matrix.num_rows, SLICE_ROWS):
    last = min(first + SLICE_ROWS, matrix.num_rows)
    segments, others = slice_segments(matrix, first, last, MIN_PART)
    strokes = []
    for c0, mask in segments:
      part = bin(mask).count('1') / (last - first)
      kind = next(k for limit, k, _ in FILL if part < limit)
      fill[kind] += 1
      low, high = (mask & -mask).bit_length() - 1, mask.bit_length()
      strokes.append((kind, c0 + low, first + low, high - low, high - low))
    strokes += [('other', c, r, 1, 1) for r, c in others]
    other_rows.update(r for r, _ in others)
    num_segments += len(segments)
    num_others += len(others)
    in_slices[len(segments)] = in_slices.get(len(segments), 0) + 1
    s.bands.append((first, last, strokes))
  if 2 * num_others > matrix.num_nonzeros:
    raise Failure('no diagonals for %s: %d of %d entries lie outside of segments, more than half; try another --format' % (matrix.name, num_others, matrix.num_nonzeros))
  s.add_bytes(num_segments, 24, 'a segment')
  s.add_bytes(len(s.bands), 16, 'a slice')
  if num_others:  # columns, then row numbers and offsets, then the first such row of each slice
    s.add_bytes(num_others, 4, 'a column outside of segments')
    s.add_bytes(len(other_rows), 8, 'a row that has any')
    s.add_bytes(len(s.bands) + 2, 4, '')
  s.facts.append('%d slices of %d rows, %d diagonal segments, %d entries outside of them' % (len(s.bands), SLICE_ROWS, num_segments, num_others))
  s.facts.append('segments a slice: %d to %d, %.1f on average; %.1f entries a segment' % (min(in_slices), max(in_slices), num_segments / len(s.bands), (matrix.num_nonzeros - num_others) / max(num_segments, 1)))
  s.key = [(kind, 'segments with entries in %s: %d' % (text, fill[kind])) for _, kind, text in FILL if fill[kind]]
  s.key += [('other', 'entries outside of segments: %d, in %d rows' % (num_others, len(other_rows)))] if num_others else []
  return s.finish()


def full_blocks(matrix, b):
  """The columns of blocks of each row of blocks, or None when a block of b x b lacks an entry."""
  if matrix.num_rows % b or matrix.num_columns % b:
    return None
  found = []
  for first in range(0, matrix.num_rows, b):
    rows = [matrix.columns[matrix.offsets[i]:matrix.offsets[i + 1]] for i in range(first, first + b)]
    if len(rows[0]) % b or any(row != rows[0] for row in rows[1:]):
      return None
    starts = rows[0][::b]
    if any(c % b for c in starts) or any(rows[0][k::b] != array.array(starts.typecode, [c + k for c in starts]) for k in range(1, b)):
      return None
    found.append([c // b for c in starts])
  return found


def collapse(matrix, size, rows):
  """The matrix that has an entry for each block."""
  offsets = [0] + list(itertools.accumulate(map(len, rows)))
  columns = array.array('i', itertools.chain.from_iterable(rows))
  return Matrix(matrix.num_rows // size, matrix.num_columns // size, offsets, columns, matrix.value_bytes * size * size, matrix.name)


def block_slices(collapsed):
  """The slices of rows of blocks as (first row of blocks, row behind the last, segments), or None when diagonals of blocks do not fit."""
  slices, num_segments = [], 0
  for first in range(0, collapsed.num_rows, SLICE_ROWS):
    last = min(first + SLICE_ROWS, collapsed.num_rows)
    segments, others = slice_segments(collapsed, first, last, SLICE_ROWS)  # one block makes a segment
    if others:
      return None
    num_segments += len(segments)
    slices.append((first, last, segments))
  return slices if collapsed.num_nonzeros * MIN_PART >= num_segments * min(collapsed.num_rows, SLICE_ROWS) else None


def store_block_diagonals(matrix):
  """The format of masked diagonals of blocks."""
  s = Storage(matrix, 'blockdiagonals')
  slices = size = None
  for b in BLOCK_SIZES:
    rows = full_blocks(matrix, b)
    slices = block_slices(collapse(matrix, b, rows)) if rows is not None else None
    if slices is not None:
      size = b
      break
  if slices is None:
    raise Failure('no diagonals of blocks for %s: a block lacks an entry, or diagonals have too few blocks in most slices; try another --format' % matrix.name)
  num_segments = 0
  for first, last, segments in slices:
    strokes = [('block', (c0 + i) * size, (first + i) * size, size, size) for c0, mask in segments for i in range(last - first) if mask >> i & 1]
    s.bands.append((first * size, last * size, strokes))
    num_segments += len(segments)
  num_blocks = matrix.num_nonzeros // (size * size)
  s.add_bytes(num_segments, 24, 'a segment')
  s.add_bytes(len(slices), 16, 'a slice')
  s.facts.append('%d slices of %d rows of blocks, %d diagonal segments of %d x %d blocks, 0 entries outside of them' % (len(slices), SLICE_ROWS, num_segments, size, size))
  s.facts.append('%.1f segments a slice, %.1f blocks a segment' % (num_segments / len(slices), num_blocks / max(num_segments, 1)))
  s.key = [('block', 'block of %d x %d entries' % (size, size))]
  return s.finish()


FORMATS = {'diagonals': store_diagonals, 'blockdiagonals': store_block_diagonals}

SIZE = 720  # pixels of the longer side of the matrix
SHORT = 90  # of the shorter one, at least
MARGIN = 16
LINE = 20   # of the legend
COLORS = {
  'p0': '#d9a521', 'p1': '#9fb83a', 'p2': '#4fa36b', 'p3': '#2b83a8', 'p4': '#1d4f91', 'other': '#d0212b',
  'block': '#4a90c2',
}
DIAGONAL = ('p0', 'p1', 'p2', 'p3', 'p4')


def choose(bands, limit):
  """Every step-th band, and every skip-th stroke of each, so that there are no more than limit strokes: bands, step, skip."""
  step = max(1, -(-sum(len(strokes) for _, _, strokes in bands) // limit))
  while step < len(bands) and sum(len(strokes) for _, _, strokes in bands[::step]) > limit:
    step += max(1, step // 8)
  step = min(step, len(bands))
  chosen = bands[::step]
  skip = max(1, -(-sum(len(strokes) for _, _, strokes in chosen) // limit))
  while sum(-(-len(strokes) // skip) for _, _, strokes in chosen) > limit and skip < limit:
    skip += 1
  return [(first, last, strokes[::skip]) for first, last, strokes in chosen], step, skip


def number_text(x):
  """A coordinate, in few characters."""
  return ('%.2f' % x).rstrip('0').rstrip('.')


def stroke_text(stroke, sx, sy):
  """An element of the picture; sx, sy: pixels of a column and of a row."""
  kind, x, y, w, h = stroke
  x, y, w, h = x * sx, y * sy, w * sx, h * sy
  if kind in DIAGONAL:
    return '<path class="%s" d="M%s %sl%s %s"/>' % (kind, number_text(x), number_text(y), number_text(w), number_text(h))
  least = 1.6 if kind == 'other' else 0.7
  if kind == 'block' and min(w, h) > 3:
    x, y, w, h = x + 0.3, y + 0.3, w - 0.6, h - 0.6
  return '<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>' % (kind, number_text(x), number_text(y), number_text(max(w, least)), number_text(max(h, least)))


def escape(text):
  """Text for SVG."""
  return text.replace('&', '&amp;').replace('<', '&lt;').replace('>', '&gt;')


def picture(storage):
  """The picture, and the lines of its legend."""
  m = storage.matrix
  longer = max(m.num_rows, m.num_columns)
  width, height = max(SIZE * m.num_columns / longer, SHORT), max(SIZE * m.num_rows / longer, SHORT)
  sx, sy = width / m.num_columns, height / m.num_rows
  bands, step, skip = choose(storage.bands, MAX_STROKES)
  lines = ['%s: %d x %d, %d nonzeros' % (m.name, m.num_rows, m.num_columns, m.num_nonzeros), 'format: %s' % storage.format] + storage.facts
  if step > 1:
    lines.append('drawn: each %d-th slice only, %d of %d' % (step, len(bands), len(storage.bands)))
  if skip > 1:
    lines.append('drawn: each %d-th stroke only of what these have' % skip)

  top = MARGIN + height + MARGIN + LINE
  total_width = max(SIZE, width) + 2 * MARGIN
  total_height = top + (len(lines) + len(storage.key)) * LINE
  stroke = min(max(0.8 * min(sx, sy), 0.7), 4)
  out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#222" role="img">' % ((total_width, total_height) * 2)]
  out.append('<title>%s, stored as %s</title>' % (escape(m.name), storage.format))
  rules = ['.%s { %s: %s%s }' % (kind, 'stroke' if kind in DIAGONAL else 'fill', color, '; fill: none; stroke-width: %s' % number_text(stroke) if kind in DIAGONAL else '') for kind, color in COLORS.items()]
  out.append('<style>%s .band { fill: #eef0f3 }</style>' % ' '.join(rules))
  out.append('<rect width="100%" height="100%" fill="#fff"/>')
  out.append('<g transform="translate(%d %d)">' % (MARGIN, MARGIN))
  if step == 1:  # every other band is shaded, where that can be seen
    out += ['<rect class="band" x="0" y="%s" width="%s" height="%s"/>' % (number_text(first * sy), number_text(width), number_text((last - first) * sy)) for first, last, _ in bands[1::2] if (last - first) * sy >= 2]
  for _, _, strokes in bands:
    out += [stroke_text(s, sx, sy) for s in strokes]
  out.append('<rect width="%s" height="%s" fill="none" stroke="#8a8f98"/>' % (number_text(width), number_text(height)))
  out.append('</g>')
  for k, line in enumerate(lines):
    out.append('<text x="%d" y="%s"%s>%s</text>' % (MARGIN, number_text(top + k * LINE), ' font-weight="bold"' if k == 0 else '', escape(line)))
  for k, (kind, text) in enumerate(storage.key, len(lines)):
    y = top + k * LINE
    out.append('<rect x="%d" y="%s" width="14" height="10" fill="%s"/><text x="%d" y="%s">%s</text>' % (MARGIN, number_text(y - 10), COLORS[kind], MARGIN + 22, number_text(y), escape(text)))
  out.append('</svg>')
  return '\n'.join(out) + '\n', lines + [text for _, text in storage.key]


def parse(words):
  """What the user asks for."""
  p = argparse.ArgumentParser(description='Draws how a matrix of type hisparsecuda is stored, as SVG.')
  p.add_argument('file', nargs='?', help='a matrix in a PETSc binary file, as MatView() writes it')
  p.add_argument('--stencil', type=int, choices=sorted(STENCILS), help='a stencil of so many points in place of a file: 5 and 9 in two dimensions, 7 and 27 in three')
  p.add_argument('--size', type=int, default=12, help='points of the grid in each direction (12)')
  p.add_argument('--unknowns', type=int, default=1, help='unknowns a point, all coupled (1)')
  p.add_argument('--shuffle', action='store_true', help='number the points of the grid at random')
  p.add_argument('--format', choices=list(FORMATS), default='diagonals', help='what to store (diagonals)')
  p.add_argument('--value-bytes', type=int, choices=(4, 8, 16), help='bytes of a value, where the size of the file does not say them (8)')
  p.add_argument('-o', dest='output', metavar='OUT.svg', required=True, help='where the picture goes')
  args = p.parse_args(words)
  if (args.file is None) == (args.stencil is None):
    p.error('a file or --stencil, one of them')
  if args.size < 1 or args.unknowns < 1:
    p.error('--size and --unknowns are 1 at least')
  return args


def main():
  args = parse(sys.argv[1:])
  try:
    if args.file is not None:
      matrix = read_matrix(args.file, args.value_bytes)
    else:
      matrix = make_stencil(args.stencil, args.size, args.unknowns, args.shuffle, args.value_bytes or 8)
    if matrix.num_nonzeros == 0:
      raise Failure('%s has no entries, so that nothing is stored' % matrix.name)
    svg, lines = picture(FORMATS[args.format](matrix))
    with open(args.output, 'w') as f:
      f.write(svg)
  except Failure as e:
    sys.exit('picture.py: %s' % e)
  except OSError as e:
    sys.exit('picture.py: %s: %s' % (e.filename, e.strerror))
  print('\n'.join(lines))


if __name__ == '__main__':
  main()
