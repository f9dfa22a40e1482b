#include "capstan/objectstore/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace capstan {

absl::StatusOr<FileDescriptor> LockFolder(const FileDescriptor& root, LockKind kind,
                                          absl::Duration wait) {
  FileDescriptor lock(openat(root.get(), ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!lock.valid()) return SystemError(".lock", errno);
  const int operation = (kind == LockKind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  absl::Duration pause = absl::Microseconds(50);
  for (absl::Duration waited;;
       waited += pause, pause = std::min(2 * pause, absl::Milliseconds(5))) {
    if (flock(lock.get(), operation) == 0) return lock;
    if (errno != EWOULDBLOCK && errno != EINTR) return SystemError(".lock", errno);
    if (waited >= wait) break;
    absl::SleepFor(pause);
  }
  return absl::UnavailableError(
      absl::StrCat(".lock: held by another process for ", absl::FormatDuration(wait)));
}

}  // namespace capstan
