#!/usr/bin/env python3
"""Usage: train.py RECORDS... [--table FILE] [--report FILE]

Learns from the records of benchmarks/select (JSON Lines, also compressed by gzip) what conversions to the formats of HiSparse and new values take, in microseconds, and writes the costs that autocuda reads
(src/tuning/sm90costs.h of compute capability 9.0, which sm90.c includes; another capability has a file of its own). Needs scikit-learn with its SciPy (pip install scikit-learn), which the library itself does not.

A time is a sum of a constant, the bytes of vectors and the bytes of values, each with a factor that is not negative. The format is that of the rule of hisparsecuda, and what products gain is what its bytes say.

The report: how much time is lost against the best choice (regret), of matrices of families that were not trained with, in five-fold cross validation, once for the choice at the beginning and once for what autocuda does, which
begins with CSR, samples and converts; the same for CSR alone, and for the best of CSR and the rule's format in hindsight. What learning of the times of products as well is worth, of all formats, by a boosted ensemble of trees
and all features, stands beside it. At the end: what autocuda loses where values change between products."""
import argparse
import gzip
import json
import math
import os
import sys

FORMATS = {'diagonals': 'HISPARSE_DIAGONALS', 'blockdiagonals': 'HISPARSE_BLOCK_DIAGONALS'}  # with their names in HiSparseFormat
TARGETS = ('convert', 'list', 'update')  # AutoTarget
TERMS = ('one', 'vectors', 'values')  # AutoTerm
ROBUST = 0.03  # relative errors above this one count less and less: a time that is far off is noise, or what the terms do not know
PRODUCTS, MANY = 50, 200  # for the regret with conversion
PRODUCT_US, BYTES_PER_US = 5, 3.8e6  # a product with CSR as the library predicts it (src/mat/impls/auto/autopredict.c)


def read(paths):
  """Matrices for which other storage than CSR is in question, each name once, with the formats that the library has and the features that all records have. A line that was cut off is left out."""
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

  def cost(self, m, name):
    """In products with CSR."""
    return self.predict(m, name, 'convert') / m['rows_n']


class Trees:
  """To compare with: the times of products and conversions of all formats over that of a product with CSR, by all features."""

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

  def cost(self, m, name):
    return math.exp(self.trees['convert'].predict([self.inputs(m, name)])[0])


def candidates(m):
  """The format that autocuda would take: that of the rule."""
  return [m['rule']] if m['rule'] in m['formats'] else []


def all_formats(m):
  return list(m['formats'])


def choose(m, formats, forward, cost, products):
  """The choice by what is predicted: None is CSR. products None: very many, whatever the conversion costs."""
  best, least = None, 1.0 if products is None else float(products)
  for name in formats(m):
    ratio = forward(m, name)
    predicted = ratio if products is None else ratio * products + cost(m, name)
    if predicted < least:
      best, least = name, predicted
  return best


def spent(m, name, products):
  """Time of a choice, in products with CSR."""
  if name is None:
    return 1.0 if products is None else float(products)
  f = m['formats'][name]
  return f['n'] / m['rows_n'] if products is None else (f['n'] * products + f['convert']) / m['rows_n']


def fastest(m, names, products):
  """The best in hindsight of CSR and some formats."""
  return min([None] + list(names), key=lambda name: spent(m, name, products))


def regrets(matrices, chosen, products):
  return [spent(m, c, products) / spent(m, fastest(m, m['formats'], products), products) - 1 for m, c in zip(matrices, chosen)]


def summary(values):
  values = sorted(values)
  return 'mean %5.2f %%, 95th percentile %5.2f %%, worst %6.2f %%' % (100 * sum(values) / len(values), 100 * values[min(len(values) - 1, math.ceil(0.95 * len(values)) - 1)], 100 * values[-1])


def by_bytes(m, name):
  return m['formats'][name]['bytes']


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


LOOKS = 50  # SKI_SAMPLING: autocuda samples a matrix once its products take so many times as long as that


def typical_sampling(matrices):
  """What sampling takes, microseconds: the median."""
  known = sorted(m['predict_us'] for m in matrices if 'predict_us' in m)
  return known[len(known) // 2] if known else 0.0


def product_by_bytes(m):
  """Microseconds of a product with CSR, as the library predicts it: one column a full block."""
  f = m['features']
  return PRODUCT_US + (8 * (f['n_rows'] + f['n_cols']) + 4 * f['n_rows'] + (8 + 4 / f['block_size'] ** 2) * f['nnz_tot']) / BYTES_PER_US


class Auto:
  """What autocuda does with one matrix (src/mat/impls/auto/autostorage.c), a product at a time; microseconds. cost() predicts conversions and new values, hint is a number of products, or 0, typical what sampling takes, as the table says."""

  def __init__(self, m, cost, hint, typical, looks=LOOKS):
    self.m, self.hint, self.sample_from = m, hint, looks * typical
    self.name = m['rule'] if m['rule'] in m['formats'] and by_bytes(m, m['rule']) < 1 else None
    self.csr = product_by_bytes(m)
    self.gain = self.csr * (1 - by_bytes(m, self.name)) if self.name else 0.0
    self.convert_cost, self.update_cost = (cost(m, self.name, target) if self.name else 0.0 for target in ('convert', 'update'))
    self.products, self.changes, self.copies, self.unpaid = [0, 0], 0, 0, 0  # products with CSR and with the storage
    self.steps = None  # products until a sample is there
    self.sampled = self.convert = self.storage = self.stale = False
    self.spent = 0.0

  def wants(self):
    """The choice for the next product; new values for the storage are paid for, or it goes."""
    if self.storage and self.stale:
      self.copies += 1
      if self.products[1] * self.gain + self.convert_cost < self.copies * self.update_cost:
        self.storage = self.convert = False
        self.unpaid = min(self.unpaid + 1, 6)
      else:
        self.spent += self.m['formats'][self.name]['update']
    elif self.convert and not self.storage:
      self.storage = True
      self.spent += self.m['formats'][self.name]['convert']
    self.stale = False

  def pays(self):
    seen = sum(self.products)
    gain = (self.gain * seen - self.changes * self.update_cost) / seen
    coming = self.hint - seen if self.copies == 0 else 0
    if gain <= 0:
      return False
    return gain * coming > self.convert_cost if coming > 0 else gain * seen >= self.convert_cost * 2**self.unpaid

  def count(self):
    """Samples, and chooses for the products to come; dense blocks take a second sample."""
    seen = sum(self.products)
    if self.convert or (self.sampled and self.name is None):
      return
    if self.steps is None:
      if self.csr * (self.hint - seen if self.hint > seen else seen) >= self.sample_from:
        self.steps = 2 if self.m['features']['block_size'] > 1 else 1
        self.spent += self.m.get('predict_us', 0)
      return
    self.steps -= 1
    self.sampled = self.sampled or self.steps == 0
    if self.sampled and self.name and self.pays():
      self.convert, self.copies, self.products = True, 0, [seen, 0]

  def product(self, changed):
    """changed: the values have, since the last one. Returns whether there is storage, or will be, for the next one."""
    self.stale = self.storage and changed
    self.wants()
    self.changes += changed and sum(self.products) > 0
    self.products[self.storage] += 1
    self.count()
    self.spent += self.m['formats'][self.name]['n'] if self.storage else self.m['rows_n']
    return self.storage or self.convert


def run(m, cost, products, hint, typical, looks=LOOKS):
  """Time of what autocuda does in so many products, in products with CSR."""
  auto = Auto(m, cost, products if hint else 0, typical, looks)
  for _ in range(products):
    auto.product(False)
  return auto.spent / m['rows_n']


def run_with_changes(m, cost, products, hint, typical, changes):
  """The same where values change before product k if changes(k, storage) says so, over the better of CSR alone and the storage from the first product on."""
  auto, storage, copies = Auto(m, cost, products if hint else 0, typical), False, 0
  for k in range(products):
    changed = k > 0 and changes(k, storage)
    copies += changed
    storage = auto.product(changed)
  f = m['formats'][m['rule']]
  return auto.spent / min(products * m['rows_n'], f['convert'] + products * f['n'] + copies * f['update'])


def regrets_of_runs(matrices, spent_by, products):
  return [t / spent(m, fastest(m, m['formats'], products), products) - 1 for m, t in zip(matrices, spent_by)]


def report_choices(matrices, models, trees, products, out):
  """Says what choices at the beginning are worth; returns them by who chooses."""
  out('Regret of the choice, %s:' % ('products alone' if products is None else '%d products with conversion' % products))
  choices = {
    'CSR': [None] * len(matrices),
    'learnt': [choose(m, candidates, by_bytes, model.cost, products) for m, model in zip(matrices, models)],
    'trees, all formats': [choose(m, all_formats, model.forward, model.cost, products) for m, model in zip(matrices, trees)],
    "rule's, in hindsight": [fastest(m, candidates(m), products) for m in matrices],
  }
  for key, chosen in choices.items():
    gain = sum(math.log(spent(m, None, products) / spent(m, c, products)) for m, c in zip(matrices, chosen)) / len(matrices)
    out('  %-24s %s; %.3f times as fast as CSR' % (key, summary(regrets(matrices, chosen, products)), math.exp(gain)))
  return choices


def report_runs(matrices, models, products, hint, looks, out):
  """The same for what autocuda does in the end."""
  typical = typical_sampling(matrices)
  times = [run(m, model.predict, products, hint, typical, looks) for m, model in zip(matrices, models)]
  gain = sum(math.log(products / t) for t in times) / len(times)
  out('Regret of what autocuda does, %d products, %s:' % (products, 'with a hint' if hint else 'without a hint'))
  out('  %s; %.3f times as fast as CSR; slower by more than 2 %%: %d matrices, at worst by %.1f %%'
      % (summary(regrets_of_runs(matrices, times, products)), math.exp(gain), sum(t > 1.02 * products for t in times), 100 * (max(times) / products - 1)))


CHANGES = {  # before product k, with storage or without
  'before each product': lambda k, storage: True,
  'before every fourth': lambda k, storage: k % 4 == 0,
  'before every 20th': lambda k, storage: k % 20 == 0,
  'before each from the 100th on': lambda k, storage: k >= 100,
  'before each with the storage': lambda k, storage: storage,
}


def report_changes(matrices, models, out):
  """What is lost where values change between products, of the matrices for which the rule has a format."""
  typical, products = typical_sampling(matrices), 1000
  some = [(m, model) for m, model in zip(matrices, models) if m['rule'] in m['formats']]
  for when, changes in CHANGES.items():
    for hint in (True, False):
      ratios = [run_with_changes(m, model.predict, products, hint, typical, changes) for m, model in some]
      out('Values change %s, %d products, %s: %.3f of the time of the better of CSR and the storage in the mean, at worst %.3f' % (when, products, 'with a hint' if hint else 'without a hint', sum(ratios) / len(ratios), max(ratios)))


def report_errors(matrices, models, out):
  def error(pairs):
    logs = [abs(math.log(predicted / measured)) for predicted, measured in pairs]
    return 100 * (math.exp(sum(logs) / len(logs)) - 1)
  chosen = [(m, model, m['rule']) for m, model in zip(matrices, models) if candidates(m)]
  if chosen:
    out("Mean errors for the rule's format: y = A x with CSR by bytes %.1f %%, with the format over that by bytes %.1f %%; %s"
        % (error((product_by_bytes(m), m['rows_n']) for m, _, _ in chosen), error((by_bytes(m, name) * m['rows_n'], m['formats'][name]['n']) for m, _, name in chosen),
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
    out('Sampling, of the time of %d products with CSR: median %.1f %%, 95th percentile %.1f %%' % (PRODUCTS, 100 * known[len(known) // 2], 100 * known[math.ceil(0.95 * len(known)) - 1]))


def report(matrices, looks, out):
  """Says what the choices are worth."""
  out('%d matrices of %d families for which there is a choice' % (len(matrices), len({m['family'] for m in matrices})))
  models = held_out(matrices, 5, lambda some: Model().fit(some))
  trees = held_out(matrices, 5, lambda some: Trees().fit(some))
  made = {products: report_choices(matrices, models, trees, products, out) for products in (None, PRODUCTS, MANY)}
  for products in (PRODUCTS, MANY):
    for hint in (True, False):
      report_runs(matrices, models, products, hint, looks, out)
  report_errors(matrices, models, out)
  report_families(matrices, made[PRODUCTS], out)
  report_overhead(matrices, out)
  report_changes(matrices, models, out)


def write_table(model, sampling, gpu, date, path):
  """A macro that is named by its file, for the member of type AutoCosts of a tuning."""
  factors = ['    [%s] = {%s}' % (format_, ', '.join('{%s}' % ', '.join('%.6g' % factor for factor in model.factors[name, target]) for target in TARGETS)) for name, format_ in FORMATS.items()]
  macro = ['#define %s {' % os.path.basename(path).replace('costs.h', '_costs').upper(), '  .sampling = %.6g,' % sampling, '  .factors = {'] + [line + ',' for line in factors[:-1]] + [factors[-1], '  }', '}']
  with open(path, 'w') as f:
    f.write('/* Written by benchmarks/select/train.py: %s, %s. */\n#pragma once\n\n// clang-format off\n%s\n// clang-format on\n' % (gpu, date, ' \\\n'.join(macro)))


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('records', nargs='+')
  parser.add_argument('--table', help='the header that is written, src/tuning/smCAPABILITYcosts.h')
  parser.add_argument('--report', help='a file for the report, beside standard output')
  parser.add_argument('--looks', type=int, default=LOOKS, help='autocuda samples a matrix once its products take so many times as long as that (%(default)s, as in the library)')
  a = parser.parse_args()
  matrices = read(a.records)
  gpus = {m['gpu'] for m in matrices}
  if len(gpus) != 1:
    sys.exit('Records of one GPU are wanted, these are of %s' % (', '.join(sorted(gpus)) or 'none'))
  said = []

  def out(line):
    print(line)
    said.append(line)
  report(matrices, a.looks, out)
  if a.table:
    write_table(Model().fit(matrices), typical_sampling(matrices), gpus.pop(), max(m['date'] for m in matrices), a.table)
  if a.report:
    with open(a.report, 'w') as f:
      f.write('\n'.join(said) + '\n')


if __name__ == '__main__':
  main()
