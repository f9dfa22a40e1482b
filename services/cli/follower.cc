#include "cli/follower.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "cli/chief_client.h"
#include "cli/status_view.h"

namespace capstan::cli {
namespace {

constexpr absl::Duration kFramePeriod = absl::Milliseconds(250);
constexpr absl::Duration kStatusDeadline = absl::Seconds(2);
constexpr absl::Duration kChiefLinger = absl::Seconds(15);

}  // namespace

absl::Status Follower::Follow() {
  ChiefClient chief(crew_.chief_address());
  while (true) {
    const absl::StatusOr<std::vector<std::string>> news = crew_.LookAfter();
    if (!news.ok()) return news.status();
    for (const std::string& line : *news) terminal_.Say(line);
    if (crew_.chief_ending().has_value()) return absl::OkStatus();
    absl::StatusOr<v1::GetStatusReply> status = chief.GetStatus(kStatusDeadline);
    if (status.ok()) {
      status_ = *std::move(status);
      if (IsOver(status_)) {
        progress_.ShowLast(status_);
        return absl::OkStatus();
      }
      worked_ = true;
      progress_.Show(status_, absl::Now());
    }
    if (shutdown_.WaitFor(kFramePeriod)) return absl::CancelledError("stopped");
  }
}

std::optional<Ending> Follower::AwaitChief() {
  const absl::Time deadline = absl::Now() + kChiefLinger;
  while (!crew_.chief_ending().has_value() && absl::Now() < deadline) {
    if (shutdown_.WaitFor(kFramePeriod)) break;
  }
  return crew_.chief_ending();
}

}  // namespace capstan::cli
