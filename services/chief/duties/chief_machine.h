// The chief's logic: which trainer works on what, and the state of the job. It uses no threads,
// sockets, files or clocks: every method is an event at the time `now`, which never decreases. The
// actions that the machine wants done are returned by TakeActions. A copy of a machine behaves like
// the original, so a state-space explorer may fork it.
//
// The machine passes an event to the duties that it concerns, which share one JobContext. Each duty
// sees the job and no other duty; it asks for what another duty has to do through Orders. Duties
// decides in which order they act after an event.
//
// The states of the job:
//   PENDING     until the wished number of shards have registered; then the partition map is made.
//   RESTORING   every shard loads the last checkpoint, or the initial values.
//   RUNNING     tasks (async, ssp) or lanes (with a synchronous part) are leased to trainers.
//               Meanwhile evaluations are leased (in sync at a round barrier) and checkpoints
//               taken. If a shard loses its partitions, the job returns to RESTORING, unless
//               backups take over. When all is trained, or the job is stopped, the last round is
//               committed, queues are flushed, streams closed, and the final evaluation is made.
//   CHECKPOINTING  the model is saved.
//   COMPLETED   the end; FAILED can be reached from every other state.
//
// The next chief continues from the state that this one stores. Views (see ViewGate) and the
// closing of streams wait until the state that contains them is stored.
#ifndef CAPSTAN_CHIEF_DUTIES_CHIEF_MACHINE_H_
#define CAPSTAN_CHIEF_DUTIES_CHIEF_MACHINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"
#include "chief/duties/duties.h"
#include "chief/job/job_context.h"
#include "chief/state/chief_actions.h"
#include "chief/state/chief_options.h"

namespace capstan::chief {

// Thread-compatible: the shell calls it under one mutex.
class ChiefMachine final {
 public:
  // `plan` holds the job with every default filled in, and the tasks for training and evaluation.
  ChiefMachine(const ChiefOptions& options, JobPlan plan, absl::Time now,
               const JobHistory& history = {});
  ChiefMachine(const ChiefMachine& other);
  ChiefMachine& operator=(const ChiefMachine&) = delete;

  // ---- RPCs of chief.proto ----

  // `watched`: the process of ShardIncarnation() watches the view by a stream, which ends with the
  // process. Errors: FAILED_PRECONDITION: another wire version, or an incarnation that was replaced
  // or given up. RESOURCE_EXHAUSTED: the index is not below partition_count. INVALID_ARGUMENT: no
  // address or incarnation, or a zone that is too long. UNAVAILABLE: register again later, because
  // the present process of the shard is alive; or because backups of the shard's partitions, which
  // may yet be heard of, have to take over before another process gets its index.
  // PERMISSION_DENIED: see MaySpeak.
  [[nodiscard]] absl::StatusOr<v1::RegisterShardReply> RegisterShard(
      const v1::RegisterShardRequest& request, absl::Time now, bool watched = false);
  // Returns the incarnation of the shard's present process; 0: there is no such shard.
  uint64_t ShardIncarnation(uint32_t index) const;
  // Returns false if a caller that shows `secret` (empty: none) cannot be the process of this
  // incarnation of the shard. Its calls are then refused.
  bool MaySpeak(uint32_t index, uint64_t incarnation, const std::string& secret) const {
    return job_.placement.shards.CheckSpeaker(index, incarnation, secret).ok();
  }
  // Returns true if a process whose certificate names no shard number may act for the shard, by
  // ChiefOptions.unnumbered_shards.
  bool MayBeUnnumbered(uint32_t index) const { return duties_.shards.MayBeUnnumbered(index); }
  // The shard's registered process has shown a certificate with the shard's number. This is stored
  // for later chiefs.
  void NoteNumbered(uint32_t index) { duties_.shards.NoteNumbered(index); }

  // A new incarnation replaces the process of the same name once that is silent or draining. `peer`
  // is the address from which the call comes; empty: not known. Errors: FAILED_PRECONDITION:
  // another wire version, or an incarnation that was replaced or lost. INVALID_ARGUMENT: no
  // incarnation, or an unusable name. UNAVAILABLE: the process of that name is alive.
  // RESOURCE_EXHAUSTED: the limit of workers, or of trainer ids, is reached.
  [[nodiscard]] absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest& request, absl::Time now, const std::string& peer = "");

  v1::ShardHeartbeatReply ShardHeartbeat(const v1::ShardHeartbeatRequest& request, absl::Time now);
  v1::WorkerHeartbeatReply WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request,
                                           absl::Time now);
  v1::GetStatusReply Status(absl::Time now) const;

  // Ends the job early but properly: the model as trained so far is evaluated and saved.
  void StopJob(std::string_view reason, absl::Time now);

  // Sets the text in the status about how the job file differs from the running job; empty: it does
  // not.
  void NoteJobChange(std::string change) { duties_.watch.NoteJobChange(std::move(change)); }

  // Sets how many files and connections this process has open, and its limit of them.
  void NoteOpenFiles(int64_t open, int64_t limit) { duties_.watch.WatchOpenFiles(open, limit); }

  // Sets the warning about `about`; see Outbox::Warn.
  void NoteWarning(std::string_view about, std::string sentence) {
    job_.outbox.Warn(about, std::move(sentence));
  }

  // Asks for a checkpoint now. The answer is an AnswerCheckpoint, at the latest when the job ends.
  void TakeCheckpoint(uint64_t asker, absl::Time now);

  // Returns the moves that would balance the shards, and begins them unless plan_only is set.
  // FAILED_PRECONDITION: the job is not training.
  absl::StatusOr<v1::RebalanceReply> Rebalance(const v1::RebalanceRequest& request, absl::Time now);

  // ---- answers to actions ----

  void OnShardReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);
  void OnStateStored(const absl::Status& stored, absl::Time now);
  // The process of a shard was found to have ended, so its lease need not be waited for. Has an
  // effect only in jobs with replicas.
  void OnShardGone(uint32_t index, uint64_t incarnation, absl::Time now);
  // `uri` is that of the action. Answers that are not awaited any more are ignored.
  void OnManifestWritten(const std::string& uri, const absl::Status& written, absl::Time now);
  void OnManifestRead(const std::string& uri, absl::StatusOr<v1::Manifest> manifest,
                      absl::Time now);

  // Does what becomes due by the passage of time, such as expiring leases, repeating calls and
  // adding points to the learning curve. Must be called several times a second, and at NextWake().
  void Tick(absl::Time now) { duties_.Tick(now); }
  absl::Time NextWake() const { return duties_.calls.NextWake(); }

  // Returns the actions since the last call, in the order in which they have to be done.
  std::vector<Action> TakeActions() { return duties_.state.TakeActions(); }

  // Returns true if a leaving shard was heard of within the last two seconds.
  bool SeesShardsOff(absl::Time now) const { return duties_.shards.SeesShardsOff(now); }

  // Another chief has written the state: this one must not act any more.
  bool superseded() const { return job_.writer.superseded(); }
  // Returns true if everything that has to be stored is stored.
  bool stored() const { return job_.writer.settled(); }
  const absl::Status& last_store() const { return job_.writer.last(); }

  const v1::View& view() const { return job_.placement.gate.published(); }
  // How many trainer ids were given out so far; at most kMostNumbers in a term.
  uint64_t trainers_given() const { return job_.training.workers.trainers_given(); }
  // The present timeline, even if it is not published yet, and the progress of training.
  uint64_t timeline() const { return job_.placement.timeline(); }
  v1::TaskProgress progress() const { return job_.training.ProgressOfNow(); }
  // Returns the address of this process of a shard; empty if the process is not known, or known to
  // have ended.
  std::string AddressOf(uint32_t index, uint64_t incarnation) const {
    return duties_.shards.AddressOf(index, incarnation);
  }
  const JobPlan& plan() const { return job_.plan; }
  v1::JobState state() const { return job_.state; }
  v1::FailureKind failure_kind() const { return job_.failure_kind; }
  const std::string& reason() const { return job_.reason; }
  // Returns all that the duties share. The state-space explorer (tests) compares states by it.
  const JobContext& job() const { return job_; }

 private:
  JobContext job_;
  Duties duties_{job_};
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CHIEF_MACHINE_H_
