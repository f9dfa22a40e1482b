#include "capstan/base/shutdown.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"

namespace capstan {
namespace {

// What the handler touches; a handler can be given no argument.
std::atomic<int> signal_fd{-1};
std::atomic<int> signals_seen{0};
static_assert(std::atomic<int>::is_always_lock_free);

struct sigaction former_actions[NSIG];

void Announce() {
  const uint64_t one = 1;
  // The counter cannot overflow, so this neither blocks nor fails.
  [[maybe_unused]] const ssize_t written = write(signal_fd.load(), &one, sizeof(one));
}

void Handle(int signal) {
  if (signals_seen.fetch_add(1) > 0) _exit(128 + signal);
  Announce();
}

}  // namespace

Shutdown::Shutdown() : Shutdown({SIGTERM, SIGINT}) {}

Shutdown::Shutdown(std::vector<int> signals) : signals_(std::move(signals)) {
  CAPSTAN_CHECK(signal_fd.load() == -1);
  signals_seen = 0;
  signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CAPSTAN_CHECK(signal_fd.load() >= 0);
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  for (const int signal : signals_) sigaction(signal, &action, &former_actions[signal]);
}

Shutdown::~Shutdown() {
  for (const int signal : signals_) sigaction(signal, &former_actions[signal], nullptr);
  close(signal_fd.exchange(-1));
}

void Shutdown::Request() { Announce(); }

bool Shutdown::requested() const { return WaitFor(absl::ZeroDuration()); }

bool Shutdown::WaitFor(absl::Duration timeout) const {
  const SteadyClock clock;  // The time of day may jump.
  const absl::Time deadline = clock.Now() + timeout;
  while (true) {
    const absl::Duration left =
        std::clamp(deadline - clock.Now(), absl::ZeroDuration(), absl::Hours(1));
    pollfd waited{.fd = fd(), .events = POLLIN, .revents = 0};
    // Rounded up, so that the last wait does not end a moment before the deadline.
    const auto milliseconds =
        static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))));
    if (poll(&waited, 1, milliseconds) > 0) return true;
    if (clock.Now() >= deadline) return false;
  }
}

int Shutdown::fd() const { return signal_fd.load(); }

}  // namespace capstan
