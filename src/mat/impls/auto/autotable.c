/* Written by benchmarks/select/train.py. No GPU has a table yet: choices are made by bytes. */
#include "autotable.h"

const AutoTable *const AutoTables[] = {NULL};
