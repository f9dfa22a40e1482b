// The chief's logic: who works, on what, and what state the job is in. No threads, sockets, files
// or clocks: every method is an event at the time `now`, which never goes back; what it asks for is
// collected by TakeActions. A copy of a machine behaves as the original, so an explorer may fork
// it.
//
// How the job goes: PENDING until as many shards as wished have registered; the first map is made;
// RUNNING: tasks (async, ssp) or lanes (a synchronous part) are leased to members; evaluations are
// leased between them (in sync at a round boundary); when all is trained, or the job is stopped,
// the last round is committed, queues are flushed, streams closed, the final evaluation made;
// CHECKPOINTING: the shards save, the manifest is written; COMPLETED. FAILED from anywhere.
#ifndef CAPSTAN_CHIEF_CHIEF_MACHINE_H_
#define CAPSTAN_CHIEF_CHIEF_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/chief_actions.h"
#include "chief/chief_options.h"
#include "chief/early_stop.h"
#include "chief/end_sequence.h"
#include "chief/evaluation.h"
#include "chief/membership.h"
#include "chief/progress.h"
#include "chief/round_boundary.h"
#include "chief/shard_calls.h"
#include "chief/shard_table.h"
#include "chief/stragglers.h"
#include "chief/stream_closer.h"
#include "chief/view_builder.h"
#include "chief/work.h"

namespace capstan::chief {

// Thread-compatible: the shell calls it under one mutex.
class ChiefMachine {
 public:
  // `plan` holds the job with every default filled in, and the tasks of both splits.
  ChiefMachine(ChiefOptions options, JobPlan plan, absl::Time now);

  // ---- RPCs of chief.proto ----

  // FAILED_PRECONDITION: another wire version; an index beyond the first map; a shard that comes
  // back without the parameters it had (the job fails too). INVALID_ARGUMENT: no address or
  // incarnation.
  [[nodiscard]] absl::StatusOr<v1::RegisterShardReply> RegisterShard(
      const v1::RegisterShardRequest& request, absl::Time now);

  // The same name with a new incarnation replaces the process of that name. FAILED_PRECONDITION:
  // another wire version, or an incarnation that has been replaced or lost. RESOURCE_EXHAUSTED: the
  // limit of workers is reached.
  [[nodiscard]] absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest& request, absl::Time now);

  v1::ShardHeartbeatReply ShardHeartbeat(const v1::ShardHeartbeatRequest& request, absl::Time now);
  v1::WorkerHeartbeatReply WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request,
                                           absl::Time now);
  v1::GetStatusReply Status(absl::Time now) const;

  // Ends the job early, in order: what has been trained is evaluated and saved.
  void StopJob(std::string_view reason, absl::Time now);

  // ---- answers to actions ----

  void OnShardReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);
  void OnManifestWritten(const absl::Status& written, absl::Time now);

  // Call at least a few times a second: expiries, repeats, evaluation, the learning curve.
  void Tick(absl::Time now);

  // What is to be done, in order, since the last call.
  std::vector<Action> TakeActions();

  const v1::View& view() const { return views_.current(); }
  const JobPlan& plan() const { return plan_; }
  v1::JobState state() const { return state_; }
  v1::FailureKind failure_kind() const { return failure_kind_; }
  const std::string& reason() const { return reason_; }

 private:
  // ---- members and their leases (chief_leases.cc) ----
  void TakeReport(const Worker& worker, const v1::LeaseReport& report);
  void GrantLeases(Worker& worker);
  void DealLanes();
  size_t MembersWithoutWork() const;
  std::vector<v1::Lease> LeasesOf(const Worker& worker);
  // A draining worker gives everything back, also what it has not heard of.
  void ReturnUnmentioned(const v1::WorkerHeartbeatRequest& request, const Worker& worker);
  void FillReply(const v1::WorkerHeartbeatRequest& request, const Worker& worker,
                 v1::WorkerHeartbeatReply& reply);
  void ReleaseMembers(const std::vector<MemberId>& members);
  bool MayTrain() const;

  // ---- the course of the job (chief_course.cc) ----
  void Advance(absl::Time now);  // Does whatever has become possible.
  void AdvanceStart(absl::Time now);
  void AdvanceEvaluation(absl::Time now);
  void BeginEvaluation(bool at_boundary, bool final, absl::Time now);
  void TakeEvaluation(absl::Time now);
  void CheckLimits();
  void CheckSilentShards(absl::Time now);
  void BeginEnd(std::string_view reason);
  void Fail(v1::FailureKind kind, std::string_view reason);

  // ---- the way out (chief_end.cc) ----
  void AdvanceEnd(absl::Time now);
  bool EndStepDone(absl::Time now);
  void EnterEndStep(EndStep step, absl::Time now);
  void SendToAll(Purpose purpose, const ShardRequest& request, absl::Duration deadline);
  void Save(absl::Time now);
  v1::Manifest ManifestOfEnd() const;
  void Complete(absl::Time now);

  // ---- what people see (chief_status.cc) ----
  uint64_t ExpectedExamples() const;
  double ProgressShare() const;
  double EtaSeconds() const;
  double MeanRate(absl::Time until) const;
  void FillWorkers(v1::GetStatusReply& reply, absl::Time now) const;
  void FillShards(v1::GetStatusReply& reply, absl::Time now) const;
  std::string CurveUri() const;
  void AddCurvePoint(const v1::Evaluation& evaluation, absl::Time now);

  // ---- small things ----
  void RefreshView(absl::Time now);
  std::vector<uint32_t> ShardIndexes() const;
  absl::Duration worker_lease() const;
  bool ended() const { return state_ == v1::JOB_STATE_COMPLETED || state_ == v1::JOB_STATE_FAILED; }
  void Log(LogEvent::Level level, std::string message,
           std::vector<std::pair<std::string, std::string>> fields = {});

  ChiefOptions options_;
  JobPlan plan_;
  v1::JobState state_ = v1::JOB_STATE_PENDING;
  v1::FailureKind failure_kind_ = v1::FAILURE_KIND_UNSPECIFIED;
  std::string reason_;

  Generations generations_;
  ShardTable shards_;
  Membership workers_;
  Work work_;
  Evaluations evaluations_;
  Progress progress_;
  Stragglers stragglers_;
  EarlyStopper early_stop_;
  ShardCalls calls_;
  RoundBoundary boundary_;
  StreamCloser closer_;
  EndSequence end_;
  ViewBuilder views_;
  std::optional<absl::Time> completed_;
  uint64_t retries_ = 0;      // Leases that failed or were given back.
  uint64_t expirations_ = 0;  // Leases whose worker was lost or replaced.
  bool closes_streams_;
  bool warned_of_few_tasks_ = false;
  std::vector<Action> actions_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_CHIEF_MACHINE_H_
