// The chief's logic: who works, on what, and what state the job is in. No threads, sockets, files
// or clocks: every method is an event at the time `now`, which never goes back; what it asks for is
// collected by TakeActions. A copy of a machine behaves as the original, so an explorer may fork
// it.
//
// Shards join and leave while it runs, and partitions move between them (chief_moves.cc). With
// replicas two shards hold each partition, and one that is lost is replaced by its backups
// (chief_replicas.cc).
//
// How the job goes: PENDING until as many shards as wished have registered; the map is made;
// RESTORING: every shard loads the last checkpoint, or the initial values; RUNNING: tasks (async,
// ssp) or lanes (a synchronous part) are leased to trainers; evaluations are leased between them
// (in sync at a round barrier) and checkpoints taken; a shard that loses its partitions leads back
// to RESTORING; when all is trained, or the job is stopped, the last round is committed, queues are
// flushed, streams closed, the final evaluation made; CHECKPOINTING: the model is saved; COMPLETED.
// FAILED from anywhere.
//
// Whoever comes after this chief goes on from the state that it stores. What others must not hear
// of before it is stored waits for that: views (ViewGate), and the closing of streams.
#ifndef CAPSTAN_CHIEF_MACHINE_CHIEF_MACHINE_H_
#define CAPSTAN_CHIEF_MACHINE_CHIEF_MACHINE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/security/seal.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/duties/balance.h"
#include "chief/duties/checkpointer.h"
#include "chief/duties/early_stop.h"
#include "chief/duties/end_sequence.h"
#include "chief/duties/lost_updates_meter.h"
#include "chief/duties/move_plan.h"
#include "chief/duties/pairing.h"
#include "chief/duties/partition_moves.h"
#include "chief/duties/recovery.h"
#include "chief/duties/replica_plan.h"
#include "chief/duties/round_barrier.h"
#include "chief/duties/shard_lease.h"
#include "chief/duties/stream_closer.h"
#include "chief/duties/warnings.h"
#include "chief/state/checkpoint_catalog.h"
#include "chief/state/chief_actions.h"
#include "chief/state/chief_options.h"
#include "chief/state/close_log.h"
#include "chief/state/membership.h"
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

// Thread-compatible: the shell calls it under one mutex.
class ChiefMachine {
 public:
  // `plan` holds the job with every default filled in, and the tasks of both splits.
  ChiefMachine(ChiefOptions options, JobPlan plan, absl::Time now, JobHistory history = {});

  // ---- RPCs of chief.proto ----

  // FAILED_PRECONDITION: another wire version; an incarnation in whose place another has come.
  // RESOURCE_EXHAUSTED: an index for which there are no partitions. INVALID_ARGUMENT: no address or
  // incarnation.
  [[nodiscard]] absl::StatusOr<v1::RegisterShardReply> RegisterShard(
      const v1::RegisterShardRequest& request, absl::Time now);

  // The same name with a new incarnation replaces the process of that name, once that is silent or
  // drains. `peer`: the address from which it comes; empty: not known. FAILED_PRECONDITION: another
  // wire version, or an incarnation that has been replaced or lost. UNAVAILABLE: the process of
  // that name is there. RESOURCE_EXHAUSTED: the limit of workers is reached.
  [[nodiscard]] absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest& request, absl::Time now, const std::string& peer = "");

  v1::ShardHeartbeatReply ShardHeartbeat(const v1::ShardHeartbeatRequest& request, absl::Time now);
  v1::WorkerHeartbeatReply WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request,
                                           absl::Time now);
  v1::GetStatusReply Status(absl::Time now) const;

  // Ends the job early, in order: what has been trained is evaluated and saved.
  void StopJob(std::string_view reason, absl::Time now);

  // What the job file says and this job does not do, for those who ask; empty: nothing.
  void NoteJobChange(std::string change);

  // Tells those who ask what a person should look at, in one sentence, and the log when it is new;
  // what was said about the same thing before goes. Empty: it is over.
  void NoteWarning(std::string_view about, std::string sentence);

  // Asks for a checkpoint now. AnswerCheckpoint follows, at the latest when the job ends.
  void TakeCheckpoint(uint64_t asker, absl::Time now);

  // What would make the shards even; unless plan_only, it is begun. FAILED_PRECONDITION: the job is
  // not training.
  absl::StatusOr<v1::RebalanceReply> Rebalance(const v1::RebalanceRequest& request, absl::Time now);

  // ---- answers to actions ----

  void OnShardReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);
  void OnStateStored(const absl::Status& stored, absl::Time now);
  // The process has ended, somebody has found: nobody waits for its lease. Matters with replicas.
  void OnShardGone(uint32_t index, uint64_t incarnation, absl::Time now);
  void OnManifestWritten(const absl::Status& written, absl::Time now);
  void OnManifestRead(absl::StatusOr<v1::Manifest> manifest, absl::Time now);

  // Call at least a few times a second, and when NextWake() has come: expiries, repeats,
  // evaluation, the learning curve.
  void Tick(absl::Time now);
  absl::Time NextWake() const;

  // What is to be done, in order, since the last call.
  std::vector<Action> TakeActions();

  // A shard that is to leave has been heard of a moment ago.
  bool SeesShardsOff(absl::Time now) const;

  // Another chief has written the state since: this one must not do anything any more.
  bool superseded() const { return writer_.superseded(); }
  // The store holds all there is to keep.
  bool stored() const { return writer_.settled(); }
  const absl::Status& last_store() const { return writer_.last(); }

  const v1::View& view() const { return gate_.published(); }
  // Of this process of a shard; empty: it is not known, or known to be gone.
  std::string AddressOf(uint32_t index, uint64_t incarnation) const;
  const JobPlan& plan() const { return plan_; }
  v1::JobState state() const { return state_; }
  v1::FailureKind failure_kind() const { return failure_kind_; }
  const std::string& reason() const { return reason_; }

 private:
  // ---- trainers and their leases (chief_leases.cc) ----
  void TakeReport(const Worker& worker, const v1::LeaseReport& said);
  std::optional<v1::LeaseReport> Doubted(const Worker& worker, const v1::LeaseReport& said);
  void OnFailure(const Worker& worker, const ReportResult& result, const v1::LeaseReport& said);
  bool Accuse(const Worker& worker, const WorkName& work);
  bool Avoids(const Worker& worker, const WorkName& work) const;
  bool Adopts(const std::vector<TrainerId>& trainers, const v1::LeaseReport& report) const;
  uint64_t SealOf(const v1::Lease& lease) const;
  void GrantLeases(Worker& worker, absl::Time now);
  void AssignLanes();
  size_t TrainersWithoutWork() const;
  std::vector<v1::Lease> LeasesOf(const Worker& worker);
  // A draining worker gives everything back, also what it has not heard of.
  void ReturnUnmentioned(const v1::WorkerHeartbeatRequest& request, const Worker& worker);
  void FillReply(const v1::WorkerHeartbeatRequest& request, const Worker& worker,
                 v1::WorkerHeartbeatReply& reply);
  void ReleaseTrainers(const std::vector<TrainerId>& trainers);
  bool LeasesTakenBack() const;
  bool MayTrain() const;

  // ---- the life of the job (chief_lifecycle.cc) ----
  void Advance(absl::Time now);  // Does whatever has become possible.
  void SendCalls(absl::Time now);
  void AdvanceStart(absl::Time now);
  void AdvanceTraining(absl::Time now);
  void AdvanceEvaluation(absl::Time now);
  void AdvanceBarrier(absl::Time now);
  bool EvaluatesAtRest() const;
  bool AtRest() const;
  void GiveUpBest(absl::Time now);
  void SeekRest(absl::Time now);
  void Resume();
  bool EvaluationDue() const;
  void BeginEvaluation(bool at_barrier, bool final, absl::Time now);
  void TakeEvaluation(absl::Time now);
  void GiveUpEvaluation(const std::string& why);
  void CheckRefusal();
  void CheckBadRecords();
  void WatchLoss();
  void BeginEnd(std::string_view reason);
  void Fail(v1::FailureKind kind, std::string_view reason);

  // ---- back to a checkpoint (chief_recovery.cc) ----
  void ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time now);
  std::vector<RecoverySource> Sources() const;
  void AdvanceRecovery(absl::Time now);
  void EnterTimeline(absl::Time now);
  std::set<uint32_t> ShardsOfNextMap();
  absl::Status CheckFit(const std::set<uint32_t>& shards) const;
  void RestoreProgress(const v1::Manifest& manifest, absl::Time now);
  void SendLoads();
  void SendLoad(uint32_t shard, absl::Time due);
  void OnLoadAnswer(const ShardCalls::Answer& answer, absl::Time now);
  void EndRecovery(absl::Time now);
  void AdvanceTakeover(absl::Time now);
  bool LoadsAreDue(uint32_t shard) const;
  bool MapIsOver(absl::Time now) const;
  bool AnotherMapMayCome(absl::Time now) const;
  std::string WaitingFor(absl::Time now) const;
  std::string EndWaitsFor() const;
  void LogWaiting(absl::Time now);

  // ---- one shard back to a checkpoint, while the others go on (chief_partial.cc) ----
  bool MayRecoverPartially() const;
  void RecoverPartially(uint32_t shard, absl::Time now);
  v1::PartialRecoveryStart PartialRecoveryStart() const;
  void OnPartiallyRecovered(uint32_t shard, const v1::LoadPartitionsReply& reply, absl::Time now);
  void HearOfLoss(uint32_t shard, const v1::ShardReport& report);
  void GiveUpPartialRecovery(const absl::Status& why, absl::Time now);

  // ---- checkpoints (chief_checkpoints.cc) ----
  bool CheckpointWanted(absl::Time now) const;
  void AdvanceCheckpoint(absl::Time now);
  void BeginCheckpoint(absl::Time now);
  void StartCheckpointClock(absl::Time now);
  v1::Manifest ManifestOfNow(absl::Time now) const;
  std::string ParentOfNext() const;
  void OnSaveAnswer(const ShardCalls::Answer& answer, absl::Time now);
  void OnCheckpointFailed();
  void AnswerAskers(const absl::StatusOr<std::string>& uri);
  void Prune();
  bool CheckpointDue(absl::Time now) const;
  void SeeOpenings();
  std::set<uint32_t> FreezingShards(absl::Time now) const;

  // ---- shards that come and go, partitions that move (chief_moves.cc) ----
  bool IsSilent(const Shard& shard, absl::Time now) const;
  bool MayTake(uint32_t index, absl::Time now) const;  // Partitions, now and later.
  std::set<uint32_t> LeavingShards() const;
  std::set<uint32_t> ShardsToSave(absl::Time now) const;
  void AdvanceMembers(absl::Time now);
  std::set<uint32_t> ShardsThatLeft(absl::Time now) const;
  bool GiveUpThoseThatLeft(absl::Time now);
  void RestoreWithoutThoseThatLeft(absl::Time now);
  void Admit(const Shard& shard);
  void OnJoinAnswer(const ShardCalls::Answer& answer, absl::Time now);
  bool IsFree(uint32_t shard) const;
  bool MayLeave(uint32_t shard, absl::Time now) const;
  MoveQuestion QuestionOf(bool even) const;
  std::vector<std::optional<uint32_t>> Backups() const;  // By partition.
  bool HandsOver(const PlannedMove& move) const;
  void SeeBalance(absl::Time now);
  bool MayMove(absl::Time now) const;
  void PlanMoves(absl::Time now);
  void OrderMoves(absl::Time now);
  [[nodiscard]] absl::Status MovesFailure(absl::Time now) const;
  [[nodiscard]] absl::Status MovesAreInTheWay(absl::Time now) const;
  void CancelMoves(const absl::Status& why, absl::Time now);
  bool MaySwitch() const;
  void OnMovesSwitched(absl::Time now);
  bool StepMoves(bool plans, absl::Time now);
  void AdvanceMoves(absl::Time now);

  // ---- partitions that two shards hold (chief_replicas.cc) ----
  bool replicas() const { return plan_.spec.replicas() > 0; }
  double LeaseOf(uint32_t index, uint64_t incarnation, absl::Time now);
  bool IsLost(const Shard& shard, absl::Time now) const;
  absl::Status CheckBackup(const v1::PartitionPair& pair, absl::Time now) const;
  absl::Status MayBeReplaced(uint32_t shard, absl::Time now) const;
  void Promote(uint32_t shard, std::string_view cause, absl::Time now);
  void ReplaceLost(absl::Time now);
  bool ReplaceThoseThatDidNotComeBack(absl::Time now);
  bool IsOver(const v1::PartitionPair& pair, absl::Time now) const;
  void ListenForShards(absl::Time now);
  bool HearsOfShards(absl::Time now) const;
  void DropPairs(absl::Time now);
  void HearOfBrokenPairs(const Shard& shard);
  void AdvanceReplicas(absl::Time now);
  bool AdvancePromotion(absl::Time now);
  void OnPromoted(absl::Time now);
  size_t Unpaired() const;
  ReplicaQuestion ReplicaQuestionOf() const;
  void PlanReplicas(absl::Time now);
  void WatchReplicas(absl::Time now);
  void FillReplicas(v1::ReplicaStatus& status) const;

  // A view that others know, or will, names moves.
  bool MovesLinger() const { return moves_.under_way() || !gate_.published().moves().empty(); }

  // ---- what the next chief goes on from (chief_state.cc) ----
  void Inherit(const v1::ChiefState& state, absl::Time now);
  v1::ChiefState State(absl::Time now) const;
  v1::TaskProgress ProgressOfNow() const;
  void AdvanceCloses();
  std::deque<v1::StreamClose> UnconfirmedCloses() const;

  // ---- the way out (chief_end.cc) ----
  void AdvanceEnd(absl::Time now);
  bool EndStepDone(absl::Time now);
  void EnterEndStep(EndStep step, absl::Time now);
  void TakeLeasesBack();
  bool Drained(absl::Time now) const;
  void FlushShards();
  const CheckpointFacts* BetterCheckpoint() const;
  bool SaveModel(absl::Time now);
  void Complete(absl::Time now);

  // ---- what people see (chief_status.cc) ----
  uint64_t ExpectedExamples() const;
  double ProgressShare() const;
  double EtaSeconds() const;
  double MeanRate(absl::Time until) const;
  void FillWorkers(v1::GetStatusReply& reply, absl::Time now) const;
  void FillShards(v1::GetStatusReply& reply, absl::Time now) const;
  void WatchData();
  void NoteSpareShard(uint32_t index, absl::Time now);
  void WatchSpareShards(absl::Time now);
  void WatchIdleWorkers();
  std::string AwaitedData() const;
  void FillCheckpoint(v1::CheckpointStatus& status, absl::Time now) const;
  void AddCurvePoint(const v1::Evaluation& evaluation, absl::Time now);

  // Of backups that take over.
  struct Promotion {
    uint64_t view = 0;         // Its number; 0: it is not made yet.
    bool coordinator = false;  // Is another one.
    bool flushes = false;      // What was being flushed is to be flushed again.
    absl::Time begun;
  };

  // ---- small things ----
  void OnAnswer(const ShardCalls::Answer& answer, absl::Time now);
  void OnShardReplaced(uint32_t shard, absl::Time now);
  bool partial() const { return plan_.spec.recovery() == v1::RECOVERY_PARTIAL; }
  void RefreshView(absl::Time now);
  // Whether the view is to name another trainer of the worker, or one fewer.
  bool BeginsOrEnds(const Worker& worker) const;
  void StoreAndPublish(absl::Time now);
  uint64_t timeline() const { return views_.current().timeline(); }
  // Those that hold partitions. Of each is known who it was or is.
  std::vector<uint32_t> Owners() const { return {views_.owners().begin(), views_.owners().end()}; }
  absl::Duration worker_lease() const;
  // The end is told when it is stored: the next chief might not know of it.
  v1::JobState told_state() const {
    return writer_.IsStored(completion_) ? state_ : v1::JOB_STATE_CHECKPOINTING;
  }
  bool ended() const { return state_ == v1::JOB_STATE_COMPLETED || state_ == v1::JOB_STATE_FAILED; }
  void Log(LogEvent::Level level, std::string message,
           std::vector<std::pair<std::string, std::string>> fields = {});

  ChiefOptions options_;
  JobPlan plan_;
  v1::JobState state_ = v1::JOB_STATE_PENDING;
  v1::FailureKind failure_kind_ = v1::FAILURE_KIND_UNSPECIFIED;
  std::string reason_;

  Sealer sealer_;
  Generations generations_;
  ShardTable shards_;
  Membership workers_;
  Work work_;
  Evaluations evaluations_;
  Progress progress_;
  BadRecordCount bad_records_;
  Accusations accusations_;
  Stragglers stragglers_;
  EarlyStopper early_stop_;
  ShardCalls calls_;
  RoundBarrier barrier_;
  StreamCloser closer_;
  EndSequence end_;
  Rest rest_;
  std::string stop_;  // Why the job is to end early; empty: it is not.
  std::string model_uri_;

  ViewBuilder views_;
  StateWriter writer_;
  ViewGate gate_;
  Takeover takeover_;
  Recovery recovery_;
  Checkpointer checkpointer_;
  CheckpointCatalog catalog_;
  PartitionLoads loads_;
  Balance balance_;
  PartitionMoves moves_;
  ShardLease shard_lease_;
  Pairing pairing_;
  std::optional<Promotion> promotion_;  // Decided, and not published yet: all else waits.
  v1::ReplicaStatus replica_counts_;    // Of this chief so far.
  absl::Time unpaired_since_ = absl::InfiniteFuture();
  absl::Time looked_at_ = absl::InfinitePast();    // The shards, last.
  absl::Time awake_since_ = absl::InfinitePast();  // Before it this process may have slept,
  absl::Time deaf_until_ = absl::InfinitePast();   // and before this it heard of no shard.
  // Since members and balance were looked at: workers' heartbeats, which are many, say nothing of
  // either.
  bool heard_of_shards_ = true;
  uint64_t next_timeline_;     // Of the next recovery.
  uint64_t first_timeline_;    // Of this run of the job.
  bool begins_again_ = false;  // It is not this run's first chief.
  std::string from_;
  std::string fresh_once_;
  v1::ChiefState claim_;  // Of it: where this chief answers, and since when it has the job.
  std::string job_change_;
  std::string resumed_from_;  // The checkpoint with which this chief went on.
  Warnings warnings_;
  // Not sent yet: the state that says that their tasks are done is on its way to the store.
  std::deque<std::pair<StateWriter::Ticket, v1::StreamClose>> closes_;
  std::vector<uint64_t> askers_;              // Of a checkpoint.
  std::optional<StateWriter::Ticket> prune_;  // What is superfluous goes when this is stored.
  bool frozen_ = false;                       // The last checkpoint holds all there will be.
  bool closed_ = false;      // Shards were ordered to freeze, and have not been opened again since.
  bool save_again_ = false;  // A checkpoint was broken off for what is over.
  std::vector<v1::RecoveryLoss> losses_;
  v1::RecoveryLoss loss_;                         // Of the rollback under way.
  std::map<uint32_t, v1::RecoveryLoss> partial_;  // Of the shards that recover partially.
  LostUpdatesMeter lost_updates_meter_;
  CloseLog close_log_;  // With recovery: partial.
  uint64_t restores_ = 0;
  absl::Time waiting_logged_ = absl::InfinitePast();
  std::optional<absl::Time> completed_;
  StateWriter::Ticket completion_ = 0;  // Nobody is told of the end before this is stored.
  uint64_t retries_ = 0;                // Leases that failed or were given back.
  uint64_t expirations_ = 0;            // Leases whose worker was lost or replaced.
  bool closes_streams_;
  std::set<uint32_t> next_map_;  // Over these is the next one, if it is another; empty: the quorum.
  std::map<uint32_t, absl::Time> spare_shards_;  // More than partitions: when each asked last.
  std::vector<Action> actions_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_MACHINE_CHIEF_MACHINE_H_
