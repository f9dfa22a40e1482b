// Metrics of this process from the kernel: CPU time, memory, the limits of both, and its start.
#ifndef CAPSTAN_METRICS_PROCESS_METRICS_H_
#define CAPSTAN_METRICS_PROCESS_METRICS_H_

#include "capstan/metrics/registry.h"

namespace capstan::metrics {

// Adds capstan_process_cpu_seconds_total, capstan_process_resident_bytes and
// capstan_process_start_timestamp_seconds, each read when the registry is collected. Also adds
// capstan_process_memory_limit_bytes, capstan_process_cpu_limit_cores and
// capstan_process_cpu_throttled_seconds_total if the process's cgroup has such a limit.
void AddProcessMetrics(Registry& registry);

// Returns the CPU time of all threads of this process so far. Thread-safe.
double ProcessCpuSeconds();

// Returns how many cores this process may use: the CPU limit of its cgroup or, without one, the
// processors on which it may run. Always the same number, and greater than 0. Thread-safe.
double ProcessCpuCores();

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_PROCESS_METRICS_H_
