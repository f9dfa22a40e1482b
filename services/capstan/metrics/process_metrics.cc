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

constexpr CounterDeclaration kProcessCpuSeconds = {
    .name = "capstan_process_cpu_seconds_total",
    .help = "CPU time of all threads.",
    .normal = "grows by less than the CPU limit a second"};

constexpr GaugeDeclaration kProcessResidentBytes = {
    .name = "capstan_process_resident_bytes",
    .help = "Resident memory.",
    .normal = "below the memory limit by a quarter"};

constexpr GaugeDeclaration kProcessMemoryLimitBytes = {
    .name = "capstan_process_memory_limit_bytes",
    .help = "Memory that the process may take, as its cgroup says.",
    .when = "with a memory limit"};

constexpr GaugeDeclaration kProcessCpuLimitCores = {
    .name = "capstan_process_cpu_limit_cores",
    .help = "CPU time a second that the process may use, as its cgroup says.",
    .when = "with a CPU limit"};

constexpr CounterDeclaration kProcessCpuThrottledSeconds = {
    .name = "capstan_process_cpu_throttled_seconds_total",
    .help = "Time in which the process was held back by its CPU limit.",
    .when = "with a CPU limit",
    .normal = "grows by less than a twentieth of a second a second"};

constexpr GaugeDeclaration kProcessStartTimestampSeconds = {
    .name = "capstan_process_start_timestamp_seconds",
    .help = "When this process began to measure itself.",
    .normal = "changes only at a restart"};

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
    registry.AddGauge(kProcessMemoryLimitBytes).Set(*limits.memory_bytes);
  }
  if (!limits.cpu_cores) return;
  registry.AddGauge(kProcessCpuLimitCores).Set(*limits.cpu_cores);
  Counter& throttled = registry.AddCounter(kProcessCpuThrottledSeconds);
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
  registry.AddGauge(kProcessStartTimestampSeconds)
      .Set(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()));
  Counter& cpu = registry.AddCounter(kProcessCpuSeconds);
  Gauge& resident = registry.AddGauge(kProcessResidentBytes);
  registry.BeforeCollect([&cpu, &resident] {
    // Two concurrent scrapes may both add the same increase; later ones add that much less.
    cpu.Add(std::max(0.0, ProcessCpuSeconds() - cpu.value()));
    resident.Set(ResidentBytes());
  });
  AddLimits(registry);
}

}  // namespace capstan::metrics
