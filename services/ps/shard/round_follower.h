// Follows the rounds that the coordinator closes, for all partitions of a shard. Commits and counts
// arrive by the coordinator's news; a commit that is late is asked for, and arrives with a request.
#ifndef CAPSTAN_PS_SHARD_ROUND_FOLLOWER_H_
#define CAPSTAN_PS_SHARD_ROUND_FOLLOWER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/lane_counts.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/v1/common.pb.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/shard_parts.h"

namespace capstan::ps {

// *Thread-safe*.
class RoundFollower {
 public:
  // `parts` must outlive this.
  explicit RoundFollower(ShardParts& parts) : parts_(parts) {}

  // ---- commits ----

  // Who told of a commit. The chief and owners of backups are believed; a trainer has to show the
  // coordinator's seal, and so has whoever answers as the coordinator.
  enum class Teller { kChief, kTrainer, kShard, kCoordinator };
  // Learns the commit `closed` if it is new, and passes the round in every partition once enough
  // are known. UNAVAILABLE: a trainer's seal does not show that the coordinator has closed the
  // round with these lanes; INVALID_ARGUMENT: the commit cannot be read.
  absl::Status Learn(uint64_t timeline, const v1::RoundCommit& closed, Teller teller);
  // Learns the commit that a request carries, if it is for a round. OUT_OF_RANGE: it carries none,
  // and this shard lacks the commit of the round before. The commit's own seal is checked here;
  // REQUIRES, for a push: SealCheck::CheckPush has passed.
  absl::Status LearnFrom(const v1::PullRequest& head);
  absl::Status LearnFrom(const v1::PushRequest& head);
  // Learns the round commit that the coordinator has told, so that no request needs to carry it
  // here. Returns false and changes nothing if `timeline` is not the one that is served.
  // INVALID_ARGUMENT: it is malformed; UNAVAILABLE: its seal is not the coordinator's, as far as
  // this shard knows the chief's key.
  absl::StatusOr<bool> Hear(uint64_t timeline, const v1::RoundCommit& closed);
  // Passes the rounds that are known in every partition, as no request may have come to some.
  void Sweep();

  // ---- counts: whose gradients the coordinator has counted in the open round ----

  // Returns true if gradients are added to the sum of a round before the round closes, in either
  // part.
  bool AddsCounted() const;
  // Learns whose gradients the coordinator has counted, and adds those whose turn it is in every
  // partition. Returns false and changes nothing if `timeline` is not the present one.
  bool LearnCounts(uint64_t timeline, const LaneNews& news);
  // Returns true if a gradient of the push may have to wait for other pushes.
  bool MayWait(const v1::PushRequest& head) const;

  // ---- partitions that come and go ----

  // Expect() prepares for a partition that is coming and has passed `passed`: learns that commit,
  // and keeps later ones until the partition is served or GiveUp() is called. Errors are those of
  // Rounds::Pin.
  absl::Status Expect(Timeline timeline, const RoundCommit& passed);
  void GiveUp(Timeline timeline, const RoundCommit& passed);
  // The commit of `round`, the last one that a partition has passed: it goes along when the
  // partition leaves.
  RoundCommit Passed(uint64_t round) const { return parts_.rounds.SetOf(round); }

 private:
  absl::Status CheckHeardBefore(uint64_t round) const;
  // Returns true if it is the turn of the push's lane in its round, or the round is over.
  bool IsNext(const v1::PushRequest& head) const;

  ShardParts& parts_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_ROUND_FOLLOWER_H_
