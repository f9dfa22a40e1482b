#include "capstan/base/steady_waits.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>

#include "absl/base/attributes.h"

namespace {

constexpr int64_t kSecond = 1'000'000'000;

using Syscall = long (*)(long, ...);

// The C library's syscall(). Not a local static: waiting until another thread has initialised that
// would call syscall() itself.
std::atomic<Syscall> next_syscall{nullptr};

Syscall Next() {
  Syscall next = next_syscall.load(std::memory_order_acquire);
  if (next != nullptr) return next;
  next = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  next_syscall.store(next, std::memory_order_release);
  return next;
}

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }

int64_t Now(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return Nanoseconds(now);
}

// Returns the time on the monotonic clock that corresponds to `time_of_day`, according to the
// present readings of both clocks.
timespec Steady(const timespec& time_of_day) {
  const int64_t left = Nanoseconds(time_of_day) - Now(CLOCK_REALTIME);
  const int64_t until = std::max<int64_t>(0, Now(CLOCK_MONOTONIC) + left);
  return {until / kSecond, until % kSecond};
}

bool WaitsForATimeOfDay(long number, long operation, long deadline) {
  return number == SYS_futex && (operation & FUTEX_CLOCK_REALTIME) != 0 &&
         (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && deadline != 0;
}

}  // namespace

// Takes six arguments even if the caller passes fewer, like the C library's own.
extern "C" ABSL_ATTRIBUTE_NO_SANITIZE_ADDRESS long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  timespec until;
  if (WaitsForATimeOfDay(number, a[1], a[3])) {
    until = Steady(*reinterpret_cast<const timespec*>(a[3]));
    a[1] &= ~long{FUTEX_CLOCK_REALTIME};
    a[3] = reinterpret_cast<long>(&until);
  }
  return Next()(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

namespace capstan {

void WaitBySteadyClock() { (void)Next(); }

}  // namespace capstan
