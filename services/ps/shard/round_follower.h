// Follows the rounds that the coordinator closes, for all partitions of a shard. Commits and counts
// come with the coordinator's news. A commit that is late is requested, and comes with a request of
// a worker.
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
  // `parts` must outlive this object.
  explicit RoundFollower(ShardParts& parts) : parts_(parts) {}

  // ---- commits ----

  // The sender of a commit. The chief and owners of backups are trusted; a trainer has to show the
  // coordinator's seal, and so has a peer that answers as the coordinator.
  enum class Teller { kChief, kTrainer, kShard, kCoordinator };
  // Takes in the commit `closed` if it is new, and passes the round in every partition once enough
  // commits are known. UNAVAILABLE: a trainer's seal does not prove that the coordinator has closed
  // the round with these lanes; INVALID_ARGUMENT: the commit is malformed.
  absl::Status Learn(uint64_t timeline, const v1::RoundCommit& closed, Teller teller);
  // Takes in the commit in a request, if the request is for a round. OUT_OF_RANGE: the request has
  // none, and this shard lacks the commit of the round before. The commit's own seal is checked
  // here; REQUIRES, for a push: SealCheck::CheckPush has passed.
  absl::Status LearnFrom(const v1::PullRequest& head);
  absl::Status LearnFrom(const v1::PushRequest& head);
  // Takes in a round commit from the coordinator, so that no request needs to carry it here.
  // Returns false and changes nothing if `timeline` is not the one that is served.
  // INVALID_ARGUMENT: it is malformed; UNAVAILABLE: its seal is not the coordinator's, as far as
  // this shard knows the key.
  absl::StatusOr<bool> Hear(uint64_t timeline, const v1::RoundCommit& closed);
  // Passes the known rounds in every partition, as some may have got no request.
  void Sweep();

  // ---- counts: the lanes whose gradients the coordinator has counted in the open round ----

  // Returns true if, in either part, gradients are added to the sum of a round before the round
  // closes.
  bool AddsCounted() const;
  // Takes in which gradients the coordinator has counted, and adds those whose turn it is in every
  // partition. Returns false and changes nothing if `timeline` is not the present one.
  bool LearnCounts(uint64_t timeline, const LaneNews& news);
  // Returns true if a gradient of the push may have to wait for other pushes.
  bool MayWait(const v1::PushRequest& head) const;

  // ---- partitions that come and go ----

  // Expect() prepares for a partition that is coming and has passed the round of `passed`: takes in
  // that commit, and keeps later ones until the partition is served or GiveUp() is called. The
  // errors are those of Rounds::Pin.
  absl::Status Expect(Timeline timeline, const RoundCommit& passed);
  void GiveUp(Timeline timeline, const RoundCommit& passed);
  // Returns the commit of `round`, the last one that a partition has passed. It is sent along when
  // the partition leaves.
  RoundCommit Passed(uint64_t round) const { return parts_.rounds.SetOf(round); }

 private:
  absl::Status CheckHeardBefore(uint64_t round) const;
  // Returns true if it is the turn of the push's lane in its round, or the round is over.
  bool IsNext(const v1::PushRequest& head) const;

  ShardParts& parts_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_ROUND_FOLLOWER_H_
