#include "worker/session/lease_runner.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "worker/machines/runners.h"

namespace capstan::worker {
namespace {

// Returns the lane that the lease is on; nullopt if it is on a task.
std::optional<LaneIndex> LaneOf(const v1::Lease& lease) {
  if (lease.kind() != v1::LEASE_KIND_LANE) return std::nullopt;
  return static_cast<LaneIndex>(lease.lane());
}

bool IsBadData(const absl::Status& status) {
  return absl::IsInvalidArgument(status) || absl::IsDataLoss(status) || absl::IsNotFound(status);
}

}  // namespace

LeaseRunner::LeaseRunner(const v1::JobSpec& job, const v1::Lease& lease,
                         const SharedByLeases& shared, std::unique_ptr<LeaseShell> shell)
    : shared_(shared),
      shell_(std::move(shell)),
      lifecycle_(lease, job.train().max_steps(), NewRunner(job, lease, ShardsOf(shell_->view())),
                 shell_->tasks()),
      map_(shell_->view()),
      lane_pulls_(shared.turns, LaneOf(lease),
                  [this](const SendPull& action) { shell_->Do(action); }) {
  shared_.read_ahead.Join(this, [this](uint64_t batch) { shell_->Do(ReadBatch{batch}); });
  shell_->Begin(*this);
  Deliver(Start());
}

LeaseRunner::~LeaseRunner() {
  *alive_ = false;
  shell_.reset();  // Before others may begin: each call holds the memory of its step.
  shared_.read_ahead.Leave(this);
  lane_pulls_.Leave();
}

void LeaseRunner::Deliver(Event event) {
  if (const auto* opened = std::get_if<OpenDone>(&event)) OnOpened(*opened);
  lifecycle_.Deliver(std::move(event), [this](const Event& next) { Handle(next); });
}

Actions LeaseRunner::Ask(const Event& event) {
  auto draw = [this] { return shell_->Random(); };
  const RunnerContext context{.now = shell_->Now(), .clock = shared_.clock, .random = draw};
  return lifecycle_.machine().On(event, context);
}

void LeaseRunner::Handle(const Event& event) {
  if (const auto* read = std::get_if<BatchRead>(&event)) {
    shared_.read_ahead.OnRead(this, read->batch, read->bytes);
  }
  if (const auto* end = std::get_if<EndOfData>(&event)) {
    shared_.read_ahead.OnEnd(this, end->batches);
  }
  const Actions actions = Ask(event);
  shared_.read_ahead.Reach(this, lifecycle_.machine().needed_batch());
  for (const Action& action : actions) {
    if (lifecycle_.machine_over()) break;
    std::visit([this](const auto& each) { Do(each); }, action);
  }
  shell_->OnHandled(event, lifecycle_.machine());
}

// ---- rounds ----

void LeaseRunner::Do(const SendOpen& action) {
  lane_pulls_.EndTurn();
  const absl::Time asked = shell_->Now();
  if (!action.counted) return shell_->Open(action, asked, std::nullopt);
  shared_.waiting_opens.Ask([this, alive = alive_, action, asked](WaitingTurns::Turn turn) {
    if (*alive) shell_->Open(action, asked, std::move(turn));
  });
}

// A lane whose batch has no parameters has pulled nothing, and so has had no turn: without this,
// lanes above it would wait for that until the coordinator says what the next round is.
void LeaseRunner::Do(const SendReport& action) {
  lane_pulls_.Pass(action.round);
  shell_->Do(action);
}

void LeaseRunner::OnOpened(const OpenDone& event) {
  lifecycle_.OnOpened(event);
  if (event.status.ok() && event.answer == v1::OpenRoundReply::ANSWER_WAIT) {
    lane_pulls_.Pass(std::max<uint64_t>(event.round, 1) - 1);
  }
}

// ---- view and end ----

void LeaseRunner::OnView(const std::vector<ShardIndex>& restarted) {
  ViewChanged event = map_.Take(shell_->view(), restarted);
  if (!event.moved) return Deliver(std::move(event));
  event.replanned = shell_->Replan();
  Deliver(std::move(event));
  lane_pulls_.Keep(
      [this](uint64_t batch, ShardIndex shard) { return shell_->Needs(batch, shard); });
}

void LeaseRunner::Do(const Finished& action) {
  LeaveTurns();
  const bool over = lifecycle_.OnFinished(action);
  shell_->OnFinished(lifecycle_.lost());
  if (!over) shell_->ReadToEnd(*lifecycle_.machine().progress().total_batches);
}

void LeaseRunner::OnReadToEnd(const absl::Status& status) {
  if (status.ok()) {
    lifecycle_.End();
  } else {
    lifecycle_.Fail(status, /*bad_data=*/false);
  }
}

void LeaseRunner::OnReadFailed(const absl::Status& why) {
  if (!lifecycle_.machine_over()) Fail(why, IsBadData(why));  // Otherwise it is not needed.
}

void LeaseRunner::OnComputeFailed(const absl::Status& why) { Fail(why, /*bad_data=*/false); }

void LeaseRunner::Fail(const absl::Status& why, bool bad_data) {
  LeaveTurns();
  // Nobody will push the steps under way: the trainer's other tasks, and other trainers under ssp,
  // are not to wait for that.
  (void)Ask(Revoked());
  lifecycle_.Fail(why, bad_data);
}

void LeaseRunner::LeaveTurns() {
  lane_pulls_.EndTurn();
  lane_pulls_.Leave();
  shared_.read_ahead.Leave(this);
}

void LeaseRunner::Extend(const v1::Lease& lease) {
  lifecycle_.OnExtended(lease);
  shell_->Extend(lease);
}

// ---- what the trainer asks ----

absl::Time LeaseRunner::NextWake() const {
  return lifecycle_.machine_over() ? absl::InfiniteFuture() : lifecycle_.machine().NextWake();
}

v1::LeaseReport LeaseRunner::Report() {
  v1::LeaseReport report = lifecycle_.Report();
  shell_->AddResults(report);
  return report;
}

}  // namespace capstan::worker
