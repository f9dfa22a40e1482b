#include "capstan/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <thread>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/metrics/cgroup.h"

namespace capstan::metrics {
namespace {

// Returns 0 if there is no /proc.
double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0;
  int64_t resident = 0;
  statm >> size >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// The limits do not change while the process runs.
void AddLimits(Registry& registry) {
  const CgroupLimits limits = ReadCgroupLimits();
  if (limits.memory_bytes) {
    registry.AddGauge("capstan_process_memory_limit_bytes", "Memory that the process may take.")
        .Set(*limits.memory_bytes);
  }
  if (!limits.cpu_cores) return;
  registry
      .AddGauge("capstan_process_cpu_limit_cores", "CPU time a second that the process may use.")
      .Set(*limits.cpu_cores);
  Counter& throttled =
      registry.AddCounter("capstan_process_cpu_throttled_seconds_total",
                          "Time in which the process was held back by its CPU limit.");
  registry.BeforeCollect(
      [&throttled] { throttled.Add(std::max(0.0, ReadThrottledSeconds() - throttled.value())); });
}

}  // namespace

double ProcessCpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return absl::ToDoubleSeconds(absl::DurationFromTimeval(usage.ru_utime) +
                               absl::DurationFromTimeval(usage.ru_stime));
}

double ProcessCpuCores() {
  static const double cores = [] {
    const double processors = std::max(1U, std::thread::hardware_concurrency());
    return std::min(processors, ReadCgroupLimits().cpu_cores.value_or(processors));
  }();
  return cores;
}

void AddProcessMetrics(Registry& registry) {
  registry
      .AddGauge("capstan_process_start_timestamp_seconds",
                "When this process began to measure itself.")
      .Set(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  Counter& cpu =
      registry.AddCounter("capstan_process_cpu_seconds_total", "CPU time of all threads.");
  Gauge& resident = registry.AddGauge("capstan_process_resident_bytes", "Resident memory.");
  registry.BeforeCollect([&cpu, &resident] {
    // Two scrapes at once may both add the same rise; later ones add as much less.
    cpu.Add(std::max(0.0, ProcessCpuSeconds() - cpu.value()));
    resident.Set(ResidentBytes());
  });
  AddLimits(registry);
}

}  // namespace capstan::metrics
