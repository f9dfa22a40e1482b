#include "ps/shard/coordinator_shell.h"

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "capstan/base/bounded_seconds.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/consistency/generation.h"
#include "capstan/placement/view_epoch.h"
#include "ps/partition/traced_rounds.h"
#include "ps/shard/coordinator_start.h"

namespace capstan::ps {
namespace {

// How long a lane's runner may wait for the open round within one call.
constexpr absl::Duration kLongestOpen = absl::Seconds(60);

}  // namespace

void CoordinatorShell::SetMaxRounds(uint64_t max_rounds) {
  absl::MutexLock lock(&mu_);
  max_rounds_ = max_rounds;
  if (machine_) machine_->SetMaxRounds(max_rounds);
}

// ---- whether it is here ----

const v1::UpdatePolicy& CoordinatorShell::policy() const {
  return catalog_.policy(catalog_.IsSync(Part::kDense) ? Part::kDense : Part::kSparse);
}

CoordinatorMachine CoordinatorShell::NewMachine(
    const std::optional<CoordinatorState>& state) const {
  const v1::UpdatePolicy& policy = this->policy();
  const int backups = static_cast<int>(policy.backup_workers());
  return state ? CoordinatorMachine(backups, *state)
               : CoordinatorMachine(static_cast<int>(policy.lanes()), backups);
}

void CoordinatorShell::Begin(uint64_t timeline, const std::optional<CoordinatorState>& state) {
  Replace(timeline, NewMachine(state), Backup());
}

void CoordinatorShell::BeginAsBackup(uint64_t timeline, Backup backup) {
  std::optional<CoordinatorState>
      state;  // Freed here; a later StandBy() is refused by its `still`.
  {
    absl::MutexLock lock(&mu_);
    state = std::exchange(standby_, std::nullopt);
  }
  Replace(timeline, NewMachine(state), std::move(backup));
}

void CoordinatorShell::End() { Replace(/*timeline=*/0, std::nullopt, Backup()); }

void CoordinatorShell::StandDown() {
  std::optional<CoordinatorState> state;
  {
    absl::MutexLock lock(&mu_);
    // Nothing changes any more, because the coordinator is silent.
    if (machine_) state = machine_->whole_state();
  }
  End();
  absl::MutexLock lock(&mu_);
  standby_ = std::move(state);
}

void CoordinatorShell::Replace(uint64_t timeline, std::optional<CoordinatorMachine> machine,
                               Backup backup) {
  CoordinatorAnswers dismissed;
  ReplicaWait replicated;
  {
    absl::MutexLock lock(&mu_);
    if (machine_) dismissed = machine_->Dismiss();
    replicated = TellBackup();
    backup_ = std::move(backup.stream);
    pair_ = backup.pair;
    told_.clear();
    standby_.reset();
    machine_ = std::move(machine);
    if (machine_) machine_->SetMaxRounds(max_rounds_);
    timeline_ = timeline;
    silent_ = false;
    if (machine_) TraceCoordinates(timeline, policy(), machine_->last_closed().round);
  }
  Answer(std::move(dismissed), std::move(replicated));
}

absl::StatusOr<std::optional<CoordinatorState>> CoordinatorShell::Silence() {
  absl::MutexLock lock(&mu_);
  if (!machine_) return std::optional<CoordinatorState>();
  if (machine_->counting()) {
    return absl::UnavailableError(
        absl::StrCat("lanes are counted in round ", machine_->open_round(), ", which is open"));
  }
  silent_ = true;
  return std::optional<CoordinatorState>(machine_->state());
}

void CoordinatorShell::Resume() {
  absl::MutexLock lock(&mu_);
  silent_ = false;
}

absl::Status CoordinatorShell::CheckHere(uint64_t timeline) const {
  if (machine_ && timeline_ == timeline) {
    if (!silent_) return absl::OkStatus();
    return absl::UnavailableError("the coordinator of rounds is on its way to another shard");
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "shard ", Raw(identity_.index), " is not the coordinator of rounds in timeline ", timeline));
}

// ---- calls ----

std::optional<WaiterId> CoordinatorShell::Open(const v1::OpenRoundRequest& request, OnOpened done) {
  // Shared by the parked callback and the refusal below; only one of them runs.
  auto shared = std::make_shared<OnOpened>(std::move(done));
  const uint64_t timeline = request.header().timeline();
  const WaiterId waiter =
      parked_.Park([this, shared, timeline](const absl::StatusOr<CoordinatorAnswer>& answer) {
        if (!answer.ok()) return (*shared)(answer.status());
        OpenAnswer sealed = std::get<OpenAnswer>(answer->answer);
        sealed.closed.seal = seals_.OfRound(timeline, sealed.closed);
        (*shared)(sealed);
      });
  const absl::Time now = clock_.Now();
  ReplicaWait replicated;
  absl::StatusOr<CoordinatorAnswers> answers = [&]() -> absl::StatusOr<CoordinatorAnswers> {
    absl::MutexLock lock(&mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckHere(timeline));
    CAPSTAN_RETURN_IF_ERROR(
        seals_.CheckLane(request.header(), request.lane(), request.generation()));
    CAPSTAN_ASSIGN_OR_RETURN(
        CoordinatorAnswers opened,
        machine_->Open(
            {waiter, static_cast<LaneIndex>(request.lane()),
             GenerationFromProto(request.generation()),
             now + BoundedSeconds(request.wait_seconds(), absl::ZeroDuration(), kLongestOpen)},
            now));
    TraceOpenRound(machine_->open_round(), machine_->last_closed(), opened);
    replicated = TellBackup();
    return opened;
  }();
  if (!answers.ok()) {
    if (parked_.Take(waiter)) (*shared)(answers.status());
    return std::nullopt;
  }
  Answer(*std::move(answers), std::move(replicated));
  return waiter;
}

absl::StatusOr<v1::ReportLaneReply> CoordinatorShell::Report(const v1::ReportLaneRequest& request,
                                                             ReplicaWait& replicated) {
  absl::StatusOr<CoordinatorMachine::ReportResult> result;
  const uint64_t timeline = request.header().timeline();
  {
    absl::MutexLock lock(&mu_);
    CAPSTAN_RETURN_IF_ERROR(CheckHere(timeline));
    CAPSTAN_RETURN_IF_ERROR(
        seals_.CheckLane(request.header(), request.lane(), request.generation()));
    const uint64_t before = machine_->open_round();
    result = machine_->Report({static_cast<LaneIndex>(request.lane()),
                               GenerationFromProto(request.generation()), request.round(),
                               request.examples(), request.end_of_data()});
    if (result.ok()) {
      TraceReported(request, result->answer);
      TraceOpenRound(before, machine_->last_closed(), result->answers);
      replicated = TellBackup();
    }
  }
  if (!result.ok()) return result.status();
  CAPSTAN_FAILPOINT("round.reported");
  Answer(std::move(result->answers), replicated);
  v1::ReportLaneReply reply;
  reply.set_answer(result->answer);
  return reply;
}

std::optional<WaiterId> CoordinatorShell::Hold(const v1::HoldRoundsRequest& request,
                                               absl::Time deadline, OnHeld done) {
  const WaiterId waiter = parked_.Park(
      [done = std::move(done)](const absl::StatusOr<CoordinatorAnswer>& answer) mutable {
        done(answer.ok() ? std::get<HoldAnswer>(answer->answer)
                         : HoldAnswer{.status = answer.status()});
      });
  CoordinatorAnswers answers;
  ReplicaWait replicated;
  {
    absl::MutexLock lock(&mu_);
    absl::Status order = CheckHere(request.header().timeline());
    const uint64_t before = machine_ ? machine_->open_round() : 0;
    if (order.ok()) order = machine_->TakeOrder(request.header().epoch().term(), request.number());
    if (!order.ok()) {
      answers.push_back({waiter, HoldAnswer{.status = order}});
    } else if (request.hold()) {
      answers = machine_->Hold(waiter, deadline);
    } else {
      answers = machine_->Release();
      const CoordinatorState at = machine_->state();
      answers.push_back({waiter, HoldAnswer{{}, at.last, machine_->ended(), at.lanes}});
    }
    if (machine_) TraceOpenRound(before, machine_->last_closed(), answers);
    replicated = TellBackup();
  }
  Answer(std::move(answers), std::move(replicated));
  return waiter;
}

std::optional<WaiterId> CoordinatorShell::Watch(const v1::WatchCountsRequest& request,
                                                absl::Time deadline, OnNews done) {
  const uint64_t timeline = request.header().timeline();
  const WaiterId waiter =
      parked_.Park([this, timeline, done = std::move(done)](
                       const absl::StatusOr<CoordinatorAnswer>& answer) mutable {
        if (!answer.ok()) return done(NewsAnswer{answer.status(), {}});
        NewsAnswer sealed = std::get<NewsAnswer>(answer->answer);
        if (sealed.closed) sealed.closed->seal = seals_.OfRound(timeline, *sealed.closed);
        done(sealed);
      });
  CoordinatorAnswers answers;
  ReplicaWait replicated;
  {
    absl::MutexLock lock(&mu_);
    const absl::Status here = CheckHere(timeline);
    if (here.ok()) {
      answers = machine_->Ask({waiter,
                               {request.round(), request.counted(), request.ended()},
                               deadline,
                               request.commit()});
    } else {
      answers.push_back({waiter, NewsAnswer{here, {}}});
    }
    replicated = TellBackup();
  }
  Answer(std::move(answers), std::move(replicated));
  return waiter;
}

bool CoordinatorShell::Forget(WaiterId waiter) {
  {
    absl::MutexLock lock(&mu_);
    if (machine_) machine_->Forget(waiter);
  }
  return static_cast<bool>(parked_.Take(waiter));
}

void CoordinatorShell::Tick() {
  const absl::Time now = clock_.Now();
  CoordinatorAnswers answers;
  ReplicaWait replicated;
  {
    absl::MutexLock lock(&mu_);
    if (machine_) {
      answers = machine_->Tick(now);
      TraceOpenRound(machine_->open_round(), machine_->last_closed(), answers);
    }
    replicated = TellBackup();
  }
  Answer(std::move(answers), std::move(replicated));
}

void CoordinatorShell::Answer(CoordinatorAnswers answers, ReplicaWait replicated) {
  if (answers.empty()) return;
  std::move(replicated).Then([this, answers = std::move(answers)](const absl::Status& status) {
    for (const CoordinatorAnswer& answer : answers) {
      if (status.ok()) {
        parked_.Release(answer.waiter, answer);
      } else {
        parked_.Release(answer.waiter, status);
      }
    }
  });
}

// ---- backups ----

void CoordinatorShell::DropBackupUnless(ViewEpoch pair) {
  absl::MutexLock lock(&mu_);
  if (pair_ != pair) backup_ = nullptr;
}

void CoordinatorShell::SetBackup(std::shared_ptr<ReplicaStream> stream, ViewEpoch pair) {
  absl::MutexLock lock(&mu_);
  if (backup_ == stream && pair_ == pair) return;
  backup_ = std::move(stream);
  pair_ = pair;
  told_.clear();
}

ReplicaWait CoordinatorShell::TellBackup() {
  ReplicaWait wait;
  if (backup_ == nullptr || !machine_) return wait;
  const CoordinatorState state = machine_->whole_state();
  v1::Operation operation;
  ToProto(pair_, *operation.mutable_pair());
  ToProto(state, *operation.mutable_coordinator()->mutable_state());
  ToProto(*state.open, *operation.mutable_coordinator()->mutable_open());
  std::string told = operation.coordinator().SerializeAsString();
  if (told != told_) {
    told_ = std::move(told);
    told_number_ = backup_->Append(std::move(operation));
    CAPSTAN_FAILPOINT("replica.coordinator_told");
  }
  wait.Add(backup_, PartitionIndex{0}, told_number_);
  return wait;
}

bool CoordinatorShell::StandBy(CoordinatorState state, absl::FunctionRef<bool()> still) {
  absl::MutexLock lock(&mu_);
  if (!still()) return false;
  standby_ = std::move(state);
  return true;
}

}  // namespace capstan::ps
