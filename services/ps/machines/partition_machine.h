// The protocol of one partition: decides the outcome of each gradient that is pushed to the
// partition, and which rounds it has passed. The machine does not see rows or gradients' values;
// see decision.h for how gradients are identified.
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
  // See StreamPart::batches. nullopt: the part is synchronous, or the batches were not counted.
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
  kRoundClosed,  // The pull is for a closed round: ABORTED; the runner asks the coordinator.
  kNotYet,       // A commit is missing, or cannot be applied yet: RESOURCE_EXHAUSTED, pull later.
};

// Thread-compatible: run under the partition's mutex.
class PartitionMachine {
 public:
  static constexpr absl::Duration kSessionTtl = absl::Hours(1);

  explicit PartitionMachine(const PartitionOptions& options);

  // Continues from `state`, which was read from a checkpoint.
  PartitionMachine(const PartitionOptions& options, const PartitionState& state, absl::Time now);

  // Continues from the `state` of a checkpoint while the job's other partitions are not restored
  // (partial recovery). FAILED_PRECONDITION: a part is synchronous; the other partitions are at a
  // later round, and the gradients of the rounds in between are lost.
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

  // Adds the gradients of the lanes in `counts` to the sums of those synchronous parts that have no
  // backup workers. Does nothing unless `counts` is of this timeline and of the round after
  // round().
  Decision AddCounted(const LaneCounts& counts);

  // Passes the rounds of `sets`, which must be ascending. Ignores rounds that are passed already,
  // and all that follow a gap: round() tells the caller how far the partition has come. Does
  // nothing while the partition is held back or moving.
  Decision CatchUp(std::span<const RoundCommit> sets);

  // Returns kGo if a pull for `round` would read the updates of all rounds before it and of no
  // other. A pull that is not synchronous has round 0, for which the result is always kGo.
  PullAdmission AdmitPull(uint64_t round) const;

  // Applies the gradients in the aggregation queues. Called before a copy for a checkpoint or a
  // move, at a standstill, and at the end of the job.
  Decision Flush();

  // Closes `stream`, which had `batches` batches, in the ledgers. Returns false and changes nothing
  // if `timeline` is not the present one. REQUIRES: !moving().
  bool CloseStream(Timeline timeline, StreamId stream, uint64_t batches);

  // Holds updates back until GoOn(), because a copy has to be read first: nothing is applied,
  // queues and stages may fill up, and other gradients are BUSY. GoOn() applies the queued
  // gradients that have become due; rounds catch up with the next round commit.
  void HoldBack() { held_back_ = true; }
  Decision GoOn();
  // Closes the partition, because its shard is about to leave: gradients are BUSY until Reopen(),
  // which is called if the shard stays after all. A round whose gradients are staged may still
  // close. Returns true if the partition was not closed before.
  bool Close() { return !std::exchange(closed_, true); }
  void Reopen() { closed_ = false; }

  // The partition is about to move to another shard: until EndMove() all gradients are BUSY, no
  // round is passed, and no stream is closed, so that the new shard is sent everything that has
  // happened to it (docs/spec, rules 14, 23 and 24). Returns false and changes nothing if a
  // gradient of the open round is staged or added, because that would not move along (rule 25).
  // REQUIRES: queued() == 0.
  [[nodiscard]] bool BeginMove();
  void EndMove() { moving_ = false; }

  // Forgets the sessions that were silent for kSessionTtl. Returns them, by part.
  std::array<std::vector<StreamId>, kParts> ExpireSessions(absl::Time now);
  void ForgetSession(Part part, StreamId session);

  // Returns the state that a checkpoint keeps, or that is sent along in a move. It does not contain
  // gradients of the round after round(), staged or added: their lanes push them again. REQUIRES:
  // queued() == 0.
  PartitionState Snapshot() const;

  bool held_back() const { return held_back_; }
  bool moving() const { return moving_; }
  bool closed() const { return closed_; }
  bool IsSync(Part part) const { return sync_[Index(part)]; }
  Timeline timeline() const { return options_.timeline; }
  uint64_t version(Part part) const { return versions_[Index(part)]; }
  // How many batches of tasks were counted here; see StreamPart. 0 for a synchronous part.
  uint64_t batches(Part part) const { return streams_[Index(part)].batches(); }
  uint64_t round() const { return round_; }  // How many rounds were passed.
  uint64_t lost(Part part) const;  // How many batches of streams were lost; see StreamLedger.
  uint64_t lost() const { return lost(Part::kDense) + lost(Part::kSparse); }
  size_t queued() const;

  // Returns the state in one line. The state-space explorer (tests) compares states by it.
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
