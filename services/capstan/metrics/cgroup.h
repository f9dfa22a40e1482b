// What the container of this process may use, as the kernel's cgroup (version 2 or 1) says.
#ifndef CAPSTAN_METRICS_CGROUP_H_
#define CAPSTAN_METRICS_CGROUP_H_

#include <cstdint>
#include <optional>
#include <string>

namespace capstan::metrics {

// Empty: there is no limit, or nothing can be read.
struct CgroupLimits {
  std::optional<double> memory_bytes;
  std::optional<double> cpu_cores;
};

// The files in which the kernel tells the limits of this process; tests name others.
struct CgroupFiles {
  std::string membership = "/proc/self/cgroup";
  std::string root = "/sys/fs/cgroup";
};

// Thread-safe.
CgroupLimits ReadCgroupLimits(const CgroupFiles& files = {});

// Bytes that this container may use, or the machine has. Thread-safe.
uint64_t UsableMemoryBytes(const CgroupFiles& files = {});

// Seconds in which the process was not let run because it had used up its CPU limit; 0 where
// nothing is told. Thread-safe.
double ReadThrottledSeconds(const CgroupFiles& files = {});

}  // namespace capstan::metrics

#endif  // CAPSTAN_METRICS_CGROUP_H_
