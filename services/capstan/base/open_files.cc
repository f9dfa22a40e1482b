#include "capstan/base/open_files.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <limits>

namespace capstan {
namespace {

int64_t Bounded(rlim_t limit) {
  return static_cast<int64_t>(std::min<rlim_t>(limit, std::numeric_limits<int32_t>::max()));
}

}  // namespace

int64_t RaiseOpenFilesLimit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < files.rlim_max) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  return OpenFilesLimit();
}

int64_t OpenFilesLimit() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  return Bounded(files.rlim_cur);
}

int64_t OpenFiles() {
  const int next = eventfd(0, EFD_CLOEXEC);
  if (next < 0) return OpenFilesLimit();
  close(next);
  return next;
}

int64_t RoomForConnections(int64_t limit) {
  return limit - std::clamp<int64_t>(limit / 4, /*lo=*/8, /*hi=*/256);
}

int64_t OpenFilesWith(int64_t connections) {
  constexpr int64_t kOwn = 32;  // Its ports, its log, gRPC's wake-up descriptors, and so on.
  return connections + kOwn;
}

int64_t EnoughOpenFiles(int64_t open) {
  constexpr int64_t kKept = 256;  // The most that RoomForConnections reserves.
  return open + open / 9 + 1 + kKept;
}

bool IsNearlyFull(int64_t open, int64_t room) { return open > room - room / 10; }

}  // namespace capstan
