#include "tests/simulation/sim/schedule.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "capstan/base/hash.h"

namespace capstan::sim {

void Schedule::At(absl::Time when, std::function<void()> event) {
  heap_.push_back({std::max(when, now_), ++order_, std::move(event)});
  std::push_heap(heap_.begin(), heap_.end(), Later());
}

bool Schedule::RunOne() {
  if (heap_.empty()) return false;
  std::pop_heap(heap_.begin(), heap_.end(), Later());
  const Event event = std::move(heap_.back());
  heap_.pop_back();
  now_ = event.when;
  ++events_;
  event.run();
  return true;
}

double Schedule::Random() { return Unit(Draw(seed_, 1, draws_++)); }

void Schedule::Take(std::string_view note) {
  digest_ = Mix64(digest_ ^ HashText(note) ^ static_cast<uint64_t>(absl::ToUnixMicros(now_)));
  if (trace_) Print(note);
}

void Schedule::Print(std::string_view line) const {
  std::printf("%10.6f %.*s\n", absl::ToDoubleSeconds(elapsed()), static_cast<int>(line.size()),
              line.data());
}

}  // namespace capstan::sim
