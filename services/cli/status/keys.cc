#include "cli/status/keys.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

namespace capstan::cli {
namespace {

// How the terminal was, for who is called by a handler of signals, which can be given no argument.
int raw_terminal = -1;
termios cooked;

void Restore() { tcsetattr(raw_terminal, TCSANOW, &cooked); }

}  // namespace

Keys::Keys(int fd) : fd_(fd) {
  // A process in the background would be stopped if it set the terminal.
  if (isatty(fd_) != 1 || tcgetpgrp(fd_) != getpgrp() || tcgetattr(fd_, &before_) != 0) return;
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  raw_terminal = fd_;
  cooked = before_;
  CallBeforeExitBySignal(Restore);
  reads_ = changed_ = tcsetattr(fd_, TCSANOW, &raw) == 0;
}

Keys::~Keys() {
  CallBeforeExitBySignal(nullptr);
  if (changed_) tcsetattr(fd_, TCSANOW, &before_);
}

bool Keys::LeaveWithin(absl::Duration timeout, const Shutdown& shutdown) {
  if (!reads_) return shutdown.WaitFor(timeout);
  pollfd waits[] = {{.fd = fd_, .events = POLLIN, .revents = 0},
                    {.fd = shutdown.fd(), .events = POLLIN, .revents = 0}};
  poll(waits, std::size(waits), static_cast<int>(absl::ToInt64Milliseconds(timeout)));
  char typed[64];
  const ssize_t got = (waits[0].revents & POLLIN) != 0 ? read(fd_, typed, sizeof typed) : 0;
  if (got <= 0 && waits[0].revents != 0) reads_ = false;  // The terminal has gone.
  return shutdown.requested() || (got > 0 && std::find(typed, typed + got, 'q') != typed + got);
}

}  // namespace capstan::cli
