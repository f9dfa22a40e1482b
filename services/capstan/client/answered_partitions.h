// What shards have answered of requests that failed in part: their repetition leaves it out.
#ifndef CAPSTAN_CLIENT_ANSWERED_PARTITIONS_H_
#define CAPSTAN_CLIENT_ANSWERED_PARTITIONS_H_

#include <array>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {

// Which partitions of one batch's pulls, or of its pushes, have been answered. Whoever makes the
// requests holds it; PsClient reads and writes it. Thread-compatible.
class AnsweredPartitions {
 public:
  // What became of both parts of a pushed partition; of a pulled one, nothing.
  using Outcomes = std::array<v1::Outcome, kParts>;

  // The next request is of this round, 0: of none. What was answered in another one is void.
  void SetRound(uint64_t round) {
    if (round != round_) answers_.clear();
    round_ = round;
  }
  void Add(uint32_t partition, const Outcomes& outcomes) { answers_[partition] = outcomes; }
  void Forget(uint32_t partition) { answers_.erase(partition); }
  // To be called when what was answered may not be what would be answered now: other owners, a
  // shard that has begun anew, another gradient.
  void Clear() { answers_.clear(); }

  bool empty() const { return answers_.empty(); }
  // Null: it is still to be answered.
  const Outcomes* Find(uint32_t partition) const {
    const auto found = answers_.find(partition);
    return found == answers_.end() ? nullptr : &found->second;
  }

 private:
  uint64_t round_ = 0;
  absl::flat_hash_map<uint32_t, Outcomes> answers_;
};

}  // namespace capstan

#endif  // CAPSTAN_CLIENT_ANSWERED_PARTITIONS_H_
