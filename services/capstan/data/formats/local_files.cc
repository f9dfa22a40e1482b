#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/glob_pattern.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/file_name.h"
#include "capstan/data/formats/source.h"

namespace capstan {
namespace {

absl::Status ErrnoStatus(int error, const std::string& path, const char* what) {
  std::string message = absl::StrCat(path, ": ", what, ": ", std::strerror(error));
  if (error == ENOENT) return absl::NotFoundError(message);
  if (error == EACCES || error == EPERM) return absl::PermissionDeniedError(message);
  return absl::UnavailableError(message);
}

class LocalStream : public ByteStream {
 public:
  LocalStream(std::string path, int fd, uint64_t offset)
      : path_(std::move(path)), fd_(fd), offset_(offset) {}
  ~LocalStream() override { ::close(fd_); }

  absl::StatusOr<size_t> Read(std::span<char> buffer) override {
    CAPSTAN_FAILPOINT("data.read");
    ssize_t n;
    do {
      n = ::pread(fd_, buffer.data(), buffer.size(), static_cast<off_t>(offset_));
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
      return ErrnoStatus(errno, path_, absl::StrCat("cannot read at byte ", offset_).c_str());
    }
    offset_ += static_cast<uint64_t>(n);
    return static_cast<size_t>(n);
  }

 private:
  const std::string path_;
  const int fd_;
  uint64_t offset_;
};

absl::StatusOr<std::string> LocalPath(absl::string_view path) {
  absl::ConsumePrefix(&path, "file://");
  if (absl::StrContains(path, "://")) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": not a local path"));
  }
  return std::string(path);
}

// Refuses pipes and devices, which may never return a byte nor end.
absl::Status CheckKind(const std::string& path, const struct stat& info) {
  if (S_ISREG(info.st_mode)) return absl::OkStatus();
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is a folder; name its files, as in ", path, "/*"));
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": is not a regular file"));
}

absl::StatusOr<FileInfo> Inspect(const std::string& path) {
  CAPSTAN_RETURN_IF_ERROR(CheckFileName(path));
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, path, "cannot open");
  CAPSTAN_RETURN_IF_ERROR(CheckKind(path, info));
  if (::access(path.c_str(), R_OK) != 0) return ErrnoStatus(errno, path, "cannot read");
  return FileInfo{path, static_cast<uint64_t>(info.st_size)};
}

class LocalFiles : public Source {
 public:
  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string path, LocalPath(pattern));
    CAPSTAN_ASSIGN_OR_RETURN(const std::vector<std::string> paths, MatchingPaths(path));
    std::vector<FileInfo> files;
    for (const std::string& match : paths) {
      CAPSTAN_ASSIGN_OR_RETURN(FileInfo file, Inspect(match));
      files.push_back(std::move(file));
    }
    return files;
  }

  absl::StatusOr<FileInfo> Find(const std::string& name) const override {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string path, LocalPath(name));
    return Inspect(path);
  }

  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& name, uint64_t offset,
                                                   uint64_t) const override {
    CAPSTAN_ASSIGN_OR_RETURN(std::string path, LocalPath(name));
    // O_NONBLOCK: if the file has become a pipe, do not wait for another process to open its other
    // end.
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return ErrnoStatus(errno, path, "cannot open");
    auto stream = std::make_unique<LocalStream>(path, fd, offset);
    struct stat info;
    if (::fstat(fd, &info) != 0) return ErrnoStatus(errno, path, "cannot open");
    CAPSTAN_RETURN_IF_ERROR(CheckKind(path, info));
    return stream;
  }
};

}  // namespace

std::unique_ptr<const Source> NewLocalFiles() { return std::make_unique<LocalFiles>(); }

}  // namespace capstan
