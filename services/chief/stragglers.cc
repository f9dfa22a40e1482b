#include "chief/stragglers.h"

#include <algorithm>

namespace capstan::chief {
namespace {

// The lower one of the two in the middle: of two workers, the faster is the norm.
double LowerMedian(const std::vector<std::pair<std::string, double>>& step_seconds) {
  std::vector<double> values;
  for (const auto& [name, seconds] : step_seconds) values.push_back(seconds);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::vector<std::string> Stragglers::Update(
    const std::vector<std::pair<std::string, double>>& step_seconds, absl::Time now) {
  std::map<std::string, Slow> slow;
  std::vector<std::string> found;
  if (step_seconds.size() >= 2) {
    const double bound = options_.factor * LowerMedian(step_seconds);
    for (const auto& [name, seconds] : step_seconds) {
      if (seconds <= bound) continue;
      const auto known = slow_.find(name);
      Slow state = known != slow_.end() ? known->second : Slow{now};
      if (state.found != absl::InfiniteFuture()) {
        if (now - state.found >= options_.probation) state = Slow{now};
      } else if (now - state.since >= options_.after) {
        state.found = now;
        found.push_back(name);
      }
      slow[name] = state;
    }
  }
  slow_ = std::move(slow);
  return found;
}

bool Stragglers::IsStraggler(const std::string& worker) const {
  const auto slow = slow_.find(worker);
  return slow != slow_.end() && slow->second.found != absl::InfiniteFuture();
}

size_t Stragglers::count() const {
  return static_cast<size_t>(std::count_if(slow_.begin(), slow_.end(), [](const auto& slow) {
    return slow.second.found != absl::InfiniteFuture();
  }));
}

}  // namespace capstan::chief
