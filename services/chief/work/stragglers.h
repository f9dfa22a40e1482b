// Finds the stragglers: workers whose step times, averaged over some time, are more than twice the
// median.
#ifndef CAPSTAN_CHIEF_WORK_STRAGGLERS_H_
#define CAPSTAN_CHIEF_WORK_STRAGGLERS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace capstan::chief {

struct StragglerOptions {
  // A worker is a straggler when its average step takes more than `factor` medians,
  double factor = 2;
  double recovered = 1.5;  // and until it takes less than this many.
  // A single step counts as at most this many medians, so that a short hiccup has no effect.
  double most = 3;
  absl::Duration average;  // Time constant of the exponential moving average.
  // After this time a straggler is cleared, because a worker without work cannot show that it has
  // recovered.
  absl::Duration probation;
};

// Thread-compatible.
class Stragglers {
 public:
  explicit Stragglers(StragglerOptions options) : options_(options) {}

  // Takes in the step times of all live workers that have one, by worker name. Returns the names of
  // the workers that have just become stragglers. Forgets workers that are not named.
  std::vector<std::string> Update(const std::vector<std::pair<std::string, double>>& step_seconds,
                                  absl::Time now);

  bool IsStraggler(const std::string& worker) const;
  size_t count() const;
  // How often the set of stragglers has changed.
  uint64_t changes() const { return changes_; }

 private:
  struct Pace {
    double average = 1;  // Moving average of (its step time / the median).
    std::optional<absl::Time> found;
  };
  static std::vector<std::string> Found(const std::map<std::string, Pace>& paces);

  StragglerOptions options_;
  absl::Time updated_ = absl::InfinitePast();
  std::map<std::string, Pace> paces_;
  uint64_t changes_ = 0;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_WORK_STRAGGLERS_H_
