// Partitions on their way between shards, a batch at a time. The source of each goes on serving
// while its copy is sent, and what has changed meanwhile; then it stands still for as long as it
// takes to send the little that is left, and to tell everybody of the new owner. See the rules 14
// to 17 of docs/spec.
//
//   kIdle -> kOrdered: a view names the batch's moves; it is stored, and published
//         -> kCopying: each source is asked until its copies are at the targets
//         -> kCatchingUp: each source is asked until it has sent what has changed since it was last
//            asked: some were done with their copies long before others
//         -> kCopied: until nothing is under way that the switch would disturb: the closing of
//            streams, a checkpoint, a round. Where that takes a while, back to kCatchingUp
//         -> kFinishing: each source stands still, and is asked until the targets have all
//         -> kSwitched: a view names the new owners, or the new backups where the moves make
//         replicas;
//            it is stored, and published
//         -> kIdle
//   Cancel() leads back to kIdle from all but kSwitched: a view without the moves lets the sources
//   go on.
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
  // A batch is as much as is switched at once, and as a checkpoint may have to wait for.
  size_t batch_partitions = 16;
  uint64_t batch_bytes = uint64_t{256} << 20;  // One partition may be larger.
  uint64_t bytes_per_second = 0;               // That a shard may send; 0: no bound.
  absl::Duration call_deadline = absl::Seconds(10);
  absl::Duration patience = absl::Seconds(30);        // Without progress a batch is given up,
  absl::Duration finish_patience = absl::Seconds(3);  // and while partitions stand still for it.
  absl::Duration switch_patience = absl::Minutes(5);  // For the switch to become possible.
  absl::Duration copy_poll = absl::Milliseconds(50);  // Between two questions;
  absl::Duration catch_up_poll = absl::Milliseconds(10);  // while sources catch up.
  // Sources that wait for the switch catch up after that, and not for more than a fifth of the
  // time.
  absl::Duration catch_up_pause = absl::Milliseconds(200);
  absl::Duration finish_poll = absl::Milliseconds(3);  // The same, while a partition stands still.
  absl::Duration first_pause = absl::Seconds(1);       // After a batch that was given up.
  absl::Duration longest_pause = absl::Minutes(1);
};

// Thread-compatible.
class PartitionMoves {
 public:
  explicit PartitionMoves(const MoveOptions& options) : options_(options) {}

  enum class Phase { kIdle, kOrdered, kCopying, kCatchingUp, kCopied, kFinishing, kSwitched };
  Phase phase() const { return phase_; }

  // ---- the plan ----

  // Takes the place of what is left of the plan before; the batch under way goes on. `why`: "shard
  // 2 has joined".
  void Plan(std::vector<PlannedMove> moves, std::string why);
  bool planned() const { return !plan_.empty(); }
  // Forgets what is left of it if one of its moves is not possible any more. True: it has.
  bool ForgetPlanUnless(absl::FunctionRef<bool(const PlannedMove&)> possible);

  // ---- the batch under way ----

  bool under_way() const { return phase_ != Phase::kIdle; }
  // From the first time that all is copied to the switch nothing may begin that it would disturb.
  bool wants_quiet() const { return quiet_since_.has_value(); }
  bool copied() const { return phase_ == Phase::kCopied; }
  bool done() const { return phase_ == Phase::kFinishing && awaited_.empty(); }
  // The shard is the source or the target of a move under way.
  bool Concerns(uint32_t shard) const;

  // Not too soon after a batch that was given up.
  bool MayBegin(absl::Time now) const { return !under_way() && now >= again_; }
  // The next of the plan, to be named by a view. REQUIRES: planned(), not under_way().
  // `bytes_of`: that the move has to copy.
  std::vector<PlannedMove> Begin(absl::FunctionRef<uint64_t(const PlannedMove&)> bytes_of,
                                 absl::Time now);

  // A view has been published. True: that of the switch, and the batch is over.
  bool OnView(const v1::View& published, absl::Time now, ShardCalls& calls);

  // A source's answer, or its refusal.
  void OnAnswer(uint32_t shard, const absl::StatusOr<ShardReply>& reply, absl::Time now,
                ShardCalls& calls);

  // The switch has to wait: has the sources catch up if it is time for that. REQUIRES: copied().
  void CatchUpIfDue(absl::Time now, ShardCalls& calls);
  // The sources are to stand still. REQUIRES: copied().
  void Finish(absl::Time now, ShardCalls& calls);
  // A view is made that names the new owners and backups. REQUIRES: done().
  void Switch();

  // OK, or why the batch has to be given up.
  [[nodiscard]] absl::Status Failure(absl::Time now) const;
  // Gives batch and plan up. `failed`: by themselves, and not because something else comes first.
  void Cancel(bool failed, absl::Time now, ShardCalls& calls);
  // Batches in a row that failed with this shard as a source or a target; those that only make
  // replicas do not count.
  int FailuresOf(uint32_t shard) const;

  // What people see of it; `seconds` and the counts stay when a batch is over.
  v1::MoveStatus Status() const;

 private:
  // The sources are asked, each until it says that it is done with the phase.
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
    uint64_t bytes = 0;  // Sent, of
    uint64_t bytes_expected = 0;
  };

  const MoveOptions options_;
  Phase phase_ = Phase::kIdle;
  std::deque<PlannedMove> plan_;
  std::string why_;  // Why the plan, and the batch under way, were made.
  std::vector<PlannedMove> batch_;
  v1::ViewEpoch id_;  // The view that has ordered the batch; known from kCopying on.
  std::map<uint32_t, Source> sources_;
  std::set<uint32_t> awaited_;  // Sources that have not said yet that they are done with the phase.
  absl::Status refused_;
  absl::Time progress_at_;
  absl::Time asked_at_;     // When all sources were asked for the present phase.
  absl::Time catch_up_at_;  // In kCopied: when they are to catch up.
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
