#include "chief/work/stragglers.h"

#include <algorithm>
#include <cmath>

namespace capstan::chief {
namespace {

// An Update counts for at most this time, as nothing is known of a longer time without one.
constexpr absl::Duration kMaxStep = absl::Seconds(1);

// Returns the lower of the two values in the middle: of two workers, the faster one is the
// standard.
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
  const absl::Duration since = std::clamp(now - updated_, absl::ZeroDuration(), kMaxStep);
  const double weight = 1 - std::exp(-absl::FDivDuration(since, options_.average));
  updated_ = now;
  std::map<std::string, Pace> paces;
  std::vector<std::string> found;
  const double median = step_seconds.size() < 2 ? 0 : LowerMedian(step_seconds);
  for (const auto& [name, seconds] : step_seconds) {
    const auto known = paces_.find(name);
    Pace pace = known != paces_.end() ? known->second : Pace{};
    if (pace.found && now - *pace.found >= options_.probation) pace = {};
    const double ratio = median > 0 ? std::min(seconds / median, options_.most) : 1;
    pace.average += weight * (ratio - pace.average);
    if (pace.found && pace.average < options_.recovered) pace.found.reset();
    if (!pace.found && pace.average > options_.factor) {
      pace.found = now;
      found.push_back(name);
    }
    paces[name] = pace;
  }
  if (Found(paces) != Found(paces_)) ++changes_;
  paces_ = std::move(paces);
  return found;
}

std::vector<std::string> Stragglers::Found(const std::map<std::string, Pace>& paces) {
  std::vector<std::string> names;
  for (const auto& [name, pace] : paces) {
    if (pace.found) names.push_back(name);
  }
  return names;
}

bool Stragglers::IsStraggler(const std::string& worker) const {
  const auto pace = paces_.find(worker);
  return pace != paces_.end() && pace->second.found.has_value();
}

size_t Stragglers::count() const { return Found(paces_).size(); }

}  // namespace capstan::chief
