// With replicas two shards hold each partition. The backups of all partitions of a lost shard take
// over, in one view and in the same timeline: nobody returns to a checkpoint, and workers keep
// their leases. See ShardHearing, and the rules 15, 18 and 29 to 32 of docs/spec.
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

  // Grants the process a lease in the timeline of the published view, and returns its seconds,
  // which the process counts from when it has asked. 0: none. Has the state written where this
  // chief has not done so for a while, as leases rest on that until the end of the job is stored.
  double LeaseOf(uint32_t shard, uint64_t incarnation, absl::Time now);
  // The process was found to have ended, so that nobody has to wait for its lease.
  void OnShardGone(uint32_t shard, uint64_t incarnation, absl::Time now);

  // OK if the backups of all that the shard owns can take over. UNAVAILABLE: they cannot now, but
  // perhaps later. FAILED_PRECONDITION: they cannot.
  absl::Status MayBeReplaced(uint32_t shard, absl::Time now) const;
  // Has these backups take over. `cause` is for people. REQUIRES: MayBeReplaced.
  void Promote(uint32_t shard, std::string_view cause, absl::Time now);
  // OK if another process may register as this shard. UNAVAILABLE: it is to ask again, for the
  // shard's backups are to take over first, and may yet be heard of; that lasts as long as a
  // shard's lease at most. REQUIRES: Listen.
  absl::Status MayTakePlace(uint32_t shard, absl::Time now);
  // Another process has registered as the shard. Partitions that were moving to or from it stay
  // where they are, unless the view with the new owners is made. If the shard owned partitions,
  // backups take over; if they cannot, the shard returns to a checkpoint alone, if the job may do
  // so, or everybody returns. REQUIRES: MayTakePlace.
  void OnReplaced(uint32_t shard, absl::Time now);
  // Has the job's ShardHearing listen.
  void Listen(absl::Time now);
  // Has backups take over for all lost shards, if shards serve and something was heard of them.
  // REQUIRES: Listen.
  void ReplaceLost(absl::Time now);
  // The same, while the job is RUNNING, for shards that an earlier chief left at work and that are
  // lost or have come back without what they had. Returns true while backups take over, or backups
  // that are to do so may yet be heard of.
  bool ReplaceThoseThatDidNotComeBack(absl::Time now);

  // Backups take over, and the view that says so is not published yet: all else waits.
  bool under_way() const { return promotion_.has_value(); }
  // To be called after the view was made anew. Ends the promotion once its view is published.
  // REQUIRES: under_way().
  void OnView(absl::Time now);
  // Gives the promotion up: everybody returns to a checkpoint instead.
  void Forget() { promotion_.reset(); }

  // Does nothing in a job without replicas.
  void Fill(v1::ReplicaStatus& status) const;

 private:
  struct Promotion {
    uint64_t view = 0;         // The number of its view; 0: not made yet.
    bool coordinator = false;  // The coordinator is another shard now.
    bool flushes = false;      // A flush was under way, and is to be repeated.
    absl::Time begun;
  };

  void ReplaceOrReturn(uint32_t shard, absl::Time now);
  absl::Status CheckBackup(const v1::PartitionPair& pair, absl::Time now) const;
  void OnPromoted(absl::Time now);

  std::optional<Promotion> promotion_;
  // By shard: until when another process that wants to register as it is told to ask again.
  std::map<uint32_t, absl::Time> waits_;
  uint64_t promotions_ = 0;  // Shards that were replaced by their backups,
  uint64_t promoted_ = 0;    // and partitions that were.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_PROMOTION_DUTY_H_
