// The protocol of one partition: decides what becomes of each gradient that is pushed to the
// partition, and which rounds it has passed. The machine knows no rows and no floats; see
// decision.h for how gradients are named.
#ifndef CAPSTAN_PS_MACHINES_PARTITION_MACHINE_H_
#define CAPSTAN_PS_MACHINES_PARTITION_MACHINE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
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
  // See StreamPart::batches. Nothing: the part is synchronous, or nobody has counted them.
  std::optional<uint64_t> batches = {};
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
  kNotYet,       // A commit is missing, or has to wait: RESOURCE_EXHAUSTED, pull later.
};

// Thread-compatible: run under the partition's mutex.
class PartitionMachine {
 public:
  static constexpr absl::Duration kSessionTtl = absl::Hours(1);

  explicit PartitionMachine(const PartitionOptions& options);

  // Begins where `state`, which a checkpoint kept, left off.
  PartitionMachine(const PartitionOptions& options, const PartitionState& state, absl::Time now);

  // Begins from the `state` of a checkpoint while the job's other partitions go on (partial
  // recovery). FAILED_PRECONDITION: a part is synchronous; the other partitions are at a later
  // round, and the gradients of the rounds in between are gone.
  [[nodiscard]] static absl::StatusOr<PartitionMachine> RecoverPartially(
      const PartitionOptions& options, const PartitionState& state, const StreamFacts& told,
      absl::Time now);

  // Decides on a gradient of a part that is not synchronous. Outcome: APPLIED, QUEUED, SETTLED,
  // DROPPED, OLD_GENERATION, OUTSIDE_WINDOW, BUSY (the queue or the ledger is full, or the
  // partition is held back, closed or moving), NOT_OWNER (another timeline). REQUIRES:
  // !IsSync(part), which the service has checked.
  Decision PushStream(Part part, Timeline timeline, const StreamGradient& gradient, absl::Time now);

  // Decides on a gradient of a synchronous part, for the round after round(). Outcome: STAGED (now
  // or before), OLD_GENERATION, WRONG_ROUND, BUSY (the partition is closed or moving, or it is
  // held back and the gradient is of a later round), NOT_OWNER (another timeline). Call CatchUp()
  // first when the request's round commit is above round(). REQUIRES: IsSync(part).
  Decision PushStage(Part part, Timeline timeline, const LaneGradient& gradient);

  // Adds the gradients that `counts` names to the sums of the synchronous parts that have no backup
  // workers. Does nothing unless `counts` is of this timeline and of the round after round().
  Decision AddCounted(const LaneCounts& counts);

  // Passes the rounds of `sets`, which ascend. Skips the sets of rounds that are passed already,
  // and all sets behind a gap: round() tells the caller how far the partition has come. Does
  // nothing while the partition is held back or moving.
  Decision CatchUp(std::span<const RoundCommit> sets);

  // Returns kGo if a pull for `round` would read the updates of all rounds before it and of no
  // other; always for round 0 (not synchronous).
  PullAdmission AdmitPull(uint64_t round) const;

  // Applies the gradients that wait in the queues. Called before a copy for a checkpoint or a move,
  // at a standstill, and at the end of the job.
  Decision Flush();

  // Closes `stream`, which had `batches` batches, in the ledgers. Returns false and changes nothing
  // if `timeline` is not the present one. REQUIRES: !moving().
  bool CloseStream(Timeline timeline, StreamId stream, uint64_t batches);

  // Holds updates back until GoOn(), because a copy has to be read first: nothing is applied,
  // queues and stages may fill up, other gradients are BUSY. GoOn() applies what has become due in
  // the queues; rounds catch up with the next round commit.
  void HoldBack() { held_back_ = true; }
  Decision GoOn();
  // Closes the partition, whose shard is about to leave: gradients are BUSY until Reopen(), which
  // is called if the shard stays after all. A round whose gradients are staged may still end.
  // Returns true if the partition was not closed before.
  bool Close() { return !std::exchange(closed_, true); }
  void Reopen() { closed_ = false; }

  // The partition is about to leave for another shard: until EndMove() all gradients are BUSY, no
  // round is passed, and no stream is closed, so that the shard that gets the partition is sent all
  // that has happened to it (docs/spec, rules 14, 23 and 24). Returns false and changes nothing if
  // a gradient of the open round is staged or added, as it would be left behind (rule 25).
  // REQUIRES: queued() == 0.
  [[nodiscard]] bool BeginMove();
  void EndMove() { moving_ = false; }

  // Forgets the sessions that have been silent for kSessionTtl. Returns them, by part.
  std::array<std::vector<StreamId>, kParts> ExpireSessions(absl::Time now);
  void ForgetSession(Part part, StreamId session);

  // The state that a checkpoint keeps, or that goes along with a move. Gradients of the round after
  // round() are left out, whether staged or added: their lanes push them again. REQUIRES: queued()
  // == 0.
  PartitionState Snapshot() const;

  bool held_back() const { return held_back_; }
  bool moving() const { return moving_; }
  bool closed() const { return closed_; }
  bool IsSync(Part part) const { return sync_[Index(part)]; }
  Timeline timeline() const { return options_.timeline; }
  uint64_t version(Part part) const { return versions_[Index(part)]; }
  // Batches of tasks that are counted here; see StreamPart. 0 for a synchronous part.
  uint64_t batches(Part part) const { return streams_[Index(part)].batches(); }
  uint64_t round() const { return round_; }  // Number of rounds passed.
  uint64_t lost(Part part) const;            // Batches of streams that were lost; see StreamLedger.
  uint64_t lost() const { return lost(Part::kDense) + lost(Part::kSparse); }
  size_t queued() const;

  // The state in one line. The explorer of states (tests) takes equal texts for equal states.
  std::string DebugString() const;

 private:
  static size_t Index(Part part) { return static_cast<size_t>(part); }

  PartitionOptions options_;
  bool held_back_ = false;
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
