#include "capstan/objectstore/file_lock.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace capstan {
namespace {

constexpr char kName[] = ".lock";

FileDescriptor Open(const FileDescriptor& folder, int flags) {
  return FileDescriptor(openat(folder.get(), kName, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0666));
}

// Returns true if `lock` is the folder's lock file, and was not removed since it was opened.
bool IsLockOf(const FileDescriptor& folder, const FileDescriptor& lock) {
  struct stat opened, present;
  return fstat(lock.get(), &opened) == 0 &&
         fstatat(folder.get(), kName, &present, AT_SYMLINK_NOFOLLOW) == 0 &&
         opened.st_ino == present.st_ino && opened.st_dev == present.st_dev;
}

bool HoldsNothingElse(const FileDescriptor& folder) {
  // Opens the folder again: a duplicate of the descriptor would share its position in the listing.
  const int fresh = openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fresh < 0) return false;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(fdopendir(fresh), closedir);
  if (stream == nullptr) return false;
  while (const dirent* entry = readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != ".." && name != kName) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<FileDescriptor> LockFolder(const FileDescriptor& root, LockKind kind,
                                          absl::Duration wait) {
  const int operation = (kind == LockKind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  absl::Duration pause = absl::Microseconds(50);
  for (absl::Duration waited;;
       waited += pause, pause = std::min(2 * pause, absl::Milliseconds(5))) {
    FileDescriptor lock = Open(root, O_CREAT);
    if (!lock.valid()) return SystemError(kName, errno);
    if (flock(lock.get(), operation) == 0) {
      if (IsLockOf(root, lock)) return lock;
    } else if (errno != EWOULDBLOCK && errno != EINTR) {
      return SystemError(kName, errno);
    }
    if (waited >= wait) break;
    absl::SleepFor(pause);
  }
  return absl::UnavailableError(
      absl::StrCat(kName, ": held by another process for ", absl::FormatDuration(wait)));
}

void RemoveLastLock(const FileDescriptor& folder) {
  if (!HoldsNothingElse(folder)) return;
  const FileDescriptor lock = Open(folder, 0);
  if (!lock.valid() || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  if (IsLockOf(folder, lock)) (void)unlinkat(folder.get(), kName, 0);
}

}  // namespace capstan
