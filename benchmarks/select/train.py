#!/usr/bin/env python3
"""Usage: train.py RECORDS... [--table FILE] [--report FILE] [--pictures FOLDER]

Learns from the records of benchmarks/select (JSON Lines, also compressed by gzip) what products, conversions and new values take with the formats of HiSparse, in microseconds, and writes the table that autocuda reads
(src/mat/impls/auto/autotable.c). Needs scikit-learn with its SciPy, and for pictures matplotlib (pip install scikit-learn matplotlib), which the library itself does not.

A time is a sum of what the format reads, writes and launches, each with a factor that is not negative; one of the terms is the time of the product with rows, which autocuda has measured by then.

The report: how much time is lost against the best choice (regret), of matrices of families that were not trained with, in five-fold cross validation, once for the choice at the beginning and once for what autocuda does, which
begins with rows, converts, measures and may go back; the same for rows alone, for the hand-written rule, which counts bytes, and for the best of rows and the rule's format in hindsight; and how well times are foretold."""
import argparse
import gzip
import json
import math
import os
import sys

FORMATS = ('diagonals', 'windows', 'blocks', 'blockdiagonals')  # HiSparseFormat from 1 on
TARGETS = ('n', 't', 'convert', 'list', 'update')  # AutoTarget
TERMS = ('one', 'vectors', 'values', 'pieces', 'blocks', 'block_rows', 'outside', 'rows')  # AutoTerm
USED = {  # by the times of a format: those of its structure
  'diagonals': ('one', 'vectors', 'values', 'pieces', 'outside', 'rows'),
  'windows': ('one', 'vectors', 'values', 'rows'),
  'blocks': ('one', 'vectors', 'values', 'blocks', 'block_rows', 'rows'),
  'blockdiagonals': ('one', 'values', 'block_rows', 'outside'),
}
ROBUST = 0.03  # relative errors above this one count less and less: a time that is far off is noise, or what the terms do not know
MARGINS = (0, 0.02, 0.04, 0.06, 0.08, 0.1)  # parts of the time of rows that have to be gained beyond the conversion
AIMS = (0.03, 0.12)  # regret: mean, 95th percentile
PRODUCTS, MANY = 50, 200  # for the regret with conversion
FIXED = {'diagonals': (200, 3.5), 'windows': (200, 5.5), 'blocks': (200, 5.5), 'blockdiagonals': (200, 5.5)}  # the hand-written price, as in src/mat/impls/auto/autopredict.c


def read(paths):
  """Matrices for which other storage than rows is in question, each name once. A line that was cut off is left out."""
  matrices = {}
  for path in paths:
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as f:
      for line in f:
        try:
          record = json.loads(line)
        except ValueError:
          continue
        if record.get('may_pay'):
          matrices[record['name']] = record
  return list(matrices.values())


def terms(m):
  """What the times of a matrix are sums of: millions of bytes, or of blocks and their rows; rows is the time of y = A x with rows. As in autotable.h."""
  f = m['features']
  rows, entries, size = f['n_rows'], f['nnz_tot'], f['block_size']
  return {
    'one': 1.0,
    'vectors': 8e-6 * (rows + f['n_cols']),
    'values': 8e-6 * entries,
    'pieces': 24e-6 * f['pieces'] * rows / 128,
    'blocks': 1e-6 * entries / size**2,
    'block_rows': 1e-6 * rows / size,
    'outside': 12e-6 * (1 - f['diagonals']) * entries,
    'rows': m['rows_n'],
  }


def fit(matrices, name, target):
  """Factors of the terms for a time of a format: the least sum of relative errors, nearly, by least squares with weights."""
  import numpy
  from scipy.optimize import nnls
  known = [m for m in matrices if name in m['formats']]
  factors = dict.fromkeys(TERMS, 0.0)
  if not known:
    return factors
  x = numpy.array([[terms(m)[term] for term in USED[name]] for m in known])
  y = numpy.array([max(m['formats'][name][target], 1e-3) for m in known])
  weights = 1 / y
  for _ in range(20):
    found = nnls(x * weights[:, None], y * weights)[0]
    weights = 1 / y / numpy.sqrt(numpy.maximum(abs(x @ found / y - 1), ROBUST))
  factors.update(zip(USED[name], map(float, found)))
  return factors


class Model:
  """The factors for each time of each format, and the margin."""

  def __init__(self, margin=0.0):
    self.factors, self.margin = {}, margin

  def fit(self, matrices):
    self.factors = {(name, target): fit(matrices, name, target) for name in FORMATS for target in TARGETS}
    return self

  def predict(self, m, name, target):
    """Microseconds."""
    have = terms(m)
    return max(sum(self.factors[name, target][term] * have[term] for term in TERMS), 1e-3)

  def forward(self, m, name):
    """Of a product, in products with rows, with the margin."""
    return self.predict(m, name, 'n') / m['rows_n'] + self.margin

  def price(self, m, name):
    return self.predict(m, name, 'convert') / m['rows_n']


def candidates(m):
  """The format that autocuda would look at: that of the rule."""
  return [m['rule']] if m['rule'] in m['formats'] else []


def all_formats(m):
  return list(m['formats'])


def choose(m, formats, forward, price, products):
  """The choice by what is foretold: None is rows. products None: very many, whatever the conversion costs."""
  best, cost = None, 1.0 if products is None else float(products)
  for name in formats(m):
    ratio = forward(m, name)
    foretold = ratio if products is None else ratio * products + price(m, name)
    if foretold < cost:
      best, cost = name, foretold
  return best


def spent(m, name, products):
  """Time of a choice, in products with rows."""
  if name is None:
    return 1.0 if products is None else float(products)
  f = m['formats'][name]
  return f['n'] / m['rows_n'] if products is None else (f['n'] * products + f['convert']) / m['rows_n']


def fastest(m, names, products):
  """The best in hindsight of rows and some formats."""
  return min([None] + list(names), key=lambda name: spent(m, name, products))


def regrets(matrices, chosen, products):
  return [spent(m, c, products) / spent(m, fastest(m, m['formats'], products), products) - 1 for m, c in zip(matrices, chosen)]


def summary(values):
  values = sorted(values)
  return 'mean %5.2f %%, 95th percentile %5.2f %%, worst %6.2f %%' % (100 * sum(values) / len(values), 100 * values[min(len(values) - 1, math.ceil(0.95 * len(values)) - 1)], 100 * values[-1])


def by_bytes(m, name):
  return m['formats'][name]['bytes']


def price_by_hand(m, name):
  fixed, convert = FIXED[name]
  return fixed / m['rows_n'] + convert


def folds_of(matrices, folds):
  """Numbers of the matrices to train with and to judge, no family in both."""
  from sklearn.model_selection import GroupKFold
  families = [m['family'] for m in matrices]
  return GroupKFold(min(folds, len(set(families)))).split(matrices, groups=families)


def held_out(matrices, folds, train):
  """What judges each matrix: train() of the matrices of other families."""
  models = [None] * len(matrices)
  for others, judged in folds_of(matrices, folds):
    model = train([matrices[i] for i in others])
    for i in judged:
      models[i] = model
  return models


def badness(values):
  """Mean and 95th percentile over the aims."""
  values = sorted(values)
  return sum(values) / len(values) / AIMS[0] + values[min(len(values) - 1, math.ceil(0.95 * len(values)) - 1)] / AIMS[1]


def train_with_margin(matrices):
  """A model whose margin is the best for families held out of these matrices."""
  models, best = held_out(matrices, 4, lambda some: Model().fit(some)), None
  for margin in MARGINS:
    for model in models:
      model.margin = margin
    bad = badness(regrets(matrices, [choose(m, all_formats, model.forward, model.price, PRODUCTS) for m, model in zip(matrices, models)], PRODUCTS))
    if best is None or bad < best[0]:
      best = (bad, margin)
  return Model(best[1]).fit(matrices)


FIRST_TOLD, MEASURED = 3, 5  # products of autostorage.c: with rows before a time is known; with the storage until both sides are measured
LOOK_FROM = 1000  # SKI_STORAGE_LOOK: microseconds of products from which on autocuda looks at a matrix


def run(m, formats, forward, price, products, told):
  """Time of what autocuda does in so many products, in products with rows: rows at first, a look, the conversion when it pays, and back when rows were faster. Going back costs as much as the conversion did."""
  first = FIRST_TOLD if told else max(FIRST_TOLD, math.ceil(LOOK_FROM / m['rows_n']))
  if first >= products or (told and (products - first) * m['rows_n'] <= LOOK_FROM):
    return products
  look = m.get('predict_us', 0) / m['rows_n']
  if told:
    name = choose(m, formats, forward, price, products - first)
  else:
    name = min((n for n in formats(m) if forward(m, n) < 1), key=lambda n: forward(m, n) * 2 * first + price(m, n), default=None)
  if name is None:
    return products + look
  if not told:
    first = max(first, math.ceil(price(m, name) / (1 - forward(m, name))))
  if first >= products:
    return products + look
  ratio, convert, left = m['formats'][name]['n'] / m['rows_n'], m['formats'][name]['convert'] / m['rows_n'], products - first
  if ratio <= 1 or left <= MEASURED:
    return first + look + convert + left * ratio
  return first + look + convert + MEASURED * ratio + convert + (left - MEASURED)


def regrets_of_runs(matrices, spent_by, products):
  return [t / spent(m, fastest(m, m['formats'], products), products) - 1 for m, t in zip(matrices, spent_by)]


def report_choices(matrices, models, products, out):
  """Says what choices at the beginning are worth; returns them by who chooses."""
  out('Regret of the choice, %s:' % ('products alone' if products is None else '%d products with conversion' % products))
  choices = {
    'rows': [None] * len(matrices),
    'hand-written rule': [choose(m, candidates, by_bytes, price_by_hand, products) for m in matrices],
    'learnt': [choose(m, all_formats, model.forward, model.price, products) for m, model in zip(matrices, models)],
    "rule's, in hindsight": [fastest(m, candidates(m), products) for m in matrices],
  }
  for key, chosen in choices.items():
    gain = sum(math.log(spent(m, None, products) / spent(m, c, products)) for m, c in zip(matrices, chosen)) / len(matrices)
    out('  %-24s %s; %.3f times as fast as rows' % (key, summary(regrets(matrices, chosen, products)), math.exp(gain)))
  return choices


def report_runs(matrices, models, products, told, out):
  """The same for what autocuda does in the end."""
  out('Regret of what autocuda does, %d products, %s:' % (products, 'told how many' if told else 'not told how many'))
  runs = {
    'hand-written rule': [run(m, candidates, by_bytes, price_by_hand, products, told) for m in matrices],
    'learnt': [run(m, all_formats, model.forward, model.price, products, told) for m, model in zip(matrices, models)],
  }
  for key, times in runs.items():
    gain = sum(math.log(products / t) for t in times) / len(times)
    out('  %-24s %s; %.3f times as fast as rows; slower by more than 2 %%: %d matrices, at worst by %.1f %%'
        % (key, summary(regrets_of_runs(matrices, times, products)), math.exp(gain), sum(t > 1.02 * products for t in times), 100 * (max(times) / products - 1)))


def report_errors(matrices, models, out):
  for target in TARGETS:
    errors = {name: [abs(math.log(model.predict(m, name, target) / max(m['formats'][name][target], 1e-3))) for m, model in zip(matrices, models) if name in m['formats']] for name in FORMATS}
    out('Mean error of the foretold %s: %s' % (target, ', '.join('%s %.1f %%' % (name, 100 * (math.exp(sum(e) / len(e)) - 1)) for name, e in errors.items() if e)))


def report_families(matrices, choices, out):
  """Where time is still lost."""
  lost = regrets(matrices, choices['learnt'], PRODUCTS)
  families = {m['family'] for m in matrices}
  ranked = sorted(((sum(x for m, x in zip(matrices, lost) if m['family'] == f) / len(matrices), f) for f in families), reverse=True)
  out('Families that lose most by the learnt choice, parts of its mean with %d products: %s' % (PRODUCTS, ', '.join('%s %.2f %%' % (f, 100 * x) for x, f in ranked[:6])))


def report_overhead(matrices, out):
  known = sorted(m['predict_us'] / m['rows_n'] / PRODUCTS for m in matrices if 'predict_us' in m)
  if known:
    out('A look at the matrix, of the time of %d products with rows: median %.1f %%, 95th percentile %.1f %%' % (PRODUCTS, 100 * known[len(known) // 2], 100 * known[math.ceil(0.95 * len(known)) - 1]))


def report(matrices, out):
  """Says what the choices are worth; returns them: a list in the order of the matrices, by number of products and by who chooses."""
  out('%d matrices of %d families for which there is a choice' % (len(matrices), len({m['family'] for m in matrices})))
  models = held_out(matrices, 5, train_with_margin)
  out('Margins of the five folds: ' + ', '.join('%g' % x for x in sorted(model.margin for model in {id(model): model for model in models}.values())))
  made = {products: report_choices(matrices, models, products, out) for products in (None, PRODUCTS)}
  for products in (PRODUCTS, MANY):
    for told in (True, False):
      report_runs(matrices, models, products, told, out)
  report_errors(matrices, models, out)
  report_families(matrices, made[PRODUCTS], out)
  report_overhead(matrices, out)
  return made


def save(figure, path):
  """The same bytes each time."""
  import matplotlib.pyplot as plt
  figure.tight_layout()
  figure.savefig(path, metadata={'Date': None})
  plt.close(figure)


def picture_regrets(matrices, choices, products, title, path):
  """Which share of the matrices loses no more than so much."""
  import matplotlib.pyplot as plt
  figure, axes = plt.subplots(figsize=(7, 4))
  for key, style in (('rows', ':'), ('hand-written rule', '-'), ('learnt', '--')):
    values = sorted(100 * r for r in regrets(matrices, choices[key], products))
    axes.step(values, [100 * (k + 1) / len(values) for k in range(len(values))], style, where='post', label=key)
  axes.axhline(95, color='grey', linewidth=0.5)
  axes.set(xlabel='time lost against the best choice in hindsight, %', ylabel='share of the matrices, %', xlim=(0, 60), ylim=(40, 100.5), title=title)
  axes.legend(loc='lower right')
  save(figure, path)


def picture_families(matrices, choices, products, title, path):
  """How much faster than rows each family is."""
  import matplotlib.pyplot as plt

  def gain(of, family):
    logs = [math.log(spent(m, None, products) / spent(m, c, products)) for m, c in zip(matrices, of) if m['family'] == family]
    return math.exp(sum(logs) / len(logs))
  best = [fastest(m, m['formats'], products) for m in matrices]
  families = sorted({m['family'] for m in matrices}, key=lambda family: (gain(best, family), family))
  figure, axes = plt.subplots(figsize=(7, 0.28 * len(families) + 1.2))
  for place, (key, of, marker) in enumerate((('best in hindsight', best, '|'), ('hand-written rule', choices['hand-written rule'], 'o'), ('learnt', choices['learnt'], 'x'))):
    axes.plot([gain(of, family) for family in families], range(len(families)), marker, label=key, zorder=3 - place, markersize=9 - 2 * place)
  axes.axvline(1, color='grey', linewidth=0.5)
  axes.set(xlabel='times as fast as rows, geometric mean of the family', title=title, yticks=range(len(families)), yticklabels=['%s (%d)' % (family, sum(m['family'] == family for m in matrices)) for family in families])
  axes.legend(loc='lower right')
  save(figure, path)


def pictures(matrices, made, gpu, folder):
  import matplotlib
  matplotlib.use('svg')
  matplotlib.rcParams.update({'svg.hashsalt': 'petscsparsecuda', 'svg.fonttype': 'none'})
  title = '%d products with conversion, %s' % (PRODUCTS, gpu)
  where = os.path.join(folder, 'selection_%s_' % gpu.split()[-1].lower())
  picture_regrets(matrices, made[PRODUCTS], PRODUCTS, title, where + 'regret.svg')
  picture_families(matrices, made[PRODUCTS], PRODUCTS, title, where + 'families.svg')


def write_table(model, gpu, date, path):
  lines = ['/* Written by benchmarks/select/train.py. */', '#include "autotable.h"', '', '// clang-format off', '/* %s, %s. */' % (gpu, date)]
  lines += ['static const AutoTable table = {"%s", "%s", %g, {' % (gpu, date, model.margin)]
  for number, name in enumerate(FORMATS, 1):
    lines.append('  [%d] = { /* %s */' % (number, name))
    lines += ['    {%s}, /* %s */' % (', '.join('%.6g' % model.factors[name, target][term] for term in TERMS), target) for target in TARGETS]
    lines.append('  },')
  lines += ['}};', '// clang-format on', '', 'const AutoTable *const AutoTables[] = {&table, NULL};', '']
  with open(path, 'w') as f:
    f.write('\n'.join(lines))


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('records', nargs='+')
  parser.add_argument('--table', help='the C file that is written')
  parser.add_argument('--report', help='a file for the report, beside standard output')
  parser.add_argument('--pictures', help='a folder for pictures of the regret and of the gain by family')
  a = parser.parse_args()
  matrices = read(a.records)
  gpus = {m['gpu'] for m in matrices}
  if len(gpus) != 1:
    sys.exit('Records of one GPU are wanted, these are of %s' % (', '.join(sorted(gpus)) or 'none'))
  said = []

  def out(line):
    print(line)
    said.append(line)
  made = report(matrices, out)
  if a.pictures:
    pictures(matrices, made, max(gpus), a.pictures)
  if a.table:
    write_table(train_with_margin(matrices), gpus.pop(), max(m['date'] for m in matrices), a.table)
  if a.report:
    with open(a.report, 'w') as f:
      f.write('\n'.join(said) + '\n')


if __name__ == '__main__':
  main()
