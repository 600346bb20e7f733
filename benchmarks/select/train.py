#!/usr/bin/env python3
"""Usage: train.py RECORDS... [--table FILE] [--report FILE] [--pictures FOLDER]

Learns from the records of benchmarks/select (JSON Lines, also compressed by gzip) what products, conversions and new values take with the formats of HiSparse, as a ratio to y = A x with rows, and writes the table that
autocuda reads (src/mat/impls/auto/autotable.c). Needs scikit-learn, and for pictures matplotlib (pip install scikit-learn matplotlib), which the library itself does not.

The report: how much time is lost against the best choice (regret), of matrices of families that were not trained with, in five-fold cross validation; the same for rows alone, for the hand-written rule, which counts bytes,
for the best of rows and the rule's format in hindsight, and without the features that cost most; and the importance of features."""
import argparse
import gzip
import json
import math
import os
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
  """Says what the choices are worth; returns them: a list in the order of the matrices, by number of products and by who chooses."""
  out('%d matrices of %d families for which there is a choice' % (len(matrices), len({m['family'] for m in matrices})))
  cheap = [n for n in names if not n.startswith(RUNS)]
  models, fewer = cross_validate(matrices, names), cross_validate(matrices, cheap)
  learnt = {'learnt': models, 'learnt, cheap features': fewer}
  made = {}
  for products in (None, PRODUCTS):
    out('Regret, %s:' % ('products alone' if products is None else '%d products with conversion' % products))
    choices = {'rows': [None] * len(matrices), 'hand-written rule': [choose(m, by_bytes, price_by_hand, products) for m in matrices]}
    for key, which in learnt.items():
      choices[key] = [choose(m, lambda m, f, model=model: model.predict(m, f, 'forward'), lambda m, f, model=model: model.predict(m, f, 'convert'), products) for m, model in zip(matrices, which)]
    choices["rule's, in hindsight"] = [fastest(m, candidates(m), products) for m in matrices]
    made[products] = choices
    for key, chosen in choices.items():
      gain = sum(math.log(spent(m, None, products) / spent(m, c, products)) for m, c in zip(matrices, chosen)) / len(matrices)
      out('  %-24s %s; %.3f times as fast as rows' % (key, summary(regrets(matrices, chosen, products)), math.exp(gain)))
  for target, ours, rows in TARGETS:
    errors = [abs(math.log(model.predict(m, name, target) * m[rows] / m['formats'][name][ours])) for m, model in zip(matrices, models) for name in candidates(m)]
    if errors:
      out('Error of the foretold %s: mean %.1f %%' % (target, 100 * (math.exp(sum(errors) / len(errors)) - 1)))
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
  names = list(matrices[0]['features'])
  made = report(matrices, names, out)
  if a.pictures:
    pictures(matrices, made, max(gpus), a.pictures)
  model = Model(names).fit(matrices)
  importance(model, out)
  if a.table:
    write_table(model, gpus.pop(), max(m['date'] for m in matrices), a.table)
  if a.report:
    with open(a.report, 'w') as f:
      f.write('\n'.join(said) + '\n')


if __name__ == '__main__':
  main()
