// One partition's protocol: what becomes of each gradient that is pushed to it, and which rounds it
// has passed. Knows no rows and no floats; see decision.h for how gradients are named.
#ifndef CAPSTAN_PS_MACHINES_PARTITION_MACHINE_H_
#define CAPSTAN_PS_MACHINES_PARTITION_MACHINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/lane_counts.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/v1/job.pb.h"
#include "ps/machines/decision.h"
#include "ps/machines/lane_part.h"
#include "ps/machines/stream_part.h"

namespace capstan::ps {

// What a checkpoint keeps of a partition beside its rows and blocks.
struct PartState {
  uint64_t version = 0;
  LedgerState ledger;
};
struct PartitionState {
  uint64_t round = 0;
  std::array<PartState, kParts> parts;
};

struct PartitionOptions {
  Timeline timeline{};
  v1::UpdatePolicy dense;
  v1::UpdatePolicy sparse;
  LaneWeighing lanes;
  uint32_t queue_capacity = 0;  // See StreamPart.
};

enum class PullAdmission {
  kGo,
  kRoundClosed,  // The pull is for a round that is over: ABORTED, the runner asks the coordinator.
  kNotYet,       // Frozen, or a round commit is missing: RESOURCE_EXHAUSTED, again later.
};

// Thread-compatible: run under the partition's mutex.
class PartitionMachine {
 public:
  static constexpr absl::Duration kSessionTtl = absl::Hours(1);

  explicit PartitionMachine(const PartitionOptions& options);

  // Begins where a checkpoint left off.
  PartitionMachine(const PartitionOptions& options, const PartitionState& state, absl::Time now);

  // Begins from a checkpoint while the other partitions go on. FAILED_PRECONDITION when a part is
  // synchronous: the others stand at a later round, and the gradients in between are gone.
  [[nodiscard]] static absl::StatusOr<PartitionMachine> RecoverPartially(
      const PartitionOptions& options, const PartitionState& state, const StreamFacts& told,
      absl::Time now);

  // A gradient of a part that is not synchronous. Outcome: APPLIED, QUEUED, SETTLED, DROPPED,
  // OLD_GENERATION, OUTSIDE_WINDOW, BUSY (queue full, or frozen), NOT_OWNER (another timeline).
  // REQUIRES: !IsSync(part), which the service has checked.
  Decision PushStream(Part part, Timeline timeline, const StreamGradient& gradient, absl::Time now);

  // A gradient of a synchronous part, for the round after round(). Outcome: STAGED (now or before),
  // OLD_GENERATION, WRONG_ROUND, BUSY (frozen), NOT_OWNER. Call CatchUp() first when the request's
  // round commit is above round(). REQUIRES: IsSync(part).
  Decision PushStage(Part part, Timeline timeline, const LaneGradient& gradient);

  // Adds what is counted of the round after round() to the sums of synchronous parts without backup
  // workers. Counts of another round or timeline change nothing.
  Decision AddCounted(const LaneCounts& counts);

  // Passes the rounds that the sets describe, in their order, which ascends. Sets of rounds passed
  // before are skipped; a gap ends it, which the caller sees by round(). Nothing happens while
  // frozen.
  Decision CatchUp(std::span<const RoundCommit> sets);

  // Returns whether a pull for `round` (0: not synchronous) would read exactly the rounds below it.
  PullAdmission AdmitPull(uint64_t round) const;

  // Applies what the queues hold: at a snapshot, a move, a change of policy, the end of an epoch or
  // job.
  Decision Flush();

  // Ends a stream. False, and nothing is done, on another timeline. REQUIRES: !moving().
  bool CloseStream(Timeline timeline, StreamId stream, uint64_t batches);

  // While frozen nothing is applied: queues and stages may fill up, the rest is BUSY. Thaw()
  // applies what is due; rounds catch up with the next round commit.
  void Freeze() { frozen_ = true; }
  Decision Thaw();
  // Its shard is about to leave: gradients are BUSY, unless the shard stays after all. A round
  // whose gradients are staged may still end.
  // Returns whether it was open.
  bool Close() { return !std::exchange(closed_, true); }
  void Reopen() { closed_ = false; }

  // It is about to leave for another shard: until EndMove() all gradients are BUSY, no round is
  // passed, and streams are not closed, so that what is sent is all that there is (docs/spec, rules
  // 14, 23 and 24). False, and nothing is done: something of the open round is staged or added,
  // which would be left behind (rule 25). REQUIRES: queued() == 0.
  [[nodiscard]] bool BeginMove();
  void EndMove() { moving_ = false; }

  // Forgets sessions silent for kSessionTtl. Gives those of each part.
  std::array<std::vector<StreamId>, kParts> ExpireSessions(absl::Time now);
  void ForgetSession(Part part, StreamId session);

  // REQUIRES: queued() == 0. Gradients of the round after round() are not part of it, whether they
  // are staged or added: their lanes offer them again.
  PartitionState Snapshot() const;

  bool frozen() const { return frozen_; }
  bool moving() const { return moving_; }
  bool closed() const { return closed_; }
  bool IsSync(Part part) const { return sync_[Index(part)]; }
  Timeline timeline() const { return options_.timeline; }
  uint64_t version(Part part) const { return versions_[Index(part)]; }
  uint64_t round() const { return round_; }  // Rounds passed.
  uint64_t lost(Part part) const;            // Batches of streams; see StreamLedger.
  uint64_t lost() const { return lost(Part::kDense) + lost(Part::kSparse); }
  size_t queued() const;

  // The state in one line. The explorer takes equal texts for equal states.
  std::string DebugString() const;

 private:
  static size_t Index(Part part) { return static_cast<size_t>(part); }

  PartitionOptions options_;
  bool frozen_ = false;
  bool closed_ = false;
  bool moving_ = false;
  uint64_t round_ = 0;
  std::array<uint64_t, kParts> versions_{};
  std::array<bool, kParts> sync_;
  std::array<bool, kParts> adds_ahead_;
  std::array<StreamPart, kParts> streams_;
  std::array<LanePart, kParts> lanes_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_MACHINES_PARTITION_MACHINE_H_
