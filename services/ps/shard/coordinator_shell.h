// The coordinator of rounds on the shard that owns partition 0: CoordinatorMachine, the calls that
// wait for it, and the backup that is told where it stands.
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
#include "ps/shard/catalog.h"
#include "ps/shard/parked_calls.h"
#include "ps/shard/replica_stream.h"
#include "ps/shard/replica_wait.h"
#include "ps/shard/seal_check.h"
#include "ps/shard/shard_identity.h"

namespace capstan::ps {

// *Thread-safe*. Deadlines are of `clock`.
class CoordinatorShell {
 public:
  using OnOpened = absl::AnyInvocable<void(const absl::StatusOr<OpenAnswer>&)>;
  using OnHeld = absl::AnyInvocable<void(const HoldAnswer&)>;
  using OnNews = absl::AnyInvocable<void(const NewsAnswer&)>;

  // All must outlive this.
  CoordinatorShell(const Catalog& catalog, const ShardIdentity& identity, const SealCheck& seals,
                   const Clock& clock)
      : catalog_(catalog), identity_(identity), seals_(seals), clock_(clock) {}

  // So many rounds are opened in all, here and wherever it may come from; 0: any number.
  void SetMaxRounds(uint64_t max_rounds);

  // ---- whether it is here ----

  // The coordinator is here from now on, in the place of one that was; without `state` the first
  // round opens. Whoever waits for the one before is told that it is over.
  void Begin(uint64_t timeline, const std::optional<CoordinatorState>& state);
  // Who is told what happens here, and of which pair; null: nobody.
  struct Backup {
    std::shared_ptr<ReplicaStream> stream;
    ViewEpoch pair;
  };
  // The same with the state that the owner of partition 0, which is lost or has handed over, has
  // told its backup here.
  void BeginAsBackup(uint64_t timeline, Backup backup);
  // It is not here any more.
  void End();
  // Nor any more, but its state is kept as that of another shard's, which goes on from it.
  // REQUIRES: it is silent.
  void StandDown();
  // It answers nobody any more, until Resume(). Gives its state. Nothing if it is not here;
  // UNAVAILABLE: it has counted a lane in the open round.
  absl::StatusOr<std::optional<CoordinatorState>> Silence();
  void Resume();

  // ---- calls; FAILED_PRECONDITION: it is not here, or nothing is synchronous; UNAVAILABLE: it is
  // on its way to another shard, or a generation that the chief has not granted. The waiter, if the
  // call is parked, may be forgotten by Forget ----

  std::optional<WaiterId> Open(const v1::OpenRoundRequest& request, OnOpened done);
  // `replicated` becomes what its backup has to know before the caller is answered.
  absl::StatusOr<v1::ReportLaneReply> Report(const v1::ReportLaneRequest& request,
                                             ReplicaWait& replicated);
  std::optional<WaiterId> Hold(const v1::HoldRoundsRequest& request, absl::Time deadline,
                               OnHeld done);
  std::optional<WaiterId> Watch(const v1::WatchCountsRequest& request, absl::Time deadline,
                                OnNews done);
  // The caller has gone away. True: its callback will not run and has been destroyed.
  bool Forget(WaiterId waiter);
  // Answers those whose wait is over.
  void Tick();

  // ---- its backup on another shard ----

  // Nobody is told any more that is not the backup of this pair.
  void DropBackupUnless(ViewEpoch pair);
  void SetBackup(std::shared_ptr<ReplicaStream> stream, ViewEpoch pair);

  // ---- as the backup of another shard's ----

  // Notes where that one stands, if `still` is so: it is asked under this one's lock. False: it is
  // not.
  bool StandBy(CoordinatorState state, absl::FunctionRef<bool()> still);

 private:
  // Returns the policy of the part that is synchronous; where both are, they have the same lanes.
  const v1::UpdatePolicy& policy() const;
  CoordinatorMachine NewMachine(const std::optional<CoordinatorState>& state) const;
  void Replace(uint64_t timeline, std::optional<CoordinatorMachine> machine, Backup backup);
  absl::Status CheckHere(uint64_t timeline) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The backup is told where it stands, if it has moved on.
  ReplicaWait TellBackup() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends the answers once the backup knows what they are derived from.
  void Answer(CoordinatorAnswers answers, ReplicaWait replicated);

  const Catalog& catalog_;
  const ShardIdentity& identity_;
  const SealCheck& seals_;
  const Clock& clock_;
  absl::Mutex mu_;
  uint64_t max_rounds_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<CoordinatorMachine> machine_ ABSL_GUARDED_BY(mu_);
  uint64_t timeline_ ABSL_GUARDED_BY(mu_) = 0;
  bool silent_ ABSL_GUARDED_BY(mu_) = false;  // It is about to leave.
  // Who backs it up, and what that one has been told last.
  std::shared_ptr<ReplicaStream> backup_ ABSL_GUARDED_BY(mu_);
  ViewEpoch pair_ ABSL_GUARDED_BY(mu_);
  std::string told_ ABSL_GUARDED_BY(mu_);
  uint64_t told_number_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<CoordinatorState> standby_ ABSL_GUARDED_BY(mu_);  // Where another one stands.
  ParkedCalls<absl::StatusOr<CoordinatorAnswer>> parked_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_COORDINATOR_SHELL_H_
