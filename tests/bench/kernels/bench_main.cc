// bench_kernels: what one core does with rows, blocks and bytes. items_per_second are rows or
// floats.
#include "benchmark/benchmark.h"

BENCHMARK_MAIN();
