#!/usr/bin/env bash
# What benchmarks/select/train.py writes; skips without scikit-learn or a compiler.
python3 -c 'import sklearn' 2>/dev/null && command -v "${CC:-cc}" >/dev/null || exit 77
exec python3 "$(dirname "$0")/train_test.py"
