#include "chief/shell/failure_detector.h"

#include <optional>
#include <utility>

#include "capstan/base/host_port.h"
#include "capstan/rpc/port_answers.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kLookEvery = absl::Milliseconds(50);
// A process may close its connections some time before its port.
constexpr absl::Duration kSuspectFor = absl::Seconds(3);
constexpr absl::Duration kPortPatience = absl::Milliseconds(200);

}  // namespace

FailureDetector::FailureDetector(Parts parts)
    : parts_(std::move(parts)), thread_([this] { Run(); }) {}

FailureDetector::~FailureDetector() {
  {
    absl::MutexLock lock(&mu_);
    ending_ = true;
  }
  thread_.join();
}

bool FailureDetector::AsksPort(const std::string& address) {
  const std::optional<HostPort> at = SplitHostPort(address);
  return at && PortRefuses(at->host, at->port, kPortPatience);
}

void FailureDetector::Run() {
  for (;;) {
    {
      absl::MutexLock lock(&mu_);
      if (mu_.AwaitWithTimeout(absl::Condition(&ending_), kLookEvery)) return;
    }
    Look(parts_.clock.Now());
  }
}

void FailureDetector::Look(absl::Time now) {
  for (const ViewFeed::ShardProcess& process : parts_.views.TakeEnded()) {
    suspects_.push_back({process, now + kSuspectFor});
  }
  std::erase_if(suspects_, [&](const Suspect& suspect) { return IsSettled(suspect, now); });
}

bool FailureDetector::IsSettled(const Suspect& suspect, absl::Time now) {
  if (now >= suspect.until || parts_.views.IsWatching(suspect.process.incarnation)) return true;
  const std::string address = parts_.address_of(suspect.process);
  if (address.empty()) return true;
  if (!parts_.refuses(address)) return false;
  parts_.on_gone(suspect.process);
  return true;
}

}  // namespace capstan::chief
