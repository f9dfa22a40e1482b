// What the chief knows of its job, shared by all its duties: the facts in four groups, the
// questions that need several groups, and the few effects that any duty may cause. What only one
// duty needs is a member of that duty.
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

// The fields from which the seal of a training lease is computed.
struct SealedLease {
  TrainerId trainer{};
  Generation generation;
  std::optional<uint32_t> lane;  // nullopt: the lease is for a task, not a lane.
  StreamId stream{};             // The stream of the task; unused for a lane.
};

// Thread-compatible. A copy is independent of the original.
struct JobContext {
  // `given` holds the job with every default filled in, and the tasks of both splits.
  JobContext(const ChiefOptions& options, JobPlan given, const JobHistory& history, absl::Time now);

  // ---- questions ----

  bool ended() const { return state == v1::JOB_STATE_COMPLETED || state == v1::JOB_STATE_FAILED; }
  // Returns the state as it is reported to others. The end of the job is reported only once it is
  // stored, as otherwise a new chief might not know of it.
  v1::JobState told_state() const {
    return writer.IsStored(completion) ? state : v1::JOB_STATE_CHECKPOINTING;
  }
  // Returns true if the stored state says that the job has ended. Any chief that continues the job
  // then does so in a later timeline, so in the present one no backup takes over any more.
  bool end_stored() const { return ended() && writer.IsStored(end_written); }
  bool replicas() const { return plan.spec.replicas() > 0; }
  bool partial_recovery() const { return plan.spec.recovery() == v1::RECOVERY_PARTIAL; }
  absl::Duration worker_lease() const {
    return absl::Seconds(plan.spec.lease().worker_lease_seconds());
  }

  // Returns true if the job is RUNNING, and the shards that an earlier chief left at work are back.
  bool running() const { return state == v1::JOB_STATE_RUNNING && takeover.settled(); }
  // The same, but also true while the model is saved (CHECKPOINTING), as shards serve then.
  bool serving() const {
    return (state == v1::JOB_STATE_RUNNING || state == v1::JOB_STATE_CHECKPOINTING) &&
           takeover.settled();
  }

  bool MayTrain() const { return state == v1::JOB_STATE_RUNNING && !training.LeasesTakenBack(); }
  // Returns true if every worker whose lease was revoked knows of that or is gone.
  bool Drained(absl::Time now) const {
    return training.end.draining.empty() && takeover.complete(now);
  }
  // Returns true if evaluations need a standstill: always in jobs with lanes; in others if the
  // metric decides which parameters are the result.
  bool EvaluatesAtStandstill() const;
  SavedMark MarkOfNow() const;
  // Returns true if the newest checkpoint is up to date, as far as the chief has heard.
  bool NothingSinceCheckpoint() const { return checkpoints.newest == MarkOfNow(); }
  bool CheckpointDue(absl::Time now) const;
  // Returns true if a checkpoint is due, and no moves are under way, which it would have to wait
  // for.
  bool CheckpointWanted(absl::Time now) const {
    return !placement.MovesLinger() && CheckpointDue(now);
  }
  // Returns true if a lost shard returns to a checkpoint alone. False towards the end of the job,
  // when the model is about to be saved: all shards return, so that the lost updates are trained
  // again. Also false if the log of closed streams is not whole, as the shard could not be sent all
  // of them.
  bool MayRecoverPartially() const {
    return partial_recovery() && state == v1::JOB_STATE_RUNNING && !training.end.begun() &&
           training.closes.log().whole();
  }
  // Returns the shards over which the next map is to be made: those of the previous map, or the
  // shards 0 to options.shards - 1. While the job is PENDING, returns the larger of the two sets,
  // for more memory. Returns the smaller one instead once all of it has been present for the length
  // of a worker's lease while the larger one is incomplete.
  std::set<uint32_t> ShardsOfNextMap(absl::Time now) const;
  // Returns true if all of `shards` have been heard of within a worker's lease.
  bool AreThere(const std::set<uint32_t>& shards, absl::Time now) const {
    return placement.shards.ThereSince(shards, worker_lease(), now) <= now;
  }
  // Returns the seal by which shards and later chiefs recognize a training lease.
  uint64_t SealOf(const SealedLease& lease) const;
  // Returns the checkpoints that a recovery may return to, the newest last. If the job has none,
  // returns what it began with: a checkpoint of another job, or the initial values.
  std::vector<RecoverySource> Sources() const;

  // ---- effects that any duty may cause ----

  void Fail(v1::FailureKind kind, std::string_view why);
  // Training is over: begins the steps of EndStep. `why` is for people.
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
  std::string stop;    // Why the job is to end early; empty if it is not.
  std::string model_uri;
  std::optional<absl::Time> completed;
  StateWriter::Ticket completion = 0;   // The end is reported once this is stored.
  StateWriter::Ticket end_written = 0;  // The state of completion, or of failure.

  Training training;
  Placement placement;
  Checkpoints checkpoints;
  Recoveries recovery;

  // What others have to do, and what is stored.
  Outbox outbox;
  ShardCalls calls;
  StateWriter writer;
  Takeover takeover;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_JOB_JOB_CONTEXT_H_
