// The partitions that shards have answered in requests that failed in part, so that a retry omits
// them.
#ifndef CAPSTAN_CLIENT_ANSWERED_PARTITIONS_H_
#define CAPSTAN_CLIENT_ANSWERED_PARTITIONS_H_

#include <array>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {

// The answered partitions of one batch's pulls, or of its pushes. The caller who makes the requests
// holds this object; PsClient reads and writes it. Thread-compatible.
class AnsweredPartitions {
 public:
  // The outcomes of both parts of a pushed partition. Unused for a pulled one.
  using Outcomes = std::array<v1::Outcome, kParts>;

  // The next request is for `round` (0: for no round). Forgets what was answered in another round.
  void SetRound(uint64_t round) {
    if (round != round_) answers_.clear();
    round_ = round;
  }
  void Add(uint32_t partition, const Outcomes& outcomes) { answers_[partition] = outcomes; }
  void Forget(uint32_t partition) { answers_.erase(partition); }
  // Forgets all answers. Must be called when shards might answer differently: partitions have other
  // owners, a shard has restarted, or the gradient is another one.
  void Clear() { answers_.clear(); }

  bool empty() const { return answers_.empty(); }
  // Returns null if the partition was not answered yet.
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
