// Reads the resource limits of this process's container from the kernel's cgroup (version 2 or 1).
#ifndef CAPSTAN_METRICS_CGROUP_H_
#define CAPSTAN_METRICS_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>

namespace capstan::metrics {

// An empty field: there is no limit, or it cannot be read.
struct CgroupLimits {
  std::optional<double> memory_bytes;
  std::optional<double> cpu_cores;
};

// The files in which the kernel shows the limits of this process; tests use others.
struct CgroupFiles {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// Thread-safe.
CgroupLimits ReadCgroupLimits(const CgroupFiles& files = {});

// Returns how many bytes of memory this container may use or, without a limit, the machine has.
// Thread-safe.
uint64_t UsableMemoryBytes(const CgroupFiles& files = {});

// Returns for how many seconds the process was stopped because it had used up its CPU limit; 0 if
// that is not known. Thread-safe.
double ReadThrottledSeconds(const CgroupFiles& files = {});

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_CGROUP_H_
