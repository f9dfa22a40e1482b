// What a shard knows of a synchronous round that is still open: which gradients the coordinator has
// counted, and which lanes have reached the end of their data. Neither is ever revoked, so a shard
// may learn of it late. It adds counted gradients to the sum of its round before the round closes
// (docs/spec, rules 19 and 20).
#ifndef CAPSTAN_CONSISTENCY_LANE_COUNTS_H_
#define CAPSTAN_CONSISTENCY_LANE_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {

// What the coordinator sends a shard that it has not sent before.
struct LaneNews {
  uint64_t round = 0;               // The open one.
  std::vector<ClosedLane> counted;  // In that round, in the order in which they were counted.
  std::vector<LaneIndex> ended;
};

// INVALID_ARGUMENT: the index of a lane is too large.
[[nodiscard]] absl::StatusOr<LaneNews> LaneNewsFromProto(const v1::WatchCountsReply& proto);
void ToProto(const LaneNews& news, v1::WatchCountsReply& proto);

// Thread-compatible.
class LaneCounts {
 public:
  explicit LaneCounts(Timeline timeline = Timeline{0}) : timeline_(timeline) {}

  // Takes in news. News of a later round begin that round: the counted lanes are forgotten. Ended
  // lanes stay so for the whole timeline. The counted lanes in news of an earlier round are
  // ignored.
  void Learn(const LaneNews& news);

  Timeline timeline() const { return timeline_; }
  uint64_t round() const { return round_; }  // 0: no news yet.
  // How many counted and how many ended lanes the shard knows; the next news begin after them.
  size_t counted() const { return counted_.size(); }
  size_t ended() const { return ended_.size(); }

  // Returns null if, as far as the shard knows, the lane is not counted in round().
  const ClosedLane* FindCounted(LaneIndex lane) const;
  bool IsAtEnd(LaneIndex lane) const { return ended_.contains(lane); }

  // Returns the lowest lane whose gradient of `round` is still expected: it is not counted and has
  // not ended.
  LaneIndex NextOf(uint64_t round) const;

 private:
  Timeline timeline_;
  uint64_t round_ = 0;
  absl::flat_hash_map<LaneIndex, ClosedLane> counted_;
  absl::flat_hash_set<LaneIndex> ended_;
};

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_LANE_COUNTS_H_
