// What the chief knows of its job, for all of its duties: the facts in four groups, the questions
// that need several of them, and the few things that any duty may bring about. What only one duty
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

// Thread-compatible. A copy is another job that behaves like the first.
struct JobContext {
  // `given` holds the job with every default filled in, and the tasks of both splits.
  JobContext(const ChiefOptions& options, JobPlan given, const JobHistory& history, absl::Time now);

  // ---- questions ----

  bool ended() const { return state == v1::JOB_STATE_COMPLETED || state == v1::JOB_STATE_FAILED; }
  // The end is told when it is stored: the next chief might not know of it.
  v1::JobState told_state() const {
    return writer.IsStored(completion) ? state : v1::JOB_STATE_CHECKPOINTING;
  }
  bool replicas() const { return plan.spec.replicas() > 0; }
  bool partial_recovery() const { return plan.spec.recovery() == v1::RECOVERY_PARTIAL; }
  absl::Duration worker_lease() const {
    return absl::Seconds(plan.spec.lease().worker_lease_seconds());
  }

  // It is running, and the shards that an earlier chief has left at work are back.
  bool running() const { return state == v1::JOB_STATE_RUNNING && takeover.settled(); }
  // Likewise its shards serve, also while the model is saved.
  bool serving() const {
    return (state == v1::JOB_STATE_RUNNING || state == v1::JOB_STATE_CHECKPOINTING) &&
           takeover.settled();
  }

  bool MayTrain() const { return state == v1::JOB_STATE_RUNNING && !training.LeasesTakenBack(); }
  // Everybody who held a lease that was taken back has heard of it, or is gone.
  bool Drained(absl::Time now) const {
    return training.end.draining.empty() && takeover.complete(now);
  }
  // Nothing is trained while it is evaluated: in rounds always, elsewhere where the metric decides
  // what the result is.
  bool EvaluatesAtStandstill() const;
  bool CheckpointDue(absl::Time now) const;
  // The same, and no moves are under way, for which it waits.
  bool CheckpointWanted(absl::Time now) const {
    return !placement.MovesLinger() && CheckpointDue(now);
  }
  // A shard that is lost returns to a checkpoint alone. Towards the end of a job everybody does:
  // the model is about to be saved, and what it would lose is trained again. So does everybody
  // where more was closed since the checkpoint than the shard can be told of.
  bool MayRecoverPartially() const {
    return partial_recovery() && state == v1::JOB_STATE_RUNNING && !training.end.begun() &&
           training.closes.log().whole();
  }
  // The shards over which the next map is made, or may be if they come: those of the map before, or
  // those that are wished. The more they are the more room there is, so the more are waited for
  // until the others have been there for as long as a worker's lease.
  std::set<uint32_t> ShardsOfNextMap(absl::Time now) const;
  // All of these are there, and have been heard of within a worker's lease.
  bool AreThere(const std::set<uint32_t>& shards, absl::Time now) const {
    return placement.shards.ThereSince(shards, worker_lease(), now) <= now;
  }
  // The checkpoints to return to, the best last; the initial values only where there is none.
  std::vector<RecoverySource> Sources() const;

  // ---- what any duty may bring about ----

  void Fail(v1::FailureKind kind, std::string_view why);
  // Training is over; the way out begins.
  void BeginEnd(std::string_view why);
  void FlushShards();
  // Training that stood still goes on.
  void Resume();
  void AddCurvePoint(const v1::Evaluation& evaluation, absl::Time now);

  // ---- facts ----

  ChiefOptions options;
  JobPlan plan;
  v1::JobState state = v1::JOB_STATE_PENDING;
  v1::FailureKind failure_kind = v1::FAILURE_KIND_UNSPECIFIED;
  std::string reason;  // Why it has ended, or ends.
  std::string stop;    // Why it is to end early; empty: it is not.
  std::string model_uri;
  std::optional<absl::Time> completed;
  StateWriter::Ticket completion = 0;  // Nobody is told of the end before this is stored.

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
