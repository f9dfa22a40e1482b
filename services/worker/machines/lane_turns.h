// Which lanes of a trainer are between their pull and their report. Every one of them holds a copy
// of the dense parameters and their gradient, so with large models it is some lanes at a time, and
// the others wait for their turn.
#ifndef CAPSTAN_WORKER_MACHINES_LANE_TURNS_H_
#define CAPSTAN_WORKER_MACHINES_LANE_TURNS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>

#include "absl/functional/any_invocable.h"

namespace capstan::worker {

// Thread-compatible.
class LaneTurns {
 public:
  // At least two lanes at a time, so that one pulls or pushes while the other is computed; more as
  // long as their parameters take no more than kBytes altogether.
  static constexpr size_t kFewest = 2;
  static constexpr uint64_t kBytes = 64 << 20;
  explicit LaneTurns(uint64_t dense_bytes)
      : most_(std::max<uint64_t>(kFewest, kBytes / std::max<uint64_t>(dense_bytes, 1))) {}

  // Whoever asks is named by an address. Calls begin() when it is their turn: at once, or from the
  // End() of another. REQUIRES: they have asked for none since their last End().
  void Ask(const void* who, absl::AnyInvocable<void()> begin) {
    waiting_.push_back({who, std::move(begin)});
    BeginNext();
  }

  // Their turn is over, or they do not wait for one any longer. Nothing happens if neither was so.
  void End(const void* who) {
    std::erase_if(waiting_, [who](const Waiting& waiting) { return waiting.who == who; });
    if (runners_.erase(who) > 0) BeginNext();
  }

 private:
  struct Waiting {
    const void* who;
    absl::AnyInvocable<void()> begin;
  };

  void BeginNext() {
    while (runners_.size() < most_ && !waiting_.empty()) {
      Waiting next = std::move(waiting_.front());
      waiting_.pop_front();
      runners_.insert(next.who);
      next.begin();
    }
  }

  const uint64_t most_;
  std::set<const void*> runners_;
  std::deque<Waiting> waiting_;
};

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_LANE_TURNS_H_
