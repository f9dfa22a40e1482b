// Preloaded into a process, makes its time of day jump: by as many seconds as the file that
// CAPSTAN_CLOCK_OFFSET names holds at its beginning, as a double. The monotonic clock is left
// alone. A futex that is waited for until a time of day is woken by what that clock shows then, as
// the kernel would: an hour late if it has been set back.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kLook = kSecond / 50;  // How often a wait looks at the clock.

using Syscall = long (*)(long, ...);

long Real(long number, long a, long b, long c, long d = 0, long e = 0, long f = 0) {
  static const auto real = reinterpret_cast<Syscall>(dlsym(RTLD_NEXT, "syscall"));
  return real(number, a, b, c, d, e, f);
}

const volatile double* OpenOffset() {
  static const double kNone = 0;
  const char* const path = getenv("CAPSTAN_CLOCK_OFFSET");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return &kNone;
  void* const mapped = mmap(nullptr, sizeof(double), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return mapped == MAP_FAILED ? &kNone : static_cast<const double*>(mapped);
}

// Nanoseconds since the epoch, as the process sees it.
int64_t Now() {
  static const volatile double* const offset = OpenOffset();
  timespec now;
  Real(SYS_clock_gettime, CLOCK_REALTIME, reinterpret_cast<long>(&now), 0);
  const auto jump = static_cast<int64_t>(std::floor(*offset));
  return (now.tv_sec + jump) * kSecond + now.tv_nsec;
}

// FUTEX_WAIT_BITSET until a time of day.
long WaitUntil(const timespec& deadline, long word, long operation, long value, long mask) {
  const int64_t end = deadline.tv_sec * kSecond + deadline.tv_nsec;
  for (;;) {
    timespec turn;
    Real(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&turn), 0);
    const int64_t left = end - Now();
    const int64_t until =
        turn.tv_sec * kSecond + turn.tv_nsec + std::clamp<int64_t>(left, 0, kLook);
    turn = {until / kSecond, until % kSecond};
    const long result = Real(SYS_futex, word, operation & ~FUTEX_CLOCK_REALTIME, value,
                             reinterpret_cast<long>(&turn), 0, mask);
    if (result == 0 || errno != ETIMEDOUT || left <= kLook) return result;
  }
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t id, timespec* now) noexcept {
  if (id != CLOCK_REALTIME) {
    return static_cast<int>(Real(SYS_clock_gettime, id, reinterpret_cast<long>(now), 0));
  }
  const int64_t nanos = Now();
  *now = {nanos / kSecond, nanos % kSecond};
  return 0;
}

int gettimeofday(timeval* now, void*) noexcept {
  const int64_t nanos = Now();
  *now = {nanos / kSecond, nanos % kSecond / 1000};
  return 0;
}

time_t time(time_t* to) noexcept {
  const time_t seconds = Now() / kSecond;
  if (to != nullptr) *to = seconds;
  return seconds;
}

long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  long a[6];
  for (long& argument : a) argument = va_arg(list, long);
  va_end(list);
  const bool until_a_time = number == SYS_futex && (a[1] & FUTEX_CLOCK_REALTIME) != 0 &&
                            (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET && a[3] != 0;
  if (!until_a_time) return Real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  return WaitUntil(*reinterpret_cast<const timespec*>(a[3]), a[0], a[1], a[2], a[5]);
}

}  // extern "C"
