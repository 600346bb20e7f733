/* Written by benchmarks/select/train.py: NVIDIA H200, 2026-11-26. */
#pragma once

// clang-format off
#define SM90_COSTS { \
  .sampling = 27.873, \
  .factors = { \
    [HISPARSE_DIAGONALS] = {{75.7439, 0, 1.97237}, {177.801, 0.123939, 0.295883}, {4.09281, 0, 0.555835}}, \
    [HISPARSE_BLOCK_DIAGONALS] = {{181.842, 26.6616, 0.290397}, {173.993, 4.46942, 0}, {14.2262, 0.442329, 0.535182}} \
  } \
}
// clang-format on
