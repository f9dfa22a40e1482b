// Moves partitions between shards, a batch at a time. The source of a partition goes on serving
// while it sends the copy, and then what has changed meanwhile. It is frozen only while it sends
// the small remainder and all shards and workers learn of the new owner. See the rules 14 to 17 of
// docs/spec.
//
//   kIdle -> kOrdered: a view names the batch's moves; it is stored, and published
//         -> kCopying: each source is polled until its copies are at the targets
//         -> kCatchingUp: each source is polled until it has sent what has changed since it was
//            last asked, as some sources finished their copies long before others
//         -> kCopied: until nothing is under way that the switch would disturb: the closing of
//            streams, a checkpoint, a round. Where that takes a while, back to kCatchingUp
//         -> kFinishing: each source is frozen, and is polled until the targets have everything
//         -> kSwitched: a view names the new owners, or the new backups if the moves make replicas;
//            it is stored, and published
//         -> kIdle
//   Cancel() leads back to kIdle from every phase but kSwitched: a view without the moves unfreezes
//   the sources, which go on.
#ifndef CAPSTAN_CHIEF_MACHINES_PARTITION_MOVES_H_
#define CAPSTAN_CHIEF_MACHINES_PARTITION_MOVES_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/machines/move_plan.h"
#include "chief/state/shard_calls.h"

namespace capstan::chief {

struct MoveOptions {
  // Limits of a batch. All of a batch is switched at once, and a checkpoint may have to wait for
  // it.
  size_t batch_partitions = 16;
  uint64_t batch_bytes = uint64_t{256} << 20;  // A single partition may be larger.
  uint64_t bytes_per_second = 0;               // The rate at which a shard may send; 0: unlimited.
  absl::Duration call_deadline = absl::Seconds(10);
  // A batch is given up after this long without progress,
  absl::Duration patience = absl::Seconds(30);
  absl::Duration finish_patience =
      absl::Seconds(3);  // after this long while partitions are frozen,
  absl::Duration switch_patience = absl::Minutes(5);  // or if no switch is possible for this long.
  // How often a source is polled while it copies;
  absl::Duration copy_poll = absl::Milliseconds(50);
  absl::Duration catch_up_poll = absl::Milliseconds(10);  // while it catches up.
  // Sources that wait for the switch catch up again after this pause, or after four times as long
  // as catching up took, if that is longer: they spend at most a fifth of the time on it.
  absl::Duration catch_up_pause = absl::Milliseconds(200);
  absl::Duration finish_poll = absl::Milliseconds(3);  // How often a frozen source is polled.
  // How long to wait after a batch that was given up: doubled each time.
  absl::Duration first_pause = absl::Seconds(1);
  absl::Duration longest_pause = absl::Minutes(1);
};

// Thread-compatible.
class PartitionMoves {
 public:
  explicit PartitionMoves(const MoveOptions& options) : options_(options) {}

  enum class Phase { kIdle, kOrdered, kCopying, kCatchingUp, kCopied, kFinishing, kSwitched };
  Phase phase() const { return phase_; }

  // ---- the plan ----

  // Replaces the rest of the previous plan; the batch under way continues. `why` is for people,
  // such as "shard 2 has joined".
  void Plan(std::vector<PlannedMove> moves, std::string why);
  bool planned() const { return !plan_.empty(); }
  // If `possible` returns false for a move that is left in the plan, forgets the rest of the plan
  // and returns true.
  bool ForgetPlanUnless(absl::FunctionRef<bool(const PlannedMove&)> possible);

  // ---- the batch under way ----

  bool under_way() const { return phase_ != Phase::kIdle; }
  // Returns true from the first time that everything is copied until the switch: in this time
  // nothing may begin that the switch would disturb.
  bool wants_quiet() const { return quiet_since_.has_value(); }
  bool copied() const { return phase_ == Phase::kCopied; }
  bool done() const { return phase_ == Phase::kFinishing && awaited_.empty(); }
  // Returns true if the shard is the source or the target of a move of the batch under way.
  bool Concerns(uint32_t shard) const;

  // Returns true if no batch is under way, and the pause after one that was given up is over.
  bool MayBegin(absl::Time now) const { return !under_way() && now >= again_; }
  // Begins a batch with the next moves of the plan, and returns them. The caller must make a view
  // that names them. `bytes_of` returns how many bytes a move has to copy. REQUIRES: planned(), not
  // under_way().
  std::vector<PlannedMove> Begin(absl::FunctionRef<uint64_t(const PlannedMove&)> bytes_of,
                                 absl::Time now);

  // Takes in a view that has been published. Returns true if it is the view of the switch, which
  // ends the batch.
  bool OnView(const v1::View& published, absl::Time now, ShardCalls& calls);

  // Takes in the reply of a source, or its refusal.
  void OnAnswer(uint32_t shard, const absl::StatusOr<ShardReply>& reply, absl::Time now,
                ShardCalls& calls);

  // Must be called repeatedly while the switch has to wait: has the sources catch up when that is
  // due. REQUIRES: copied().
  void CatchUpIfDue(absl::Time now, ShardCalls& calls);
  // Has the sources freeze and send the rest. REQUIRES: copied().
  void Finish(absl::Time now, ShardCalls& calls);
  // Must be called when the view with the new owners and backups is made. REQUIRES: done().
  void Switch();

  // Returns why the batch must be given up; OK if it need not.
  [[nodiscard]] absl::Status Failure(absl::Time now) const;
  // Gives up the batch and the plan. `failed` is true if the batch itself has failed, and false if
  // something else has priority.
  void Cancel(bool failed, absl::Time now, ShardCalls& calls);
  // Returns how many batches in a row have failed with this shard as a source or a target. Moves
  // that make replicas do not count.
  int FailuresOf(uint32_t shard) const;

  // Returns the status for people. Its `seconds` and counts are kept after a batch.
  v1::MoveStatus Status() const;

 private:
  // Returns true in the phases in which each source is asked until it says that it is done.
  bool asks() const {
    return phase_ == Phase::kCopying || phase_ == Phase::kCatchingUp || phase_ == Phase::kFinishing;
  }
  void AskAll(Phase phase, absl::Time now, ShardCalls& calls);
  void Ask(uint32_t shard, absl::Time due, ShardCalls& calls);
  absl::Duration poll() const;
  void OnAllDone(absl::Time now, ShardCalls& calls);
  void Clear();
  void Progress(absl::Time now) { progress_at_ = now; }

  struct Source {
    std::vector<uint32_t> partitions;
    uint64_t bytes = 0;  // Sent so far, out of
    uint64_t bytes_expected = 0;
  };

  const MoveOptions options_;
  Phase phase_ = Phase::kIdle;
  std::deque<PlannedMove> plan_;
  std::string why_;  // Why the plan was made.
  std::vector<PlannedMove> batch_;
  v1::ViewEpoch id_;  // The view that has ordered the batch; known from kCopying on.
  std::map<uint32_t, Source> sources_;
  std::set<uint32_t> awaited_;  // Sources that have not finished the phase.
  absl::Status refused_;
  absl::Time progress_at_;
  absl::Time asked_at_;     // When all sources were asked for the present phase.
  absl::Time catch_up_at_;  // In kCopied: when sources are to catch up.
  std::optional<absl::Time> quiet_since_;
  absl::Time finish_begun_;
  absl::Time again_ = absl::InfinitePast();
  int failures_in_a_row_ = 0;
  std::map<uint32_t, int> failures_;  // By shard.
  uint64_t moved_ = 0;
  uint64_t paired_ = 0;
  uint64_t cancelled_ = 0;
  absl::Duration last_switch_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINES_PARTITION_MOVES_H_
