// Virtual time, and everything that will happen in it, in one thread: whatever looks like chance is
// drawn from the seed, so a seed is one history.
#ifndef CAPSTAN_TESTS_SIMULATION_SIM_SCHEDULE_H_
#define CAPSTAN_TESTS_SIMULATION_SIM_SCHEDULE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"

namespace capstan::sim {

// Confined to one thread.
class Schedule : public Clock {
 public:
  // `trace`: every note is printed.
  Schedule(uint64_t seed, bool trace) : seed_(seed), trace_(trace) {}

  absl::Time Now() const override { return now_; }
  absl::Duration elapsed() const { return now_ - begin_; }

  void At(absl::Time when, std::function<void()> event);
  void After(absl::Duration wait, std::function<void()> event) {
    At(now_ + wait, std::move(event));
  }

  // The next event. False: there is none.
  bool RunOne();

  // ---- chance ----
  double Random();  // [0, 1)
  bool Chance(double probability) { return Random() < probability; }
  uint64_t Below(uint64_t n) { return static_cast<uint64_t>(Random() * static_cast<double>(n)); }
  absl::Duration Between(absl::Duration least, absl::Duration most) {
    return least + Random() * (most - least);
  }

  // ---- the history ----
  template <typename... Words>
  void Note(const Words&... words) {
    Take(absl::StrCat(words...));
  }
  // Only printed: what is told makes no difference.
  template <typename... Words>
  void Tell(const Words&... words) const {
    if (trace_) Print(absl::StrCat(words...));
  }
  uint64_t digest() const { return digest_; }  // Of all notes: equal for equal histories.
  uint64_t events() const { return events_; }

 private:
  struct Event {
    absl::Time when;
    uint64_t order = 0;
    std::function<void()> run;
  };
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.when != b.when ? a.when > b.when : a.order > b.order;
    }
  };
  void Take(std::string_view note);
  void Print(std::string_view line) const;

  const uint64_t seed_;
  const bool trace_;
  const absl::Time begin_ = absl::UnixEpoch() + absl::Hours(1);
  absl::Time now_ = begin_;
  uint64_t draws_ = 0;
  uint64_t events_ = 0;
  uint64_t order_ = 0;
  uint64_t digest_ = 0;
  std::vector<Event> heap_;
};

}  // namespace capstan::sim

#endif  // CAPSTAN_TESTS_SIMULATION_SIM_SCHEDULE_H_
