// The chief's logic: who works, on what, and what state the job is in. No threads, sockets, files
// or clocks: every method is an event at the time `now`, which never goes back; what it asks for is
// collected by TakeActions. A copy of a machine behaves as the original, so an explorer may fork
// it.
//
// The machine takes an event to the duties that it concerns, over one JobContext. Each duty sees
// the job and no other duty; what one wants of another it orders. In which order they do what an
// event has made possible, Duties says.
//
// How the job goes: PENDING until as many shards as wished have registered; the map is made;
// RESTORING: every shard loads the last checkpoint, or the initial values; RUNNING: tasks (async,
// ssp) or lanes (a synchronous part) are leased to trainers; evaluations are leased between them
// (in sync at a round barrier) and checkpoints taken; a shard that loses its partitions leads back
// to RESTORING, unless its backups take over; when all is trained, or the job is stopped, the last
// round is committed, queues are flushed, streams closed, the final evaluation made; CHECKPOINTING:
// the model is saved; COMPLETED. FAILED from anywhere.
//
// Whoever comes after this chief goes on from the state that it stores. What others must not hear
// of before it is stored waits for that: views (ViewGate), and the closing of streams.
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
  // `plan` holds the job with every default filled in, and the tasks of both splits.
  ChiefMachine(const ChiefOptions& options, JobPlan plan, absl::Time now,
               const JobHistory& history = {});
  ChiefMachine(const ChiefMachine& other);
  ChiefMachine& operator=(const ChiefMachine&) = delete;

  // ---- RPCs of chief.proto ----

  // FAILED_PRECONDITION: another wire version; an incarnation in whose place another has come.
  // RESOURCE_EXHAUSTED: an index for which there are no partitions. INVALID_ARGUMENT: no address or
  // incarnation. UNAVAILABLE: the backups of what the index owns may yet be heard of, and take over
  // before another process comes in the place of the one that had it.
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
  void NoteJobChange(std::string change) { duties_.watch.NoteJobChange(std::move(change)); }

  // Tells those who ask what a person should look at, in one sentence, and the log when it is new;
  // what was said about the same thing before goes. Empty: it is over.
  void NoteWarning(std::string_view about, std::string sentence) {
    job_.outbox.Warn(about, std::move(sentence));
  }

  // Asks for a checkpoint now. AnswerCheckpoint follows, at the latest when the job ends.
  void TakeCheckpoint(uint64_t asker, absl::Time now);

  // What would make the shards even; unless plan_only, it is begun. FAILED_PRECONDITION: the
  // job is not training.
  absl::StatusOr<v1::RebalanceReply> Rebalance(const v1::RebalanceRequest& request, absl::Time now);

  // ---- answers to actions ----

  void OnShardReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);
  void OnStateStored(const absl::Status& stored, absl::Time now);
  // The process has ended, somebody has found: nobody waits for its lease. Matters with replicas.
  void OnShardGone(uint32_t index, uint64_t incarnation, absl::Time now);
  // `uri`: what the action named. Answers that nobody awaits any more change nothing.
  void OnManifestWritten(const std::string& uri, const absl::Status& written, absl::Time now);
  void OnManifestRead(const std::string& uri, absl::StatusOr<v1::Manifest> manifest,
                      absl::Time now);

  // Call at least a few times a second, and when NextWake() has come: expiries, repeats,
  // evaluation, the learning curve.
  void Tick(absl::Time now) { duties_.Tick(now); }
  absl::Time NextWake() const { return duties_.calls.NextWake(); }

  // What is to be done, in order, since the last call.
  std::vector<Action> TakeActions() { return duties_.state.TakeActions(); }

  // A shard that is to leave has been heard of a moment ago.
  bool SeesShardsOff(absl::Time now) const { return duties_.shards.SeesShardsOff(now); }

  // Another chief has written the state since: this one must not do anything any more.
  bool superseded() const { return job_.writer.superseded(); }
  // The store holds all there is to keep.
  bool stored() const { return job_.writer.settled(); }
  const absl::Status& last_store() const { return job_.writer.last(); }

  const v1::View& view() const { return job_.placement.gate.published(); }
  // Numbers that were given to trainers so far. There are only so many.
  uint64_t trainers_given() const { return job_.training.workers.trainers_given(); }
  // The present timeline, also before anybody may hear of it, and what of the training is settled.
  uint64_t timeline() const { return job_.placement.timeline(); }
  v1::TaskProgress progress() const { return job_.training.ProgressOfNow(); }
  // Returns the address of this process of a shard; empty: it is not known, or known to be gone.
  std::string AddressOf(uint32_t index, uint64_t incarnation) const {
    return duties_.shards.AddressOf(index, incarnation);
  }
  const JobPlan& plan() const { return job_.plan; }
  v1::JobState state() const { return job_.state; }
  v1::FailureKind failure_kind() const { return job_.failure_kind; }
  const std::string& reason() const { return job_.reason; }

 private:
  JobContext job_;
  Duties duties_{job_};
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CHIEF_MACHINE_H_
