#include "cli/status/follower.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "capstan/base/background.h"
#include "cli/status/status_view.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kFramePeriod = absl::Milliseconds(250);
constexpr absl::Duration kStatusDeadline = absl::Seconds(2);
constexpr absl::Duration kChiefLinger = absl::Seconds(15);
// Longer than the chief itself waits for a checkpoint.
constexpr absl::Duration kSavePatience = absl::Minutes(15);
constexpr absl::Duration kStopGrace = absl::Seconds(12);

}  // namespace

void Follower::Look(ChiefClient& chief) {
  absl::StatusOr<v1::GetStatusReply> status = chief.GetStatus(kStatusDeadline);
  if (!status.ok()) return;
  status_ = *std::move(status);
  if (IsOver(status_)) return progress_.ShowLast(status_);
  worked_ = true;
  progress_.Show(status_, absl::Now());
}

absl::Status Follower::Follow() {
  ChiefClient chief(crew_.chief_address(), tls_);
  while (true) {
    const absl::StatusOr<std::vector<std::string>> news = crew_.LookAfter();
    if (!news.ok()) return news.status();
    for (const std::string& line : *news) terminal_.Say(line);
    if (crew_.chief_ending().has_value()) return absl::OkStatus();
    Look(chief);
    if (IsOver(status_)) return absl::OkStatus();
    if (shutdown_.WaitFor(kFramePeriod)) return absl::CancelledError("stopped");
  }
}

absl::StatusOr<std::string> Follower::Save() {
  if (status_.state() != v1::JOB_STATE_RUNNING && status_.state() != v1::JOB_STATE_CHECKPOINTING) {
    return absl::FailedPreconditionError("it was not training");
  }
  absl::StatusOr<std::string> saved = absl::UnavailableError("the chief has ended");
  absl::Notification done;
  Threads threads;
  // Its destructor waits for the call to end, which it does at the latest when the chief is
  // stopped.
  const std::unique_ptr<Background::Work> asking = threads.Begin([&] {
    ChiefClient chief(crew_.chief_address(), tls_);
    saved = chief.TakeCheckpoint(kSavePatience);
    done.Notify();
  });
  ChiefClient chief(crew_.chief_address(), tls_);
  while (!done.WaitForNotificationWithTimeout(kFramePeriod)) {
    const absl::StatusOr<std::vector<std::string>> news = crew_.LookAfter();
    if (!news.ok()) crew_.Stop(kStopGrace);
    Look(chief);
  }
  Look(chief);
  return saved;
}

std::optional<Ending> Follower::AwaitChief() {
  const absl::Time deadline = absl::Now() + kChiefLinger;
  while (!crew_.chief_ending().has_value() && absl::Now() < deadline) {
    if (shutdown_.WaitFor(kFramePeriod)) break;
  }
  return crew_.chief_ending();
}

}  // namespace capstan::cli
