// Who is slow: a worker whose step takes more than twice the median step, for some time.
#ifndef CAPSTAN_CHIEF_STRAGGLERS_H_
#define CAPSTAN_CHIEF_STRAGGLERS_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace capstan::chief {

struct StragglerOptions {
  double factor = 2;
  absl::Duration after;      // Slow for so long: a straggler.
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

 private:
  struct Slow {
    absl::Time since;
    absl::Time found = absl::InfiniteFuture();
  };

  StragglerOptions options_;
  std::map<std::string, Slow> slow_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STRAGGLERS_H_
