#include "capstan/base/shutdown.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"

namespace capstan {
namespace {

// Signals that are closer together than this count as one: a terminal and `timeout` signal a
// process, and then its whole group.
constexpr int64_t kOneSignalMilliseconds = 500;
constexpr int64_t kNever = -1;

// The state of the handler, as a handler gets no argument.
std::atomic<int> signal_fd{-1};
std::atomic<int64_t> first_signal{kNever};  // Milliseconds of the monotonic clock.
using Action = void (*)();
std::atomic<Action> before_exit{nullptr};
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<int64_t>::is_always_lock_free);

struct sigaction former_actions[NSIG];

void Announce() {
  const uint64_t one = 1;
  // The counter cannot overflow, so this neither blocks nor fails.
  [[maybe_unused]] const ssize_t written = write(signal_fd.load(), &one, sizeof(one));
}

// Safe to call in a signal handler, which Abseil's clock is not.
int64_t MonotonicMilliseconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void Handle(int signal) {
  const int64_t now = MonotonicMilliseconds();
  int64_t first = kNever;
  if (first_signal.compare_exchange_strong(first, now)) return Announce();
  if (signal == SIGHUP || now - first < kOneSignalMilliseconds) return;
  if (const Action action = before_exit.load(); action != nullptr) action();
  _exit(128 + signal);
}

}  // namespace

Shutdown::Shutdown() : Shutdown({SIGTERM, SIGINT, SIGHUP}) {}

Shutdown::Shutdown(std::vector<int> signals) : signals_(std::move(signals)) {
  CAPSTAN_CHECK(signal_fd.load() == -1);
  first_signal = kNever;
  signal_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  CAPSTAN_CHECK(signal_fd.load() >= 0);
  struct sigaction action = {};
  action.sa_handler = Handle;
  action.sa_flags = SA_RESTART;
  for (const int signal : signals_) {
    sigaction(signal, &action, &former_actions[signal]);
    // `nohup` makes a process continue after the end of its terminal.
    const bool ignored = former_actions[signal].sa_handler == SIG_IGN;
    if (signal == SIGHUP && ignored) sigaction(signal, &former_actions[signal], nullptr);
  }
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

void CallBeforeExitBySignal(Action action) { before_exit = action; }

}  // namespace capstan
