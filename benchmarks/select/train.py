#!/usr/bin/env python3
"""Usage: train.py RECORDS... [--table FILE] [--report FILE] [--pictures FOLDER]

Learns from the records of benchmarks/select (JSON Lines, also compressed by gzip) what conversions to the formats of HiSparse and new values take, in microseconds, and writes the costs that autocuda reads
(src/tuning/sm90costs.h of compute capability 9.0, which sm90.c includes; another capability has a file of its own). Needs scikit-learn with its SciPy, and for pictures matplotlib (pip install scikit-learn matplotlib), which the library itself does not.

A time is a sum of a constant, the bytes of vectors and the bytes of values, each with a factor that is not negative. The format is that of the rule of hisparsecuda, and what products gain is what its bytes say.

The report: how much time is lost against the best choice (regret), of matrices of families that were not trained with, in five-fold cross validation, once for the choice at the beginning and once for what autocuda does, which
begins with rows, converts, measures and may go back; the same for rows alone, for prices that are written by hand, and for the best of rows and the rule's format in hindsight. What learning of the times of products as well is
worth, of all formats, by a boosted ensemble of trees and all features, stands beside it."""
import argparse
import gzip
import json
import math
import os
import sys

FORMATS = {'diagonals': 'HISPARSE_DIAGONALS', 'blocks': 'HISPARSE_BLOCKS', 'blockdiagonals': 'HISPARSE_BLOCK_DIAGONALS'}  # with their names in HiSparseFormat
TARGETS = ('convert', 'list', 'update')  # AutoTarget
TERMS = ('one', 'vectors', 'values')  # AutoTerm
ROBUST = 0.03  # relative errors above this one count less and less: a time that is far off is noise, or what the terms do not know
PRODUCTS, MANY = 50, 200  # for the regret with conversion
FIXED = {'diagonals': (200, 3.5), 'blocks': (200, 5.5), 'blockdiagonals': (200, 5.5)}  # the hand-written price, as in src/mat/impls/auto/autopredict.c


def read(paths):
  """Matrices for which other storage than rows is in question, each name once, with the formats that the library has and the features that all records have. A line that was cut off is left out."""
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
  features = set.intersection(*(set(m['features']) for m in matrices.values())) if matrices else set()
  for m in matrices.values():
    m['features'] = {name: value for name, value in m['features'].items() if name in features}
    m['formats'] = {name: m['formats'][name] for name in FORMATS if name in m['formats']}
  return list(matrices.values())


def terms(m):
  """What the times of a matrix are sums of; millions of bytes. As in autopredict.c."""
  f = m['features']
  return [1.0, 8e-6 * (f['n_rows'] + f['n_cols']), 8e-6 * f['nnz_tot']]


def fit(matrices, name, target):
  """Factors of the terms for a time of a format: the least sum of relative errors, nearly, by least squares with weights."""
  import numpy
  from scipy.optimize import nnls
  known = [m for m in matrices if name in m['formats']]
  if not known:
    return [0.0] * len(TERMS)
  x = numpy.array([terms(m) for m in known])
  y = numpy.array([max(m['formats'][name][target], 1e-3) for m in known])
  weights = 1 / y
  for _ in range(20):
    found = nnls(x * weights[:, None], y * weights)[0]
    weights = 1 / y / numpy.sqrt(numpy.maximum(abs(x @ found / y - 1), ROBUST))
  return [float(factor) for factor in found]


class Model:
  """The factors for each time of each format."""

  def fit(self, matrices):
    self.factors = {(name, target): fit(matrices, name, target) for name in FORMATS for target in TARGETS}
    return self

  def predict(self, m, name, target):
    """Microseconds."""
    return max(sum(factor * term for factor, term in zip(self.factors[name, target], terms(m))), 1e-3)

  def price(self, m, name):
    """In products with rows."""
    return self.predict(m, name, 'convert') / m['rows_n']


class Trees:
  """To compare with: the times of products and conversions of all formats over that of a product with rows, by all features."""

  def inputs(self, m, name):
    return list(m['features'].values()) + [float(list(FORMATS).index(name)), min(m['formats'][name]['bytes'], 1e6)]

  def fit(self, matrices):
    from sklearn.ensemble import GradientBoostingRegressor
    samples = [(m, name) for m in matrices for name in m['formats']]
    x = [self.inputs(m, name) for m, name in samples]
    self.trees = {}
    for target in ('n', 'convert'):
      y = [math.log(m['formats'][name][target] / m['rows_n']) for m, name in samples]
      self.trees[target] = GradientBoostingRegressor(n_estimators=80, max_depth=3, min_samples_leaf=4, learning_rate=0.1, subsample=0.8, random_state=1).fit(x, y)
    return self

  def forward(self, m, name):
    return math.exp(self.trees['n'].predict([self.inputs(m, name)])[0])

  def price(self, m, name):
    return math.exp(self.trees['convert'].predict([self.inputs(m, name)])[0])


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


FIRST_TOLD, ANSWERED, MEASURED = 3, 1, 5  # products of autostorage.c: with rows before a time is known; more of them before a look that was begun has ended; with the storage until both sides are measured
LOOKS = 50  # SKI_STORAGE_LOOK: autocuda looks at a matrix once its products take so many times as long as a look


def typical_look(matrices):
  """What a look takes, microseconds: the median."""
  known = sorted(m['predict_us'] for m in matrices if 'predict_us' in m)
  return known[len(known) // 2] if known else 0.0


def run(m, formats, forward, price, products, told, typical, looks=LOOKS):
  """Time of what autocuda does in so many products, in products with rows: rows at first, a look, the conversion when it pays, and back when rows were faster. Going back costs as much as the conversion did. typical: what a look takes, as the table says; it comes when products took so many times as long."""
  look_from = looks * typical
  first = FIRST_TOLD if told else max(FIRST_TOLD, math.ceil(look_from / m['rows_n']))
  if first >= products or (told and (products - first) * m['rows_n'] <= look_from):
    return products
  look = m.get('predict_us', 0) / m['rows_n']
  first += ANSWERED
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


def report_choices(matrices, models, trees, products, out):
  """Says what choices at the beginning are worth; returns them by who chooses."""
  out('Regret of the choice, %s:' % ('products alone' if products is None else '%d products with conversion' % products))
  choices = {
    'rows': [None] * len(matrices),
    'hand-written rule': [choose(m, candidates, by_bytes, price_by_hand, products) for m in matrices],
    'learnt': [choose(m, candidates, by_bytes, model.price, products) for m, model in zip(matrices, models)],
    'trees, all formats': [choose(m, all_formats, model.forward, model.price, products) for m, model in zip(matrices, trees)],
    "rule's, in hindsight": [fastest(m, candidates(m), products) for m in matrices],
  }
  for key, chosen in choices.items():
    gain = sum(math.log(spent(m, None, products) / spent(m, c, products)) for m, c in zip(matrices, chosen)) / len(matrices)
    out('  %-24s %s; %.3f times as fast as rows' % (key, summary(regrets(matrices, chosen, products)), math.exp(gain)))
  return choices


def report_runs(matrices, models, products, told, looks, out):
  """The same for what autocuda does in the end."""
  out('Regret of what autocuda does, %d products, %s:' % (products, 'told how many' if told else 'not told how many'))
  typical = typical_look(matrices)
  runs = {
    'hand-written rule': [run(m, candidates, by_bytes, price_by_hand, products, told, typical, looks) for m in matrices],
    'learnt': [run(m, candidates, by_bytes, model.price, products, told, typical, looks) for m, model in zip(matrices, models)],
  }
  for key, times in runs.items():
    gain = sum(math.log(products / t) for t in times) / len(times)
    out('  %-24s %s; %.3f times as fast as rows; slower by more than 2 %%: %d matrices, at worst by %.1f %%'
        % (key, summary(regrets_of_runs(matrices, times, products)), math.exp(gain), sum(t > 1.02 * products for t in times), 100 * (max(times) / products - 1)))


def report_errors(matrices, models, out):
  def error(pairs):
    logs = [abs(math.log(foretold / measured)) for foretold, measured in pairs]
    return 100 * (math.exp(sum(logs) / len(logs)) - 1)
  chosen = [(m, model, m['rule']) for m, model in zip(matrices, models) if candidates(m)]
  if chosen:
    out("Mean errors for the rule's format: y = A x by bytes %.1f %%; %s" % (error((by_bytes(m, name) * m['rows_n'], m['formats'][name]['n']) for m, _, name in chosen),
        ', '.join('%s %.1f %%' % (target, error((model.predict(m, name, target), max(m['formats'][name][target], 1e-3)) for m, model, name in chosen)) for target in TARGETS)))


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


def report(matrices, looks, out):
  """Says what the choices are worth; returns them: a list in the order of the matrices, by number of products and by who chooses."""
  out('%d matrices of %d families for which there is a choice' % (len(matrices), len({m['family'] for m in matrices})))
  models = held_out(matrices, 5, lambda some: Model().fit(some))
  trees = held_out(matrices, 5, lambda some: Trees().fit(some))
  made = {products: report_choices(matrices, models, trees, products, out) for products in (None, PRODUCTS, MANY)}
  for products in (PRODUCTS, MANY):
    for told in (True, False):
      report_runs(matrices, models, products, told, looks, out)
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


def write_table(model, look, gpu, date, path):
  """A macro that is named by its file, for the member of type AutoCosts of a tuning."""
  factors = ['    [%s] = {%s}' % (format_, ', '.join('{%s}' % ', '.join('%.6g' % factor for factor in model.factors[name, target]) for target in TARGETS)) for name, format_ in FORMATS.items()]
  macro = ['#define %s {' % os.path.basename(path).replace('costs.h', '_costs').upper(), '  .sampling = %.6g,' % look, '  .factors = {'] + [line + ',' for line in factors[:-1]] + [factors[-1], '  }', '}']
  with open(path, 'w') as f:
    f.write('/* Written by benchmarks/select/train.py: %s, %s. */\n#pragma once\n\n// clang-format off\n%s\n// clang-format on\n' % (gpu, date, ' \\\n'.join(macro)))


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('records', nargs='+')
  parser.add_argument('--table', help='the header that is written, src/tuning/smCAPABILITYcosts.h')
  parser.add_argument('--report', help='a file for the report, beside standard output')
  parser.add_argument('--pictures', help='a folder for pictures of the regret and of the gain by family')
  parser.add_argument('--looks', type=int, default=LOOKS, help='autocuda looks at a matrix once its products take so many times as long as a look (%(default)s, as in the library)')
  a = parser.parse_args()
  matrices = read(a.records)
  gpus = {m['gpu'] for m in matrices}
  if len(gpus) != 1:
    sys.exit('Records of one GPU are wanted, these are of %s' % (', '.join(sorted(gpus)) or 'none'))
  said = []

  def out(line):
    print(line)
    said.append(line)
  made = report(matrices, a.looks, out)
  if a.pictures:
    pictures(matrices, made, max(gpus), a.pictures)
  if a.table:
    write_table(Model().fit(matrices), typical_look(matrices), gpus.pop(), max(m['date'] for m in matrices), a.table)
  if a.report:
    with open(a.report, 'w') as f:
      f.write('\n'.join(said) + '\n')


if __name__ == '__main__':
  main()
