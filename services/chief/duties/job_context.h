// What the chief knows of its job, for all of its duties: the facts, the questions that more than
// one duty asks of them, and the few things that any duty may bring about. What only one duty knows
// or decides stands in that duty.
#ifndef CAPSTAN_CHIEF_DUTIES_JOB_CONTEXT_H_
#define CAPSTAN_CHIEF_DUTIES_JOB_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "capstan/security/seal.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/chief.pb.h"
#include "chief/machines/checkpointer.h"
#include "chief/machines/early_stop.h"
#include "chief/machines/end_sequence.h"
#include "chief/machines/lost_updates_meter.h"
#include "chief/machines/partition_moves.h"
#include "chief/machines/recovery.h"
#include "chief/machines/round_barrier.h"
#include "chief/machines/shard_hearing.h"
#include "chief/machines/stream_closes.h"
#include "chief/state/checkpoint_catalog.h"
#include "chief/state/chief_options.h"
#include "chief/state/membership.h"
#include "chief/state/outbox.h"
#include "chief/state/partition_loads.h"
#include "chief/state/shard_calls.h"
#include "chief/state/shard_table.h"
#include "chief/state/state_writer.h"
#include "chief/state/takeover.h"
#include "chief/state/view_builder.h"
#include "chief/state/view_gate.h"
#include "chief/work/accusations.h"
#include "chief/work/bad_record_count.h"
#include "chief/work/evaluation.h"
#include "chief/work/progress.h"
#include "chief/work/stragglers.h"
#include "chief/work/work.h"

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
  uint64_t timeline() const { return views.current().timeline(); }
  bool replicas() const { return plan.spec.replicas() > 0; }
  bool partial_recovery() const { return plan.spec.recovery() == v1::RECOVERY_PARTIAL; }
  absl::Duration worker_lease() const;
  // Shards that hold partitions. Of each is known who it was or is.
  std::vector<uint32_t> Owners() const { return {views.owners().begin(), views.owners().end()}; }

  // The shard can take partitions, now and later.
  bool MayTake(uint32_t shard, absl::Time now) const;
  // Those that are to leave and have partitions.
  std::set<uint32_t> LeavingShards() const;
  // Those of them whose partitions nobody can take: they are saved.
  std::set<uint32_t> ShardsToSave(absl::Time now) const;
  // By partition: the shard that backs it up.
  std::vector<std::optional<uint32_t>> Backups() const;
  // How many partitions have no backup.
  size_t Unpaired() const;
  // A view that others know, or will, names moves.
  bool MovesLinger() const { return moves.under_way() || !gate.published().moves().empty(); }

  // Leases of training are taken back: at the job's end, and before an evaluation at rest.
  bool LeasesTakenBack() const;
  bool MayTrain() const { return state == v1::JOB_STATE_RUNNING && !LeasesTakenBack(); }
  // Everybody who held a lease that was taken back has heard of it, or is gone.
  bool Drained(absl::Time now) const;
  // Nothing is trained while it is evaluated: in rounds always, elsewhere where the metric decides
  // what the result is.
  bool EvaluatesAtRest() const;
  bool EvaluationDue() const;
  // Training stands still as far as an evaluation or a checkpoint needs it.
  bool AtRest() const;
  bool CheckpointDue(absl::Time now) const;
  // The same, and no moves are under way, for which it waits.
  bool CheckpointWanted(absl::Time now) const { return !MovesLinger() && CheckpointDue(now); }
  // A shard that is lost returns to a checkpoint alone. Towards the end of a job everybody does:
  // the model is about to be saved, and what it would lose is trained again.
  bool MayRecoverPartially() const;
  // The checkpoints to return to, the best last; the initial values only where there is none.
  std::vector<RecoverySource> Sources() const;
  v1::TaskProgress ProgressOfNow() const;

  // ---- what any duty may bring about ----

  void Fail(v1::FailureKind kind, std::string_view why);
  // Training is over; the way out begins.
  void BeginEnd(std::string_view why);
  // REQUIRES: no evaluation is running.
  void BeginEvaluation(bool at_barrier, bool final, absl::Time now);
  // Until Drained() somebody may still push by one of the leases.
  void TakeLeasesBack();
  void FlushShards();
  // Training that stood still goes on.
  void Resume();
  void AddCurvePoint(const v1::Evaluation& evaluation, absl::Time now);

  // ---- facts: the job ----

  ChiefOptions options;
  JobPlan plan;
  v1::JobState state = v1::JOB_STATE_PENDING;
  v1::FailureKind failure_kind = v1::FAILURE_KIND_UNSPECIFIED;
  std::string reason;  // Why it has ended, or ends.
  std::string stop;    // Why it is to end early; empty: it is not.
  std::string model_uri;
  std::optional<absl::Time> completed;
  StateWriter::Ticket completion = 0;  // Nobody is told of the end before this is stored.
  Outbox outbox;

  // ---- trainers, and what they do ----

  Sealer sealer;
  Membership workers;
  Stragglers stragglers;
  Work work;
  Evaluations evaluations;
  EarlyStopper early_stop;
  Progress progress;
  BadRecordCount bad_records;
  Accusations accusations;
  StreamCloses closes;
  RoundBarrier barrier;
  Rest rest;
  EndSequence end;

  // ---- shards ----

  ShardTable shards;
  ShardHearing hearing;
  PartitionLoads loads;
  ShardCalls calls;
  PartitionMoves moves;
  // Since members and balance were looked at: workers' heartbeats, which are many, say nothing of
  // either.
  bool heard_of_shards = true;
  std::set<uint32_t> next_map;  // Over these is the next one, if it is another; empty: the quorum.

  // ---- what others are told, and what is stored ----

  ViewBuilder views;
  StateWriter writer;
  ViewGate gate;
  Takeover takeover;

  // ---- checkpoints, and the way back to them ----

  Checkpointer checkpointer;
  CheckpointCatalog catalog;
  std::vector<uint64_t> askers;  // For a checkpoint.
  bool frozen = false;           // The last checkpoint holds all there will be.
  bool closed = false;      // Shards were ordered to freeze, and have not been opened again since.
  bool save_again = false;  // A checkpoint was broken off for what is over.
  Recovery recovery;
  std::map<uint32_t, v1::RecoveryLoss> partial;  // Of the shards that recover partially.
  std::vector<v1::RecoveryLoss> losses;          // Of the returns that are over.
  LostUpdatesMeter lost_updates;
  uint64_t restores = 0;
  uint64_t next_timeline;     // Of the next recovery.
  uint64_t first_timeline;    // Of this run of the job.
  bool begins_again = false;  // It is not this run's first chief.
  std::string from;           // The checkpoint, of another run or job, that the job began with.
  std::string resumed_from;   // The checkpoint with which this chief went on.
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_JOB_CONTEXT_H_
