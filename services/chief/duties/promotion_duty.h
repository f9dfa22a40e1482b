// Promotes backups in jobs with replicas, where two shards hold each partition. The backups of all
// partitions of a lost shard take over, by one view and in the same timeline: nothing returns to a
// checkpoint, and workers keep their leases. See ShardHearing, and the rules 15, 18 and 29 to 32 of
// docs/spec.
#ifndef CAPSTAN_CHIEF_DUTIES_PROMOTION_DUTY_H_
#define CAPSTAN_CHIEF_DUTIES_PROMOTION_DUTY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/duties/duty.h"

namespace capstan::chief {

class PromotionDuty : public Duty {
 public:
  using Duty::Duty;

  // Grants the process a lease in the timeline of the published view, and returns its length in
  // seconds, which the process counts from when it sent the request; 0: none. Requests a write of
  // the state if this chief has not written for a while: until the end of the job is stored, leases
  // depend on a proof that the term is valid.
  double LeaseOf(uint32_t shard, uint64_t incarnation, absl::Time now);
  // The process was found to have ended, so its lease need not be waited for.
  void OnShardGone(uint32_t shard, uint64_t incarnation, absl::Time now);

  // Returns OK if the backups of all partitions that the shard owns can take over. UNAVAILABLE:
  // they cannot now, but perhaps later. FAILED_PRECONDITION: they cannot.
  absl::Status MayBeReplaced(uint32_t shard, absl::Time now) const;
  // Has these backups take over. `cause` is for people. REQUIRES: MayBeReplaced returns OK.
  void Promote(uint32_t shard, std::string_view cause, absl::Time now);
  // Returns OK if another process may register as this shard. UNAVAILABLE: it must try again later,
  // because the shard's backups have to take over first, and may yet be heard of; that lasts for a
  // shard's lease at most. REQUIRES: Listen was called.
  absl::Status MayTakePlace(uint32_t shard, absl::Time now);
  // Another process has registered as the shard. Partitions that were moving to or from it stay
  // where they are, unless the view with the new owners is already made. If the shard owned
  // partitions, backups take over. If they cannot, the shard recovers alone if the job allows it,
  // and otherwise all shards return to a checkpoint. REQUIRES: MayTakePlace returns OK.
  void OnReplaced(uint32_t shard, absl::Time now);
  // Updates the job's ShardHearing.
  void Listen(absl::Time now);
  // Has backups take over for all lost shards, if shards serve and were heard of. REQUIRES: Listen
  // was called.
  void ReplaceLost(absl::Time now);
  // The same, while the job is RUNNING, for shards that an earlier chief left at work and that are
  // lost or have come back without what they had. Returns true while backups are taking over, or
  // backups that should take over may yet be heard of.
  bool ReplaceThoseThatDidNotComeBack(absl::Time now);

  // Backups are taking over, and the view that says so is not published yet: all else waits.
  bool under_way() const { return promotion_.has_value(); }
  // Must be called after the view was rebuilt. Ends the promotion once its view is published.
  // REQUIRES: under_way().
  void OnView(absl::Time now);
  // Abandons the promotion, because all shards return to a checkpoint instead.
  void Forget() { promotion_.reset(); }

  // Does nothing in a job without replicas.
  void Fill(v1::ReplicaStatus& status) const;

 private:
  struct Promotion {
    uint64_t view = 0;         // The number of the view with the new owners; 0: not made yet.
    bool coordinator = false;  // Another shard becomes the coordinator.
    bool flushes = false;      // A flush was under way, and has to be repeated.
    absl::Time begun;
  };

  void ReplaceOrReturn(uint32_t shard, absl::Time now);
  absl::Status CheckBackup(const v1::PartitionPair& pair, absl::Time now) const;
  void OnPromoted(absl::Time now);

  std::optional<Promotion> promotion_;
  // By shard: until when processes that want to register as it have to wait.
  std::map<uint32_t, absl::Time> waits_;
  uint64_t promotions_ = 0;  // How many shards were replaced by their backups,
  uint64_t promoted_ = 0;    // and how many partitions these had.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_PROMOTION_DUTY_H_
