// What the kernel knows of this process: CPU time, memory, its limits of both, and when it began.
#ifndef CAPSTAN_METRICS_PROCESS_METRICS_H_
#define CAPSTAN_METRICS_PROCESS_METRICS_H_

#include "capstan/metrics/registry.h"

namespace capstan::metrics {

// Adds capstan_process_cpu_seconds_total, capstan_process_resident_bytes and
// capstan_process_start_timestamp_seconds, each read when the registry is collected; and, where the
// process's cgroup has such a limit, capstan_process_memory_limit_bytes,
// capstan_process_cpu_limit_cores and capstan_process_cpu_throttled_seconds_total.
void AddProcessMetrics(Registry& registry);

// Returns the CPU time of all threads of this process so far. Thread-safe.
double ProcessCpuSeconds();

// Returns how many cores this process may use: the CPU limit of its cgroup, or if it has none, the
// processors that it may run on. More than 0, and always the same. Thread-safe.
double ProcessCpuCores();

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_PROCESS_METRICS_H_
