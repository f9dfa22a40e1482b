// A worker's work on one lease. The shell turns what happens into events and carries out the
// actions; the machine knows no thread, socket, file or clock.
//
//   Task runner (async, ssp, evaluation): batches of a task, from `first_batch` on. The pull of
//   batch k+1 overlaps the computation of k, but begins only when at most `push_window` steps
//   before it are not settled: a single worker's gradients are at most so many updates stale. Lane
//   runner (sync, and the hybrid): open a round at the coordinator -> batch = the coordinator's
//   cursor -> pull -> compute -> stage on every shard -> report -> open. A batch that came too late
//   is offered again. In the hybrid the same push carries the asynchronous part by its stream name,
//   where a repetition is SETTLED.
//
// The contract between shell and machine:
//  - Feed Start{} first. After each event carry out the actions in their order. Events come one at
//  a time.
//  - Every Send* and Refresh is answered by exactly one *Done event with its ticket, also when the
//  call
//    failed or ran out of time (give each call a deadline; see the action). Stale tickets are
//    ignored.
//    A pull or push that is followed by another one of the same batch to the same shard may be
//    cancelled, and is not answered then.
//  - Every ReadBatch is answered by BatchRead or EndOfData; every Compute by Computed.
//  - Call On(Tick{}) when NextWake() has come.
//  - Forget{batch} says that the machine will not speak of the batch again: free it. Calls for it
//  that are
//    still under way must keep alive what they need.
//  - After Finished{} the machine is over: it answers every event with no action. Calls under way
//  may be
//    cancelled.
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

// The name of a synchronous pull or stage.
struct LaneName {
  LaneIndex lane{};
  Generation generation;
  uint64_t round = 0;
  RoundCommit closed;
};

struct SendPull {
  Ticket ticket = 0;
  ShardIndex shard{};
  uint64_t batch = 0;
  uint64_t clock = 0;  // ssp: header.clock, the step it is for.
  bool evaluation = false;
  std::optional<LaneName> lane;  // sync: PullRequest.round and .closed.
};

// Forward and backward (evaluation: forward only), once every shard's values are there. Several
// runners of a trainer may ask at once; the shell computes them one after another.
struct Compute {
  uint64_t batch = 0;
};

struct SendPush {
  Ticket ticket = 0;
  ShardIndex shard{};
  uint64_t batch = 0;
  uint64_t clock = 0;  // ssp: header.clock of the last call; otherwise 0, and none is told.
  bool empty = false;  // Without gradients: this step has none, or none for this shard.
  std::optional<StreamPush> stream;  // Parts that are not synchronous.
  std::optional<LaneName> stage;     // Parts that are.
};

// ssp: a push of nothing, only header.clock, under the name of the lease: nobody else may tell it.
struct SendClock {
  Ticket ticket = 0;
  ShardIndex shard{};
  uint64_t clock = 0;
  std::optional<StreamPush> stream;  // What the push is called, if it is of a task.
  std::optional<LaneName> stage;     // What it is called, if it is of a lane; no round has it.
};

// OpenRound at the coordinator; its deadline is `wait` and some seconds.
struct SendOpen {
  Ticket ticket = 0;
  LaneIndex lane{};
  Generation generation;
  absl::Duration wait;
  // The round that is open counts the lane already, so this is answered when the next one opens.
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
  bool settled =
      false;  // Acknowledged by every shard, or (lane) held by a round commit: count its examples.
};

struct Finished {
  enum class Why {
    kDone,      // All batches settled: LeaseReport.finished, total_batches.
    kReturned,  // Drained: LeaseReport.returned.
    kLost,  // Revoked, or a shard or the coordinator knows a later generation. Report nothing more.
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
  std::vector<ShardIndex>
      shards;  // That hold keys or blocks of it: pulled from and, if asynchronous, pushed to.
  // Lane runner in the hybrid: the batch's name in the streams.
  StreamId stream;
  uint64_t seq = 0;
};

// The task, or the lane, has exactly `batches` batches. Not to be said of a lane while
// lane_tasks_complete is false: the shell then holds the answer back.
struct EndOfData {
  uint64_t batches = 0;
};

// OK; ABORTED: the round is over; UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED and the like
// are tried again; FAILED_PRECONDITION: refresh the view, then again; others end the lease.
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

// With an OK status the outcomes decide. `outcomes`: how many partition parts had each outcome.
struct OutcomeSummary {
  uint32_t old_generation = 0;
  uint32_t not_owner = 0;
  uint32_t busy = 0;
  uint32_t wrong_round = 0;
  uint32_t outside_window = 0;
  uint32_t settled = 0;  // Applied, queued, staged, settled before, or dropped.

  // Counts one outcome so many times. What this version does not know counts as busy: it may not be
  // settled.
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
  uint64_t round = 0;  // Also with WAIT: the first that the lane may still compute.
  RoundCommit closed;
  uint64_t cursor = 0;
};

struct ReportDone {
  Ticket ticket = 0;
  absl::Status status;
  v1::ReportLaneReply::Answer answer = v1::ReportLaneReply::ANSWER_UNSPECIFIED;
};

// A newer view. `restarted`: shards whose incarnation has changed. `replanned`: if it has `moved`
// partitions, for every batch that has been read and not forgotten its shards by the new map.
// What was asked for and sent by the old one is asked for and sent again: pulls and pushes under
// way may be cancelled.
struct ViewChanged {
  std::vector<ShardIndex> shards;  // Those of the view, ascending.
  std::vector<ShardIndex> restarted;
  // Partitions have other owners, of whom one is the coordinator, or an owner has begun anew.
  bool moved = false;
  std::vector<BatchRead> replanned;  // Only `batch` and `shards` are read. Not moved: empty.
};

struct Revoked {};
struct Drain {  // Begin nothing new; be over by the deadline.
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
  bool ssp = false;    // A part is ssp: clocks are told, and every step is pushed to every shard.
  int read_ahead = 1;  // Batches read before they are needed.
  Backoff backoff;
};

struct TaskLease {
  RunnerOptions options;
  StreamId stream;
  uint64_t first_batch = 0;
  bool evaluation = false;  // Pulls with evaluation = true, pushes nothing.
  int push_window = 1;      // Steps begun and not settled when the next one pulls; at most
                            // StreamLedger::kWindow.
};

struct LaneLease {
  RunnerOptions options;
  LaneIndex lane{};
  bool has_stream = false;  // The hybrid: a part is not synchronous.
  absl::Duration open_wait = absl::Seconds(5);
};

// What a LeaseReport tells.
struct RunnerProgress {
  uint64_t batches_done = 0;  // Task: contiguous settled prefix. Lane: cursor as last heard of.
  // Records in those batches of the prefix that this runner has settled.
  uint64_t examples = 0;
  double loss_sum = 0;
  uint64_t late = 0;       // Lane: gradients that came too late.
  uint64_t nonfinite = 0;  // Steps not pushed.
  std::optional<uint64_t> total_batches;
};

// What a machine is handed with each event. `clock` is the trainer's, the same for all its runners;
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
  virtual absl::Time NextWake() const = 0;  // InfiniteFuture: only events matter.
  virtual RunnerProgress progress() const = 0;
  virtual bool finished() const = 0;

  // For the explorer: a copy; whether an answer with this ticket is waited for; the state in one
  // line, equal for equal states (tickets and times do not show).
  virtual std::unique_ptr<RunnerMachine> Clone() const = 0;
  virtual std::string DebugString() const = 0;
};

std::unique_ptr<RunnerMachine> NewTaskRunner(const TaskLease& lease);
std::unique_ptr<RunnerMachine> NewLaneRunner(const LaneLease& lease);

}  // namespace capstan::worker

#endif  // CAPSTAN_WORKER_MACHINES_RUNNER_MACHINE_H_
