#include "capstan/objectstore/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan {

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) close(fd_);
  fd_ = other.Release();
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

int FileDescriptor::Release() { return std::exchange(fd_, -1); }

absl::Status SystemError(std::string_view path, int error) {
  if (error == ELOOP || error == ENOTDIR) {
    return absl::FailedPreconditionError(
        absl::StrCat(absl::string_view(path.data(), path.size()),
                     error == ELOOP ? ": is a symbolic link, which is not followed"
                                    : ": is no folder, or something on the way to it is none"));
  }
  return absl::ErrnoToStatus(error, absl::string_view(path.data(), path.size()));
}

absl::StatusOr<FileDescriptor> OpenFolder(const FileDescriptor& parent, const std::string& name,
                                          bool make) {
  if (make) {
    if (mkdirat(parent.get(), name.c_str(), 0777) == 0) {
      if (fsync(parent.get()) != 0) return SystemError(name, errno);
    } else if (errno != EEXIST) {
      return SystemError(name, errno);
    }
  }
  FileDescriptor folder(
      openat(parent.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.valid()) return SystemError(name, errno);
  return folder;
}

absl::Status WriteAll(const FileDescriptor& file, std::string_view bytes, std::string_view key) {
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return SystemError(key, errno);
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::StatusOr<FileDescriptor> OpenFile(const FileDescriptor& folder, const std::string& name,
                                        std::string_view key) {
  // Non-blocking, so that a FIFO in the place of an object does not make this process hang.
  FileDescriptor file(
      openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return SystemError(key, errno);
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return SystemError(key, errno);
  if (S_ISREG(facts.st_mode)) return file;
  return absl::FailedPreconditionError(
      absl::StrCat(absl::string_view(key.data(), key.size()), ": not a file"));
}

absl::StatusOr<ObjectVersion> VersionOf(const FileDescriptor& file, std::string_view key) {
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return SystemError(key, errno);
  return ObjectVersion{absl::StrCat(facts.st_mtim.tv_sec, ".", facts.st_mtim.tv_nsec, "-",
                                    facts.st_ino, "-", facts.st_size)};
}

absl::StatusOr<std::string> ReadAt(const FileDescriptor& file, const ReadRange& range,
                                   std::string_view key) {
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return SystemError(key, errno);
  const auto size = static_cast<uint64_t>(facts.st_size);
  CAPSTAN_ASSIGN_OR_RETURN(const uint64_t length, LengthWithin(range, size));
  std::string bytes(length, '\0');
  for (uint64_t done = 0; done < length;) {
    const ssize_t got = pread(file.get(), bytes.data() + done, length - done, range.offset + done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(key, errno);
    if (got == 0)
      return absl::DataLossError(absl::StrCat(absl::string_view(key.data(), key.size()),
                                              ": the file has become shorter while it was read"));
    done += got;
  }
  return bytes;
}

}  // namespace capstan
