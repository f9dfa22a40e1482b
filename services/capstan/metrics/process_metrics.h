// What the kernel knows of this process: CPU time, memory, when it began.
#ifndef CAPSTAN_METRICS_PROCESS_METRICS_H_
#define CAPSTAN_METRICS_PROCESS_METRICS_H_

#include "capstan/metrics/registry.h"

namespace capstan::metrics {

// Adds capstan_process_cpu_seconds_total, capstan_process_resident_bytes and
// capstan_process_start_timestamp_seconds, each read when the registry is collected.
void AddProcessMetrics(Registry& registry);

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_PROCESS_METRICS_H_
