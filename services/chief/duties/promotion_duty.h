// With replicas two shards hold each partition. A shard that is lost is replaced by the backups of
// all that it owned, in one view and in the same timeline: nobody returns to a checkpoint, and
// leases of workers hold. See ShardHearing, and the rules 15, 18 and 29 to 32 of docs/spec.
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

  // How many seconds this process of a shard may answer pulls from when it has asked; 0: not at
  // all.
  double LeaseOf(uint32_t shard, uint64_t incarnation, absl::Time now);
  // The process has ended, somebody has found: nobody waits for its lease.
  void OnShardGone(uint32_t shard, uint64_t incarnation, absl::Time now);

  // OK, or why the backups of all that the shard owns cannot take over. UNAVAILABLE: not now.
  absl::Status MayBeReplaced(uint32_t shard, absl::Time now) const;
  // They do. `cause`: for people. REQUIRES: MayBeReplaced.
  void Promote(uint32_t shard, std::string_view cause, absl::Time now);
  // OK: another process may come in the place of this shard's. UNAVAILABLE: backups that are to
  // take over may yet be heard of, for as long as a shard's lease; it is to ask again. REQUIRES:
  // Listen.
  absl::Status MayTakePlace(uint32_t shard, absl::Time now);
  // Another process has come in the place of a shard. What was on its way to or from that shard
  // stays where it is, unless its new owner is decided. If the shard owned partitions, backups take
  // over; or else it returns to a checkpoint alone, where the job may do so, or everybody does.
  // REQUIRES: MayTakePlace.
  void OnReplaced(uint32_t shard, absl::Time now);
  // Has the job's ShardHearing listen, where partitions have replicas.
  void Listen(absl::Time now);
  // Has backups take over for all that are lost while shards serve, where something was heard of
  // them. REQUIRES: Listen.
  void ReplaceLost(absl::Time now);
  // The same, while the job is RUNNING, for those that a chief before this one left at work. True:
  // backups take over, or those that are to do so may yet be heard of.
  bool ReplaceThoseThatDidNotComeBack(absl::Time now);

  // It is decided, and the view is not published that says so: all else waits.
  bool under_way() const { return promotion_.has_value(); }
  // The view was made anew, or published. REQUIRES: under_way().
  void OnView(absl::Time now);
  // Everybody returns to a checkpoint instead.
  void Forget() { promotion_.reset(); }

  // Nothing, in a job that keeps no replicas.
  void Fill(v1::ReplicaStatus& status) const;

 private:
  struct Promotion {
    uint64_t view = 0;         // Its number; 0: it is not made yet.
    bool coordinator = false;  // Is another one.
    bool flushes = false;      // What was being flushed is to be flushed again.
    absl::Time begun;
  };

  void ReplaceOrReturn(uint32_t shard, absl::Time now);
  absl::Status CheckBackup(const v1::PartitionPair& pair, absl::Time now) const;
  void OnPromoted(absl::Time now);

  std::optional<Promotion> promotion_;
  // Until when whoever comes in the place of a shard is to ask again, by the shard.
  std::map<uint32_t, absl::Time> waits_;
  uint64_t promotions_ = 0;  // Shards that were replaced by their backups,
  uint64_t promoted_ = 0;    // and partitions that were.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_PROMOTION_DUTY_H_
