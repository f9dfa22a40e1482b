// The coordinator of rounds on the shard that owns partition 0: drives CoordinatorMachine, holds
// the calls that are parked in it, and sends its state to its backup.
#ifndef CAPSTAN_PS_SHARD_COORDINATOR_SHELL_H_
#define CAPSTAN_PS_SHARD_COORDINATOR_SHELL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "capstan/base/clock.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/v1/ps.pb.h"
#include "ps/machines/coordinator_machine.h"
#include "ps/partition/catalog.h"
#include "ps/partition/replica_stream.h"
#include "ps/partition/replica_wait.h"
#include "ps/shard/parked_calls.h"
#include "ps/shard/seal_check.h"
#include "ps/shard/shard_identity.h"

namespace capstan::ps {

// *Thread-safe*. Deadlines are times of `clock`.
class CoordinatorShell {
 public:
  using OnOpened = absl::AnyInvocable<void(const absl::StatusOr<OpenAnswer>&)>;
  using OnHeld = absl::AnyInvocable<void(const HoldAnswer&)>;
  using OnNews = absl::AnyInvocable<void(const NewsAnswer&)>;

  // All arguments must outlive this object.
  CoordinatorShell(const Catalog& catalog, const ShardIdentity& identity, const SealCheck& seals,
                   const Clock& clock)
      : catalog_(catalog), identity_(identity), seals_(seals), clock_(clock) {}

  // Opens no round after round `max_rounds`; 0: no limit.
  void SetMaxRounds(uint64_t max_rounds);

  // ---- whether the coordinator is on this shard ----

  // The coordinator is here from now on, and continues from `state`; without it, the first round
  // opens. Replaces a coordinator that was here before, and answers the callers that wait for that
  // one.
  void Begin(uint64_t timeline, const std::optional<CoordinatorState>& state);
  // The stream to the coordinator's backup, and the pair; null if there is no backup.
  struct Backup {
    std::shared_ptr<ReplicaStream> stream;
    ViewEpoch pair;
  };
  // As Begin(), with the state that this process has received as the backup of the owner of
  // partition 0, which is lost or has handed over.
  void BeginAsBackup(uint64_t timeline, Backup backup);
  // The coordinator is not here any more. Answers the callers that wait.
  void End();
  // As End(), but keeps the state: this process is now the backup of the shard whose coordinator
  // continues from that state. REQUIRES: Silence() has been called.
  void StandDown();
  // The coordinator is about to move: refuses calls with UNAVAILABLE until Resume(). Returns its
  // state; nullopt if the coordinator is not here. Returns UNAVAILABLE and changes nothing if a
  // lane is counted in the open round.
  absl::StatusOr<std::optional<CoordinatorState>> Silence();
  void Resume();

  // ---- calls ----
  //
  // FAILED_PRECONDITION: the coordinator of the request's timeline is not here. UNAVAILABLE: it is
  // moving to another shard, or the chief has not granted the generation. A returned waiter may be
  // passed to Forget().

  std::optional<WaiterId> Open(const v1::OpenRoundRequest& request, OnOpened done);
  // Sets `replicated` to what the coordinator's backup has to know before the caller may be
  // answered.
  absl::StatusOr<v1::ReportLaneReply> Report(const v1::ReportLaneRequest& request,
                                             ReplicaWait& replicated);
  std::optional<WaiterId> Hold(const v1::HoldRoundsRequest& request, absl::Time deadline,
                               OnHeld done);
  std::optional<WaiterId> Watch(const v1::WatchCountsRequest& request, absl::Time deadline,
                                OnNews done);
  // The caller has cancelled its call: forgets it. Returns true if its callback has been destroyed
  // and will not run.
  bool Forget(WaiterId waiter);
  // Answers the calls whose deadline has passed.
  void Tick();

  // ---- the coordinator's backup on another shard ----

  // Stops sending to the present backup, unless it is the backup of `pair`.
  void DropBackupUnless(ViewEpoch pair);
  void SetBackup(std::shared_ptr<ReplicaStream> stream, ViewEpoch pair);

  // ---- as the backup of another shard's coordinator ----

  // Remembers `state`, the state of the other shard's coordinator, if still() returns true; that is
  // called under this object's lock. Returns the result of still().
  bool StandBy(CoordinatorState state, absl::FunctionRef<bool()> still);

 private:
  // Returns the policy of the synchronous part; if both parts are synchronous, they have the same
  // lanes.
  const v1::UpdatePolicy& policy() const;
  CoordinatorMachine NewMachine(const std::optional<CoordinatorState>& state) const;
  void Replace(uint64_t timeline, std::optional<CoordinatorMachine> machine, Backup backup);
  absl::Status CheckHere(uint64_t timeline) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends the coordinator's state to the backup if it has changed since it was last sent. Returns
  // what the backup has to carry out before anyone may be answered from this state.
  ReplicaWait TellBackup() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends the answers once the backup has the state from which they are derived.
  void Answer(CoordinatorAnswers answers, ReplicaWait replicated);

  const Catalog& catalog_;
  const ShardIdentity& identity_;
  const SealCheck& seals_;
  const Clock& clock_;
  absl::Mutex mu_;
  uint64_t max_rounds_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<CoordinatorMachine> machine_ ABSL_GUARDED_BY(mu_);
  uint64_t timeline_ ABSL_GUARDED_BY(mu_) = 0;
  bool silent_ ABSL_GUARDED_BY(mu_) = false;  // See Silence().
  // The coordinator's backup, and the state that was last sent to it.
  std::shared_ptr<ReplicaStream> backup_ ABSL_GUARDED_BY(mu_);
  ViewEpoch pair_ ABSL_GUARDED_BY(mu_);
  std::string told_ ABSL_GUARDED_BY(mu_);
  uint64_t told_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<CoordinatorState> standby_ ABSL_GUARDED_BY(mu_);  // See StandBy().
  ParkedCalls<absl::StatusOr<CoordinatorAnswer>> parked_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_COORDINATOR_SHELL_H_
