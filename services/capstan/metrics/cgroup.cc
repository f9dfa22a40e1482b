#include "capstan/metrics/cgroup.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <initializer_list>
#include <map>
#include <sstream>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace capstan::metrics {
namespace {

// Larger limits count as none: version 1 writes nearly 2^63 where there is no limit.
constexpr double kNoMemoryLimit = 0x1p60;

// Returns the paths of this process by controller; for version 2 the controller is "".
std::map<std::string, std::string> Paths(const std::string& membership) {
  std::map<std::string, std::string> paths;
  std::ifstream file(membership);
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> fields = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (fields.size() != 3) continue;
    for (const auto& controller : absl::StrSplit(fields[1], ',')) {
      paths[std::string(controller)] = fields[2];
    }
  }
  return paths;
}

// Returns the words of the first of these files that can be read. Inside a container the path may
// be the one on the machine, while the container's own cgroup is mounted at the root.
std::vector<std::string> Words(std::initializer_list<std::string> names) {
  for (const std::string& name : names) {
    std::ifstream file(name);
    if (!file) continue;
    std::stringstream content;
    content << file.rdbuf();
    return absl::StrSplit(content.str(), absl::ByAnyChar(" \n"), absl::SkipEmpty());
  }
  return {};
}

std::vector<std::string> WordsOf(const CgroupFiles& files, const std::string& controller,
                                 const std::string& second, const std::string& first) {
  const std::map<std::string, std::string> paths = Paths(files.membership);
  if (const auto own = paths.find(controller); own != paths.end()) {
    const std::string folder = absl::StrCat(files.root, "/", controller);
    return Words({absl::StrCat(folder, own->second, "/", first), absl::StrCat(folder, "/", first)});
  }
  const auto own = paths.find("");
  if (own == paths.end()) return {};
  return Words(
      {absl::StrCat(files.root, own->second, "/", second), absl::StrCat(files.root, "/", second)});
}

std::optional<double> Number(const std::vector<std::string>& words, size_t place) {
  double value = 0;
  if (place >= words.size() || !absl::SimpleAtod(words[place], &value)) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

// Returns the number after `name` among pairs of names and numbers.
double NumberBehind(const std::vector<std::string>& words, const std::string& name) {
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    if (words[i] == name) return Number(words, i + 1).value_or(0);
  }
  return 0;
}

}  // namespace

CgroupLimits ReadCgroupLimits(const CgroupFiles& files) {
  CgroupLimits limits;
  const std::optional<double> memory =
      Number(WordsOf(files, "memory", "memory.max", "memory.limit_in_bytes"), 0);
  if (memory && *memory < kNoMemoryLimit) limits.memory_bytes = memory;
  // Version 2 has quota and period in one file.
  const std::vector<std::string> quota = WordsOf(files, "cpu", "cpu.max", "cpu.cfs_quota_us");
  const std::vector<std::string> period = WordsOf(files, "cpu", "cpu.max", "cpu.cfs_period_us");
  const std::optional<double> used = Number(quota, 0);
  const std::optional<double> of = Number(period, period.size() == 2 ? 1 : 0);
  if (used && of && *used > 0 && *of > 0) limits.cpu_cores = *used / *of;
  return limits;
}

uint64_t UsableMemoryBytes(const CgroupFiles& files) {
  const double machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  const double container = ReadCgroupLimits(files).memory_bytes.value_or(machine);
  return static_cast<uint64_t>(std::min(machine, container));
}

double ReadThrottledSeconds(const CgroupFiles& files) {
  const std::vector<std::string> words = WordsOf(files, "cpu", "cpu.stat", "cpu.stat");
  return NumberBehind(words, "throttled_usec") / 1e6 + NumberBehind(words, "throttled_time") / 1e9;
}

}  // namespace capstan::metrics
