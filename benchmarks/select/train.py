#!/usr/bin/env python3
"""Usage: train.py RECORDS... [--table FILE] [--report FILE]

Learns from the records of benchmarks/select (JSON Lines, also compressed by gzip) what products, conversions and new values take with the formats of HiSparse, as a ratio to y = A x with rows, and writes the table that
autocuda reads (src/mat/impls/auto/autotable.c). Needs scikit-learn (pip install scikit-learn), which the library itself does not.

The report: how much time is lost against the best choice (regret), of matrices of families that were not trained with, in five-fold cross validation; the same for rows alone, for the hand-written rule, which counts bytes,
and without the features that cost most; and the importance of features."""
import argparse
import gzip
import json
import math
import sys

FORMATS = ('diagonals', 'windows', 'blocks', 'blockdiagonals')  # HiSparseFormat from 1 on
RUNS = ('nnzb_', 'snzb_', 'similarity', 'distance', 'spread')  # what begins so takes a pass over the entries of a sample
TARGETS = (('forward', 'n', 'rows_n'), ('transpose', 't', 'rows_t'), ('convert', 'convert', 'rows_n'), ('update', 'update', 'rows_n'))
PRODUCTS = 50  # for the regret with conversion
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


class Model:
  """A boosted ensemble for each target. An input is a feature, the number of the format, or the ratio by bytes."""

  def __init__(self, names):
    self.names, self.trees = names, {}

  def inputs(self, m, name):
    f = m['formats'][name]
    return [m['features'][n] for n in self.names] + [float(f['number']), min(f['bytes'], 1e6)]

  def fit(self, matrices):
    from sklearn.ensemble import GradientBoostingRegressor
    samples = [(m, name) for m in matrices for name in FORMATS if name in m['formats']]
    x = [self.inputs(m, name) for m, name in samples]
    for target, ours, rows in TARGETS:
      y = [math.log(m['formats'][name][ours] / m[rows]) for m, name in samples]
      self.trees[target] = GradientBoostingRegressor(n_estimators=80, max_depth=3, min_samples_leaf=4, learning_rate=0.1, subsample=0.8, random_state=1).fit(x, y)
    return self

  def predict(self, m, name, target):
    return math.exp(self.trees[target].predict([self.inputs(m, name)])[0])


def candidates(m):
  """The format that autocuda would look at: that of the rule."""
  return [m['rule']] if m['rule'] in m['formats'] else []


def choose(m, forward, price, products):
  """The choice by what is foretold: None is rows. products None: very many, whatever the conversion costs."""
  best, cost = None, 1.0 if products is None else float(products)
  for name in candidates(m):
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


def regrets(matrices, chosen, products):
  return [spent(m, c, products) / min(spent(m, name, products) for name in [None] + list(m['formats'])) - 1 for m, c in zip(matrices, chosen)]


def summary(values):
  values = sorted(values)
  return 'mean %5.2f %%, 95th percentile %5.2f %%, worst %6.2f %%' % (100 * sum(values) / len(values), 100 * values[min(len(values) - 1, math.ceil(0.95 * len(values)) - 1)], 100 * values[-1])


def by_bytes(m, name):
  return m['formats'][name]['bytes']


def price_by_hand(m, name):
  fixed, convert = FIXED[name]
  return fixed / m['rows_n'] + convert


def cross_validate(matrices, names, folds=5):
  """The model that judges each matrix: of a fold whose families it was not trained with."""
  from sklearn.model_selection import GroupKFold
  models = [None] * len(matrices)
  families = [m['family'] for m in matrices]
  for train, judge in GroupKFold(min(folds, len(set(families)))).split(matrices, groups=families):
    model = Model(names).fit([matrices[i] for i in train])
    for i in judge:
      models[i] = model
  return models


def report(matrices, names, out):
  out('%d matrices of %d families for which there is a choice' % (len(matrices), len({m['family'] for m in matrices})))
  cheap = [n for n in names if not n.startswith(RUNS)]
  models, fewer = cross_validate(matrices, names), cross_validate(matrices, cheap)
  learnt = {'learnt': models, 'learnt, cheap features': fewer}
  for products in (None, PRODUCTS):
    out('Regret, %s:' % ('products alone' if products is None else '%d products with conversion' % products))
    choices = {'rows': [None] * len(matrices), 'hand-written rule': [choose(m, by_bytes, price_by_hand, products) for m in matrices]}
    for key, which in learnt.items():
      choices[key] = [choose(m, lambda m, f, model=model: model.predict(m, f, 'forward'), lambda m, f, model=model: model.predict(m, f, 'convert'), products) for m, model in zip(matrices, which)]
    for key, chosen in choices.items():
      gain = sum(math.log(spent(m, None, products) / spent(m, c, products)) for m, c in zip(matrices, chosen)) / len(matrices)
      out('  %-24s %s; %.3f times as fast as rows' % (key, summary(regrets(matrices, chosen, products)), math.exp(gain)))
  for target, ours, rows in TARGETS:
    errors = [abs(math.log(model.predict(m, name, target) * m[rows] / m['formats'][name][ours])) for m, model in zip(matrices, models) for name in candidates(m)]
    if errors:
      out('Error of the foretold %s: mean %.1f %%' % (target, 100 * (math.exp(sum(errors) / len(errors)) - 1)))


def importance(model, out):
  trees = model.trees['forward']
  ranked = sorted(zip(trees.feature_importances_, model.names + ['format', 'bytes']), reverse=True)
  out('Importance for y = A x: ' + ', '.join('%s %.2f' % (name, weight) for weight, name in ranked[:10]))


def nodes_of(tree, rate, first):
  """The nodes of a tree in the order in which they are visited, the left child behind its parent."""
  t, nodes = tree.tree_, []

  def visit(node):
    place = len(nodes)
    nodes.append(None)
    if t.children_left[node] < 0:
      nodes[place] = (-1, 0, rate * t.value[node][0][0])
      return
    visit(t.children_left[node])
    right = len(nodes)
    visit(t.children_right[node])
    nodes[place] = (int(t.feature[node]), right - place, float(t.threshold[node]))
  visit(0)
  return first + len(nodes), nodes


def write_table(model, gpu, date, path):
  lines = ['/* Written by benchmarks/select/train.py. */', '#include "autotable.h"', '', '// clang-format off']
  tables = []
  for target, _, _ in TARGETS:
    trees, roots, nodes = model.trees[target], [], []
    for stage in trees.estimators_:
      roots.append(len(nodes))
      nodes += nodes_of(stage[0], trees.learning_rate, 0)[1]
    lines.append('static const int roots_%s[] = {%s};' % (target, ', '.join(map(str, roots))))
    lines.append('static const AutoNode nodes_%s[] = {' % target)
    lines += ['  ' + ' '.join('{%d, %d, %.6gf},' % (i, r, v) if '.' in '%.6g' % v or 'e' in '%.6g' % v else '{%d, %d, %.1ff},' % (i, r, v) for i, r, v in nodes[k:k + 8]) for k in range(0, len(nodes), 8)]
    lines.append('};')
    tables.append('  {%.6ff, %d, roots_%s, nodes_%s}' % (float(trees.init_.constant_.ravel()[0]), len(roots), target, target))
  lines += ['', '/* %s, %s. */' % (gpu, date), 'static const AutoTable table = {"%s", "%s", {' % (gpu, date), ',\n'.join(tables), '}};', '// clang-format on', '', 'const AutoTable *const AutoTables[] = {&table, NULL};', '']
  with open(path, 'w') as f:
    f.write('\n'.join(lines))


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('records', nargs='+')
  parser.add_argument('--table', help='the C file that is written')
  parser.add_argument('--report', help='a file for the report, beside standard output')
  a = parser.parse_args()
  matrices = read(a.records)
  gpus = {m['gpu'] for m in matrices}
  if len(gpus) != 1:
    sys.exit('Records of one GPU are wanted, these are of %s' % (', '.join(sorted(gpus)) or 'none'))
  said = []

  def out(line):
    print(line)
    said.append(line)
  names = list(matrices[0]['features'])
  report(matrices, names, out)
  model = Model(names).fit(matrices)
  importance(model, out)
  if a.table:
    write_table(model, gpus.pop(), max(m['date'] for m in matrices), a.table)
  if a.report:
    with open(a.report, 'w') as f:
      f.write('\n'.join(said) + '\n')


if __name__ == '__main__':
  main()
