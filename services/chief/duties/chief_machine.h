// The chief's logic: who works on what, and what state the job is in. It knows no threads, sockets,
// files or clocks: every method is an event at the time `now`, which never goes back. What the
// machine wants done is collected by TakeActions. A copy of a machine behaves as the original, so
// an explorer may fork it.
//
// The machine passes an event to the duties that it concerns, which share one JobContext. Each duty
// sees the job and no other duty; what it wants of another it orders (Orders). In which order they
// act after an event is decided by Duties.
//
// The states of the job. PENDING until as many shards as wished have registered; the map is made;
// RESTORING: every shard loads the last checkpoint, or the initial values; RUNNING: tasks (async,
// ssp) or lanes (a synchronous part) are leased to trainers; evaluations are leased between them
// (in sync at a round barrier) and checkpoints taken; a shard that loses its partitions leads back
// to RESTORING, unless its backups take over; when all is trained, or the job is stopped, the last
// round is committed, queues are flushed, streams closed, the final evaluation made; CHECKPOINTING:
// the model is saved; COMPLETED. FAILED from anywhere.
//
// The next chief goes on from the state that this one stores. Some things must be stored before
// others hear of them, and wait for that: views (ViewGate), and the closing of streams.
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

  // FAILED_PRECONDITION: another wire version, or an incarnation that was replaced or given up.
  // RESOURCE_EXHAUSTED: the index is not below partition_count. INVALID_ARGUMENT: no address or
  // incarnation, or a zone that is too long. UNAVAILABLE: ask again, for the present process of the
  // shard is there; or the backups of the shard's partitions may yet be heard of, and are to take
  // over before another process gets its index. `watched`: the process of ShardIncarnation() has a
  // stream that watches the view, which ends with the process. PERMISSION_DENIED: see MaySpeak.
  [[nodiscard]] absl::StatusOr<v1::RegisterShardReply> RegisterShard(
      const v1::RegisterShardRequest& request, absl::Time now, bool watched = false);
  // Returns the incarnation of the shard's present process; 0: there is no such shard.
  uint64_t ShardIncarnation(uint32_t index) const;
  // Returns false if who shows `secret` (empty: none) is not the process of this incarnation of the
  // shard, as far as the chief knows. Nobody else is heard in its name.
  bool MaySpeak(uint32_t index, uint64_t incarnation, const std::string& secret) const {
    return job_.placement.shards.CheckSpeaker(index, incarnation, secret).ok();
  }
  // Returns whether the process of a shard is believed whose certificate carries no number, by
  // ChiefOptions.unnumbered_shards.
  bool MayBeUnnumbered(uint32_t index) const { return duties_.shards.MayBeUnnumbered(index); }
  // The process of a shard, which has registered, has shown a certificate with the shard's number.
  // The next chiefs know that, too.
  void NoteNumbered(uint32_t index) { duties_.shards.NoteNumbered(index); }

  // A new incarnation replaces the process of the same name once that is silent or drains. `peer`
  // is the address that the call comes from; empty: not known. FAILED_PRECONDITION: another wire
  // version, or an incarnation that was replaced or lost. INVALID_ARGUMENT: no incarnation, or no
  // usable name. UNAVAILABLE: the process of that name is there. RESOURCE_EXHAUSTED: the limit of
  // workers, or of numbers for trainers, is reached.
  [[nodiscard]] absl::StatusOr<v1::RegisterWorkerReply> RegisterWorker(
      const v1::RegisterWorkerRequest& request, absl::Time now, const std::string& peer = "");

  v1::ShardHeartbeatReply ShardHeartbeat(const v1::ShardHeartbeatRequest& request, absl::Time now);
  v1::WorkerHeartbeatReply WorkerHeartbeat(const v1::WorkerHeartbeatRequest& request,
                                           absl::Time now);
  v1::GetStatusReply Status(absl::Time now) const;

  // Ends the job early and in order: the model as trained so far is evaluated and saved.
  void StopJob(std::string_view reason, absl::Time now);

  // Sets what the status says of differences between the job file and the running job; empty: none.
  void NoteJobChange(std::string change) { duties_.watch.NoteJobChange(std::move(change)); }

  // Sets how many files and connections this process has open, and how many it may have.
  void NoteOpenFiles(int64_t open, int64_t limit) { duties_.watch.WatchOpenFiles(open, limit); }

  // Sets the warning `about` something; see Outbox::Warn.
  void NoteWarning(std::string_view about, std::string sentence) {
    job_.outbox.Warn(about, std::move(sentence));
  }

  // Asks for a checkpoint now. AnswerCheckpoint follows, at the latest when the job ends.
  void TakeCheckpoint(uint64_t asker, absl::Time now);

  // Returns the moves that would make the shards even, and begins them unless plan_only.
  // FAILED_PRECONDITION: the job is not training.
  absl::StatusOr<v1::RebalanceReply> Rebalance(const v1::RebalanceRequest& request, absl::Time now);

  // ---- answers to actions ----

  void OnShardReply(uint64_t call, absl::StatusOr<ShardReply> reply, absl::Time now);
  void OnStateStored(const absl::Status& stored, absl::Time now);
  // The process of a shard was found to have ended, so that nobody has to wait for its lease. Has
  // an effect only with replicas.
  void OnShardGone(uint32_t index, uint64_t incarnation, absl::Time now);
  // `uri` is the one of the action. Answers that are not awaited any more change nothing.
  void OnManifestWritten(const std::string& uri, const absl::Status& written, absl::Time now);
  void OnManifestRead(const std::string& uri, absl::StatusOr<v1::Manifest> manifest,
                      absl::Time now);

  // Does what is due by the time alone, such as lost leases, repeated calls and points of the
  // learning curve. Call it at least a few times a second, and when NextWake() has come.
  void Tick(absl::Time now) { duties_.Tick(now); }
  absl::Time NextWake() const { return duties_.calls.NextWake(); }

  // Returns what is to be done, in order, since the last call.
  std::vector<Action> TakeActions() { return duties_.state.TakeActions(); }

  // Returns true if a shard that is to leave was heard of within the last two seconds.
  bool SeesShardsOff(absl::Time now) const { return duties_.shards.SeesShardsOff(now); }

  // Another chief has written the state: this one must not do anything any more.
  bool superseded() const { return job_.writer.superseded(); }
  // The store holds all that is to be kept.
  bool stored() const { return job_.writer.settled(); }
  const absl::Status& last_store() const { return job_.writer.last(); }

  const v1::View& view() const { return job_.placement.gate.published(); }
  // How many numbers trainers were given so far; at most kMostNumbers in a term.
  uint64_t trainers_given() const { return job_.training.workers.trainers_given(); }
  // The present timeline, even before others may hear of it, and the progress of training.
  uint64_t timeline() const { return job_.placement.timeline(); }
  v1::TaskProgress progress() const { return job_.training.ProgressOfNow(); }
  // Returns the address of this process of a shard; empty if it is not known, or known to have
  // ended.
  std::string AddressOf(uint32_t index, uint64_t incarnation) const {
    return duties_.shards.AddressOf(index, incarnation);
  }
  const JobPlan& plan() const { return job_.plan; }
  v1::JobState state() const { return job_.state; }
  v1::FailureKind failure_kind() const { return job_.failure_kind; }
  const std::string& reason() const { return job_.reason; }
  // Returns all that the duties know together. The explorer of states (tests) tells by it which
  // states are equal.
  const JobContext& job() const { return job_; }

 private:
  JobContext job_;
  Duties duties_{job_};
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_DUTIES_CHIEF_MACHINE_H_
