"""Tests of benchmarks/select/train.py: what it writes in C predicts what it predicts, and what autocuda is said to spend."""
import json
import operator
import os
import random
import re
import subprocess
import sys
import tempfile

top = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
sys.path.insert(0, os.path.join(top, 'benchmarks', 'select'))
import train  # noqa: E402

FACTORS = (90.0, 4.0, 1.5)

HARNESS = r'''
static const AutoCosts costs = SM35_COSTS;

int main(void)
{
  int    format;
  double in[AUTO_NUM_TERMS];

  while (scanf("%d", &format) == 1) {
    for (int k = 0; k < AUTO_NUM_TERMS; k++)
      if (scanf("%lf", in + k) != 1) return 1;
    for (int t = 0; t < AUTO_NUM_TARGETS; t++) {
      double sum = 0;

      for (int k = 0; k < AUTO_NUM_TERMS; k++) sum += costs.factors[format][t][k] * in[k];
      printf("%.9g\n", sum);
    }
  }
  return costs.sampling != 40;
}
'''


def matrix(i):
  """Times are sums of terms, with noise; a few matrices are far off."""
  size = random.choice((1, 2, 3))
  n, mean = random.randrange(200, 2000) * 1000, random.uniform(4, 30)
  features = {'n_rows': n, 'n_cols': n, 'nnz_tot': round(n * mean), 'nnz_mu': mean, 'diagonals': random.uniform(0.5, 1), 'pieces': mean * random.uniform(1, 1.3), 'block_size': size}
  m = {'name': 'm%d' % i, 'family': 'f%d' % (i % 9), 'gpu': 'a GPU', 'date': '2026-01-01', 'may_pay': True, 'rule': 'diagonals', 'features': features, 'formats': {}, 'predict_us': 40}
  m['rows_n'] = 5 + 3.6e-6 * features['nnz_tot']
  m['rows_t'] = 1.2 * m['rows_n']
  for name in train.FORMATS:
    if i % 4 == 0 or (size == 1 and name == 'blockdiagonals'):
      continue
    us, ratio = sum(map(operator.mul, FACTORS, train.terms(m))) * random.uniform(0.97, 1.03) * (1.8 if i % 19 == 1 else 1), random.uniform(0.6, 1.4)
    m['formats'][name] = {'n': ratio * m['rows_n'], 't': 1.1 * ratio * m['rows_n'], 'update': 0.2 * us, 'convert': us, 'list': 150 + us, 'bytes': ratio * random.uniform(0.7, 1.4)}
  return m


def check_errors(matrices, model):
  """Those far off do not spoil the others."""
  errors = sorted(abs(model.predict(m, name, 'convert') / m['formats'][name]['convert'] - 1) for m in matrices for name in m['formats'])
  assert errors[len(errors) * 3 // 4] < 0.05, errors[len(errors) * 3 // 4]


def check_runs():
  """What autocuda spends: sampling, the conversion after some products with CSR, and nothing that does not pay."""
  m = {'rows_n': 105.0, 'rule': 'diagonals', 'predict_us': 52.5, 'features': {'n_rows': 1, 'n_cols': 1, 'nnz_tot': (380e6 - 20) / 12, 'block_size': 1},
       'formats': {'diagonals': {'n': 52.5, 'convert': 525.0, 'update': 210.0, 'bytes': 0.5}}}
  assert abs(train.product_by_bytes(m) - 105) < 1e-9

  def cost(m, name, target):
    return m['formats'][name][target]

  def run(products, hint):
    return train.run(m, cost, products, hint, 20)
  assert run(50, True) == 2 + 0.5 + 5 + 48 * 0.5  # a sample by product 1, taken by product 2
  assert run(50, False) == 11 + 0.5 + 5 + 39 * 0.5  # a sample by product 10, after 1000 us
  assert run(9, True) == 9 and run(12, True) == 12.5 and run(9, False) == 9
  m['features']['block_size'] = 2
  assert run(50, True) == 3 + 0.5 + 5 + 47 * 0.5  # another sample, of the blocks
  m['formats']['diagonals']['bytes'] = 1.1
  assert run(50, True) == 50.5
  m['formats']['diagonals']['bytes'] = 0.5
  for changes in train.CHANGES.values():
    for hint in (True, False):
      assert train.run_with_changes(m, cost, 1000, hint, 20, changes) < 2
  auto = train.Auto(m, cost, 1000, 20)
  kept = [auto.product(k > 9) for k in range(40)]
  assert kept[9] and not kept[-1]  # three copies eat what seven products and the conversion gained
  m['rule'] = 'csr'
  assert run(50, True) == 50.5
  constants = {name: float(value) for name, value in re.findall(r'#define (PRODUCT_US|BANDWIDTH) +(\S+)', open(os.path.join(top, 'src', 'mat', 'impls', 'auto', 'autopredict.c')).read())}
  bandwidth = float(re.search(r'\.bandwidth += (\d+)', open(os.path.join(top, 'src', 'tuning', 'sm90.c')).read()).group(1))
  assert constants['PRODUCT_US'] == train.PRODUCT_US and abs(constants['BANDWIDTH'] * bandwidth / train.BYTES_PER_US - 1) < 0.01, constants


def main():
  random.seed(3)
  with tempfile.TemporaryDirectory() as folder:
    records, table, program = (os.path.join(folder, name) for name in ('records.jsonl', 'sm35costs.h', 'program'))
    with open(records, 'w') as f:
      f.write(''.join(json.dumps(matrix(i)) + '\n' for i in range(240)) + '{"cut')
    subprocess.run([sys.executable, train.__file__, records, '--table', table], check=True, stdout=subprocess.DEVNULL)
    matrices = train.read([records])
    assert len(matrices) == 240, len(matrices)
    model = train.Model().fit(matrices)
    headers = os.path.join(top, 'include', 'petscsparsecuda')
    formats = re.search(r'typedef enum \{([^}]*)\} HiSparseFormat;', open(os.path.join(headers, 'hisparse.h')).read())
    costs = re.search(r'typedef enum \{\n  AUTO_TARGET_.*\} AutoCosts;', open(os.path.join(headers, 'tuning.h')).read(), re.S).group()
    order = [name.lower() for name in re.findall(r'AUTO_TERM_(\w+),', costs)]
    assert order == list(train.TERMS), order
    with open(program + '.c', 'w') as f:
      f.write('#include <stdio.h>\n#include "%s"\n%s\n%s\n%s' % (os.path.basename(table), formats.group(), costs, HARNESS))
    subprocess.run([os.environ.get('CC', 'cc'), '-Wall', '-Werror', program + '.c', '-o', program], check=True)
    numbers = re.findall(r'^ *(HISPARSE_\w+)', formats.group(), re.M)
    asked = [(m, name) for m in matrices for name in m['formats']]
    lines = '\n'.join('%d %s' % (numbers.index(train.FORMATS[name]), ' '.join('%.17g' % term for term in train.terms(m))) for m, name in asked)
    said = subprocess.run([program], input=lines, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    for i, (m, name) in enumerate(asked):
      for k, target in enumerate(train.TARGETS):
        expected = model.predict(m, name, target)
        assert abs(float(said[len(train.TARGETS) * i + k]) / expected - 1) < 1e-4, (m['name'], name, target, expected)
    check_errors(matrices, model)
    check_runs()


main()
