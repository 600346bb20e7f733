"""Tests of benchmarks/select/train.py: what it writes in C foretells what the trees foretell."""
import json
import os
import random
import re
import subprocess
import sys
import tempfile

top = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..'))
sys.path.insert(0, os.path.join(top, 'benchmarks', 'select'))
import train  # noqa: E402

HARNESS = r'''
int main(void)
{
  double in[64];

  for (;;) {
    for (int k = 0; k < N; k++)
      if (scanf("%lf", in + k) != 1) return 0;
    for (int t = 0; t < 4; t++) {
      const AutoTrees *trees = &table.trees[t];
      double           sum   = trees->base;

      for (int i = 0; i < trees->num_trees; i++) {
        const AutoNode *node = trees->nodes + trees->roots[i];

        while (node->input >= 0) node += in[node->input] > (double)node->value ? node->right : 1;
        sum += (double)node->value;
      }
      printf("%.9g\n", exp(sum));
    }
  }
}
'''


def matrix(i):
  rows, ratio = 10 + 200 * random.random(), 0.5 + 0.7 * random.random()
  features = {name: round(100 * random.random(), 3) for name in ('n_rows', 'nnz_tot', 'nnz_mu', 'similarity', 'diagonals')}
  times = {'number': 1, 'n': ratio * rows, 't': 0.9 * ratio * rows, 'update': 1.4 * rows, 'convert': 200 + 4 * rows, 'list': 200, 'bytes': ratio * (0.9 + 0.2 * random.random())}
  return {'name': 'm%d' % i, 'family': 'f%d' % (i % 7), 'gpu': 'a GPU', 'date': '2026-01-01', 'may_pay': True, 'rule': 'diagonals', 'rows_n': rows, 'rows_t': 1.2 * rows, 'features': features, 'formats': {'diagonals': times} if i % 4 else {}}


def main():
  random.seed(3)
  with tempfile.TemporaryDirectory() as folder:
    records, table, program = (os.path.join(folder, name) for name in ('records.jsonl', 'table.c', 'program'))
    with open(records, 'w') as f:
      f.write(''.join(json.dumps(matrix(i)) + '\n' for i in range(80)) + '{"cut')
    subprocess.run([sys.executable, train.__file__, records, '--table', table], check=True, stdout=subprocess.DEVNULL)
    matrices = train.read([records])
    assert len(matrices) == 80, len(matrices)
    model = train.Model(list(matrices[0]['features'])).fit(matrices)
    types = re.sub(r'#include <petsc.*|#pragma once|PETSC_INTERN', '', open(os.path.join(top, 'src', 'mat', 'impls', 'auto', 'autotable.h')).read()).replace('DCSR_NUM_FEATURES', '5')
    source = '#include <stdio.h>\n#include <math.h>\n#define N 7\n' + open(table).read().replace('#include "autotable.h"', types) + HARNESS
    with open(table, 'w') as f:
      f.write(source)
    subprocess.run([os.environ.get('CC', 'cc'), '-Wall', table, '-o', program, '-lm'], check=True)
    asked = [m for m in matrices if m['formats']]
    said = subprocess.run([program], input='\n'.join(' '.join('%.17g' % v for v in model.inputs(m, 'diagonals')) for m in asked), check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    for i, m in enumerate(asked):
      for k, (target, _, _) in enumerate(train.TARGETS):
        expected = model.predict(m, 'diagonals', target)
        assert abs(float(said[4 * i + k]) / expected - 1) < 1e-4, (m['name'], target, said[4 * i + k], expected)


main()
