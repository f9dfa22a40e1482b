// A worker's work on one lease. The shell turns what happens into events and carries out the
// actions; the machine knows no thread, socket, file or clock.
//
//   Task runner (async, ssp, evaluation): computes the batches of a task, from `first_batch` on.
//   The pull of batch k+1 overlaps the computation of k, but begins only when at most `push_window`
//   steps before it are not settled: a single worker's gradients are at most so many updates stale.
//   Steps of the trainer's task before count, too: when such are over, the shell feeds Tick{}.
//   What has been pulled is to be computed at once, also if the batch before it still is.
//
//   Lane runner (sync, and the hybrid): open a round at the coordinator -> take the batch that the
//   coordinator's cursor names -> pull -> compute -> stage on every shard -> report -> open the
//   next. A batch whose gradient came too late for its round is offered again in a later one. In
//   the hybrid the same push also carries the gradients of the parts that are not synchronous,
//   under a stream name; a shard answers a repetition of those with SETTLED.
//
// The contract between shell and machine:
//  - Feed Start{} first. After each event carry out the actions in their order. Feed one event at a
//    time.
//  - Every Send* is answered by exactly one *Done event with its ticket, also when the call failed
//    or ran out of time (give each call a deadline; see the action). The machine ignores tickets
//    that it does not wait for. When a pull or push is followed by another one of the same batch to
//    the same shard, the shell may cancel the earlier one, and then does not answer it.
//  - Every ReadBatch is answered by BatchRead or EndOfData; every Compute by Computed.
//  - Call On(Tick{}) when NextWake() has come.
//  - Forget{batch} says that the machine will not name the batch again: free it. Calls for it that
//    are still under way must keep alive what they need.
//  - After Finished{} the machine is over: it answers every event with no action. Calls under way
//    may be cancelled.
//  - A batch is named by its number in the task (its seq), or in the lane (its cursor).
#ifndef CAPSTAN_WORKER_MACHINES_RUNNER_MACHINE_H_
#define CAPSTAN_WORKER_MACHINES_RUNNER_MACHINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/consistency/round_commit.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/v1/ps.pb.h"
#include "worker/machines/trainer_clock.h"

namespace capstan::worker {

using Ticket = uint64_t;

// ---- actions ----

// Read, parse, deduplicate, split by shard.
struct ReadBatch {
  uint64_t batch = 0;
};

// What a synchronous pull or stage is named by.
struct LaneName {
  LaneIndex lane{};
  Generation generation;
  uint64_t round = 0;
  // The commit of the round before `round`; null where no round is named. The runner and each of
  // its requests under way share it, for it names every lane of the job.
  std::shared_ptr<const RoundCommit> closed;
};

struct SendPull {
  Ticket ticket = 0;
  ShardIndex shard{};
  uint64_t batch = 0;
  uint64_t clock = 0;  // ssp: header.clock, the step that the pull is for.
  bool evaluation = false;
  std::optional<LaneName> lane;  // sync: PullRequest.round and .closed.
};

// Forward and backward (evaluation: forward only). Comes once the values of every shard are there.
// Several runners of a trainer may ask at once; the shell computes their batches one after another.
struct Compute {
  uint64_t batch = 0;
};

struct SendPush {
  Ticket ticket = 0;
  ShardIndex shard{};
  uint64_t batch = 0;
  uint64_t clock = 0;  // ssp: header.clock of the push's last call. 0: carries no clock.
  bool empty = false;  // Without gradients: none were computed, or none are this shard's.
  std::optional<StreamPush> stream;  // The name for parts that are not synchronous.
  std::optional<LaneName> stage;     // The name for synchronous parts.
};

// ssp: a push without gradients, which tells a shard header.clock. It goes under the name of the
// lease, so that only the lease's holder can tell a clock.
struct SendClock {
  Ticket ticket = 0;
  ShardIndex shard{};
  uint64_t clock = 0;
  std::optional<StreamPush> stream;  // The push's name, if the lease is a task's.
  std::optional<LaneName> stage;     // The same, if it is a lane's; names no round.
};

// OpenRound at the coordinator. The call's deadline is `wait` and some seconds more.
struct SendOpen {
  Ticket ticket = 0;
  LaneIndex lane{};
  Generation generation;
  absl::Duration wait;
  // The open round counts the lane already, so the coordinator answers when the next one opens.
  bool counted = false;
};

struct SendReport {
  Ticket ticket = 0;
  LaneIndex lane{};
  Generation generation;
  uint64_t round = 0;
  uint32_t examples = 0;
  bool end_of_data = false;
};

struct Forget {
  uint64_t batch = 0;
  // Every shard has acknowledged the batch, or (lane) a round commit holds it: count its examples.
  bool settled = false;
};

struct Finished {
  enum class Why {
    kDone,      // All batches settled: LeaseReport.finished, total_batches.
    kReturned,  // Drained: LeaseReport.returned.
    kLost,  // Revoked, or a shard or the coordinator knows a later generation: report nothing more.
    kFailed,  // The job cannot go on as it is: `status` says why.
  };
  Why why{};
  absl::Status status;
};

using Action = std::variant<ReadBatch, SendPull, Compute, SendPush, SendClock, SendOpen, SendReport,
                            Forget, Finished>;
using Actions = std::vector<Action>;

// ---- events ----

struct Start {};

struct BatchRead {
  uint64_t batch = 0;
  uint32_t examples = 0;
  // The shards that hold keys or blocks of the batch: it is pulled from them and, in asynchronous
  // parts, pushed to them.
  std::vector<ShardIndex> shards;
  // Lane runner in the hybrid: the batch's name in the streams.
  StreamId stream;
  uint64_t seq = 0;
  uint64_t bytes = 0;  // What the batch takes. Not used by the machine.
};

// The task, or the lane, has exactly `batches` batches. The shell does not say so of a lane while
// lane_tasks_complete is false: it holds the answer back until then.
struct EndOfData {
  uint64_t batches = 0;
};

// OK: all values are there. ABORTED: the round is over. UNAVAILABLE, DEADLINE_EXCEEDED,
// RESOURCE_EXHAUSTED and the like: the machine tries again. FAILED_PRECONDITION: the views differ,
// so it tries again, at the latest when a newer view comes. Other codes end the lease.
struct PullDone {
  Ticket ticket = 0;
  absl::Status status;
  absl::Duration retry_after;  // RESOURCE_EXHAUSTED: the shard's hint.
};

struct Computed {
  uint64_t batch = 0;
  double loss_sum = 0;
  bool nonfinite = false;  // Gradient or loss holds NaN/Inf: nothing is pushed.
};

// What became of a push whose call was OK: how many partition parts had each outcome.
struct OutcomeSummary {
  uint32_t old_generation = 0;
  uint32_t not_owner = 0;
  uint32_t busy = 0;
  uint32_t wrong_round = 0;
  uint32_t outside_window = 0;
  uint32_t settled = 0;  // Applied, queued, staged, settled before, or dropped.

  // Counts `outcome`, `times` times. An outcome that this version does not know counts as busy, for
  // it may not be settled.
  void Count(v1::Outcome outcome, uint32_t times = 1);
};
struct PushDone {
  Ticket ticket = 0;
  absl::Status status;
  OutcomeSummary outcomes;
  absl::Duration retry_after;
};

struct ClockDone {
  Ticket ticket = 0;
  absl::Status status;
};

struct OpenDone {
  Ticket ticket = 0;
  absl::Status status;
  v1::OpenRoundReply::Answer answer = v1::OpenRoundReply::ANSWER_UNSPECIFIED;
  uint64_t round = 0;  // Also with WAIT: the first round that the lane may still compute.
  RoundCommit closed;
  uint64_t cursor = 0;
};

struct ReportDone {
  Ticket ticket = 0;
  absl::Status status;
  v1::ReportLaneReply::Answer answer = v1::ReportLaneReply::ANSWER_UNSPECIFIED;
};

// A newer view. If partitions have `moved`, the machine sends again what it had asked for and sent
// by the old map; the shell may cancel pulls and pushes that are under way.
struct ViewChanged {
  std::vector<ShardIndex> shards;  // All shards of the view, ascending.
  std::vector<ShardIndex> restarted;
  // A partition has another owner, perhaps partition 0 (the coordinator), or an owner has
  // restarted.
  bool moved = false;
  // If `moved`: every batch that was read and not forgotten, with its shards by the new map. Only
  // `batch` and `shards` are used.
  std::vector<BatchRead> replanned;
};

struct Revoked {};
struct Drain {  // Begin nothing new; be over by `deadline`.
  absl::Time deadline;
};
struct Tick {};

using Event = std::variant<Start, BatchRead, EndOfData, PullDone, Computed, PushDone, ClockDone,
                           OpenDone, ReportDone, ViewChanged, Revoked, Drain, Tick>;

// ---- the machine ----

struct Backoff {
  absl::Duration first = absl::Milliseconds(20);
  absl::Duration most = absl::Seconds(2);
};

struct RunnerOptions {
  Generation generation;
  std::vector<ShardIndex> shards = {ShardIndex{0}};  // All shards of the view, ascending.
  bool ssp = false;    // A part is ssp: every step is pushed to every shard and tells its clock.
  int read_ahead = 1;  // How many batches are read before they are needed.
  Backoff backoff;
};

struct TaskLease {
  RunnerOptions options;
  StreamId stream;
  uint64_t first_batch = 0;
  bool evaluation = false;  // Pulls with evaluation = true, pushes nothing.
  // A pull begins only while at most so many steps before it are not settled. At most
  // StreamLedger::kWindow. An evaluation does not go by it: it pulls one batch ahead.
  int push_window = 1;
};

struct LaneLease {
  RunnerOptions options;
  LaneIndex lane{};
  bool has_stream = false;  // The hybrid: some parts are not synchronous.
  absl::Duration open_wait = absl::Seconds(5);
};

// What a LeaseReport tells.
struct RunnerProgress {
  // Task: the contiguous settled prefix. Lane: the cursor as last known.
  uint64_t batches_done = 0;
  // How many records there are in those of these batches that this runner itself has settled.
  uint64_t examples = 0;
  double loss_sum = 0;
  uint64_t late = 0;       // Lane: gradients that came too late for their round.
  uint64_t nonfinite = 0;  // Steps whose gradient or loss was NaN/Inf.
  std::optional<uint64_t> total_batches;
};

// What a machine is handed with each event. `clock` is the trainer's, shared by all its runners;
// `random` draws from [0, 1).
struct RunnerContext {
  absl::Time now;
  TrainerClock& clock;
  absl::FunctionRef<double()> random;
};

// Confined to the trainer's event loop.
class RunnerMachine {
 public:
  virtual ~RunnerMachine() = default;
  virtual Actions On(const Event& event, const RunnerContext& context) = 0;
  virtual absl::Time NextWake() const = 0;  // InfiniteFuture: no Tick is needed.
  virtual RunnerProgress progress() const = 0;
  // The batch that it works on next, as soon as that is read: those that it asks for beyond this
  // one are read ahead. Never falls.
  virtual uint64_t needed_batch() const = 0;
  virtual bool finished() const = 0;

  // For the explorer of the simulation: a copy of the machine, and its state in one line, equal for
  // equal states (tickets and times do not show).
  virtual std::unique_ptr<RunnerMachine> Clone() const = 0;
  virtual std::string DebugString() const = 0;
};

std::unique_ptr<RunnerMachine> NewTaskRunner(const TaskLease& lease);
std::unique_ptr<RunnerMachine> NewLaneRunner(const LaneLease& lease);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_RUNNER_MACHINE_H_
