// What the chief knows of its job, for all of its duties: the facts in four groups, the questions
// that need several groups, and the few things that any duty may bring about. What only one duty
// knows or decides stands in that duty.
#ifndef CAPSTAN_CHIEF_JOB_JOB_CONTEXT_H_
#define CAPSTAN_CHIEF_JOB_JOB_CONTEXT_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/ids.h"
#include "capstan/v1/chief.pb.h"
#include "chief/job/checkpoints.h"
#include "chief/job/placement.h"
#include "chief/job/recoveries.h"
#include "chief/job/training.h"
#include "chief/state/chief_options.h"
#include "chief/state/outbox.h"
#include "chief/state/shard_calls.h"
#include "chief/state/state_writer.h"
#include "chief/state/takeover.h"

namespace capstan::chief {

// What the seal of a lease of training is made from.
struct SealedLease {
  TrainerId trainer{};
  Generation generation;
  std::optional<uint32_t> lane;  // None: the lease is of a task,
  StreamId stream{};             // whose stream is this one.
};

// Thread-compatible. A copy behaves like the original, and shares nothing with it.
struct JobContext {
  // `given` holds the job with every default filled in, and the tasks of both splits.
  JobContext(const ChiefOptions& options, JobPlan given, const JobHistory& history, absl::Time now);

  // ---- questions ----

  bool ended() const { return state == v1::JOB_STATE_COMPLETED || state == v1::JOB_STATE_FAILED; }
  // The state as others are told it. The end of the job is told only once it is stored: before that
  // the next chief might not know of it.
  v1::JobState told_state() const {
    return writer.IsStored(completion) ? state : v1::JOB_STATE_CHECKPOINTING;
  }
  // Returns true if the store has it that the job has ended: whoever goes on with it, this chief or
  // a later one, does so in a later timeline, so no backup takes over any more in the present one.
  bool end_stored() const { return ended() && writer.IsStored(end_written); }
  bool replicas() const { return plan.spec.replicas() > 0; }
  bool partial_recovery() const { return plan.spec.recovery() == v1::RECOVERY_PARTIAL; }
  absl::Duration worker_lease() const {
    return absl::Seconds(plan.spec.lease().worker_lease_seconds());
  }

  // Returns true if the job is RUNNING, and the shards that an earlier chief has left at work are
  // back.
  bool running() const { return state == v1::JOB_STATE_RUNNING && takeover.settled(); }
  // The same, also while the model is saved (CHECKPOINTING): the shards serve.
  bool serving() const {
    return (state == v1::JOB_STATE_RUNNING || state == v1::JOB_STATE_CHECKPOINTING) &&
           takeover.settled();
  }

  bool MayTrain() const { return state == v1::JOB_STATE_RUNNING && !training.LeasesTakenBack(); }
  // Returns true if every worker that held a lease that was taken back has heard of that, or is
  // gone.
  bool Drained(absl::Time now) const {
    return training.end.draining.empty() && takeover.complete(now);
  }
  // Returns true if evaluations need a standstill: in jobs with lanes always, in others if the
  // metric decides which parameters are the result.
  bool EvaluatesAtStandstill() const;
  SavedMark MarkOfNow() const;
  // Returns true if the newest checkpoint holds all there is, as far as the chief has heard.
  bool NothingSinceCheckpoint() const { return checkpoints.newest == MarkOfNow(); }
  bool CheckpointDue(absl::Time now) const;
  // Returns true if a checkpoint is due, and no moves are under way, for which it would wait.
  bool CheckpointWanted(absl::Time now) const {
    return !placement.MovesLinger() && CheckpointDue(now);
  }
  // Returns true if a shard that is lost returns to a checkpoint alone. False towards the end of
  // the job, when the model is about to be saved: everybody returns, so that what the shard has
  // lost is trained again. False also if the log of closed streams is not whole: the shard could
  // not be told of all of them.
  bool MayRecoverPartially() const {
    return partial_recovery() && state == v1::JOB_STATE_RUNNING && !training.end.begun() &&
           training.closes.log().whole();
  }
  // Returns the shards over which the next map is to be made: those of the map before, or the
  // shards 0 to options.shards - 1. While the job is PENDING this is the larger set, as more shards
  // have more room, until all of the smaller set have been there for a worker's lease and the
  // larger one is not complete.
  std::set<uint32_t> ShardsOfNextMap(absl::Time now) const;
  // Returns true if all of `shards` have been heard of within a worker's lease.
  bool AreThere(const std::set<uint32_t>& shards, absl::Time now) const {
    return placement.shards.ThereSince(shards, worker_lease(), now) <= now;
  }
  // Returns the seal by which shards, and later chiefs, know a lease of training.
  uint64_t SealOf(const SealedLease& lease) const;
  // Returns the checkpoints to return to, the newest last. If there is none, returns what the job
  // began with: a checkpoint of another job, or the initial values.
  std::vector<RecoverySource> Sources() const;

  // ---- what any duty may bring about ----

  void Fail(v1::FailureKind kind, std::string_view why);
  // Training is over: begins the steps of EndStep.
  void BeginEnd(std::string_view why);
  void FlushShards();
  // Ends a standstill: training goes on.
  void Resume();
  void AddCurvePoint(const v1::Evaluation& evaluation, absl::Time now);

  // ---- facts ----

  ChiefOptions options;
  JobPlan plan;
  v1::JobState state = v1::JOB_STATE_PENDING;
  v1::FailureKind failure_kind = v1::FAILURE_KIND_UNSPECIFIED;
  std::string reason;  // Why the job has ended, or ends.
  std::string stop;    // Why the job is to end early; empty: it is not.
  std::string model_uri;
  std::optional<absl::Time> completed;
  StateWriter::Ticket completion = 0;   // The end is told once this is stored.
  StateWriter::Ticket end_written = 0;  // The state of completion, or of failure.

  Training training;
  Placement placement;
  Checkpoints checkpoints;
  Recoveries recovery;

  // What others are to do, and what is stored.
  Outbox outbox;
  ShardCalls calls;
  StateWriter writer;
  Takeover takeover;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_JOB_CONTEXT_H_
