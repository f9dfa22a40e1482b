// Who is slow: a worker whose step takes more than twice the median step, on average over some
// time.
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
  double factor = 2;         // Times the median, on average: a straggler,
  double recovered = 1.5;    // until it is below this again.
  double most = 3;           // What a step counts at most, so that a short hiccup is passed over.
  absl::Duration average;    // Time constant of the exponential moving average.
  absl::Duration probation;  // Then it gets another chance, for whoever has no work cannot show
                             // that it has recovered.
};

// Thread-compatible.
class Stragglers {
 public:
  explicit Stragglers(StragglerOptions options) : options_(options) {}

  // The step times of all live workers that have one. Returns the names of those that have just
  // been found to be stragglers. Workers that are not named are forgotten.
  std::vector<std::string> Update(const std::vector<std::pair<std::string, double>>& step_seconds,
                                  absl::Time now);

  bool IsStraggler(const std::string& worker) const;
  size_t count() const;
  // How often others have been stragglers than before.
  uint64_t changes() const { return changes_; }

 private:
  struct Pace {
    double average = 1;  // The average of its step time over the median.
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
