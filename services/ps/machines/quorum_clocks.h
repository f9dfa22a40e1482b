// The clocks of the trainers of a quorum. The slowest clock is found without a search, because each
// pull under ssp needs it and there may be thousands of trainers.
#ifndef CAPSTAN_PS_MACHINES_QUORUM_CLOCKS_H_
#define CAPSTAN_PS_MACHINES_QUORUM_CLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <set>

#include "capstan/base/ids.h"

namespace capstan::ps {

// Thread-compatible.
class QuorumClocks {
 public:
  // Sets the clock of a trainer, and adds the trainer to the quorum if it is not in it. `clock` may
  // be lower than before.
  void Set(TrainerId trainer, uint64_t clock) {
    const auto [found, fresh] = clocks_.try_emplace(trainer, clock);
    if (!fresh) ordered_.erase(ordered_.find(found->second));
    found->second = clock;
    ordered_.insert(clock);
  }
  void Clear() {
    clocks_.clear();
    ordered_.clear();
  }

  // Returns the clock of a trainer; null if the trainer is not in the quorum.
  const uint64_t* Find(TrainerId trainer) const {
    const auto found = clocks_.find(trainer);
    return found == clocks_.end() ? nullptr : &found->second;
  }
  const std::map<TrainerId, uint64_t>& all() const { return clocks_; }
  size_t size() const { return clocks_.size(); }

  // Returns 2^64-1 without a quorum.
  uint64_t slowest() const {
    return ordered_.empty() ? std::numeric_limits<uint64_t>::max() : *ordered_.begin();
  }
  uint64_t fastest() const { return ordered_.empty() ? 0 : *ordered_.rbegin(); }

 private:
  std::map<TrainerId, uint64_t> clocks_;
  std::multiset<uint64_t> ordered_;  // The clocks of clocks_, in order.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_QUORUM_CLOCKS_H_
