/* Written by benchmarks/select/train.py. */
#include "autotable.h"

// clang-format off
/* NVIDIA H200, 2026-11-24. */
static const AutoTable table = {"NVIDIA H200", "2026-11-24", 100.013, {
  [1] = {{86.1255, 0, 1.91171}, {197.66, 0.11675, 0.194699}, {5.66279, 0, 0.556402}}, /* diagonals */
  [2] = {{112.506, 0.909732, 0.854161}, {241.365, 0, 2.93165}, {7.22731, 0.00420064, 0.448726}}, /* windows */
  [3] = {{78.624, 13.6321, 0.94285}, {157.721, 2.7293, 0}, {4.45109, 0.807387, 0.539783}}, /* blocks */
  [4] = {{206.633, 26.1005, 0.267985}, {190.036, 3.60358, 0}, {16.3042, 0.567287, 0.523534}}, /* blockdiagonals */
}};
// clang-format on

const AutoTable *const AutoTables[] = {&table, NULL};
