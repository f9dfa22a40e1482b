#include "cli/model/staged_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan::cli {
namespace {

// How often opening is tried again because another command has published or removed the file
// meanwhile.
constexpr int kMostOpened = 100;

bool HasName(const FileDescriptor& file, const std::string& path) {
  struct stat opened, present;
  return fstat(file.get(), &opened) == 0 && lstat(path.c_str(), &present) == 0 &&
         opened.st_ino == present.st_ino && opened.st_dev == present.st_dev;
}

absl::Status Failed(int error, const std::string& path) {
  return absl::ErrnoToStatus(error, absl::StrCat("writing ", path));
}

// Opens an empty file, which is locked for this command while it is open. If another command has it
// open, the file is not changed. `path` is the file's later name, for messages.
absl::StatusOr<FileDescriptor> OpenAlone(const std::string& unfinished, const std::string& path) {
  for (int opened = 0; opened < kMostOpened; ++opened) {
    FileDescriptor file(
        open(unfinished.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (!file.valid()) return Failed(errno, path);
    const int error = flock(file.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (error != 0 && error != EWOULDBLOCK) return Failed(error, path);
    if (!HasName(file, unfinished)) continue;
    if (error != 0) break;
    if (ftruncate(file.get(), 0) != 0) return Failed(errno, path);
    return file;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("writing ", path, ": another command is writing it"));
}

}  // namespace

StagedFiles::File::File(const std::string& folder, const std::string& name)
    : name_(name),
      path_(absl::StrCat(folder, "/", name)),
      unfinished_(absl::StrCat(folder, "/.", name, ".unfinished")) {
  absl::StatusOr<FileDescriptor> file = OpenAlone(unfinished_, path_);
  if (file.ok()) {
    file_ = *std::move(file);
  } else {
    status_ = file.status();
  }
}

StagedFiles::File::~File() {
  // Removed before it is closed, as another command may write it from then on.
  if (file_.valid() && !placed_) unlink(unfinished_.c_str());
}

void StagedFiles::File::Write(uint64_t at, const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (status_.ok() && bytes > 0) {
    const ssize_t written = pwrite(file_.get(), from, bytes, static_cast<off_t>(at));
    if (written < 0) {
      if (errno != EINTR) status_ = Failed(errno, path_);
      continue;
    }
    from += written;
    at += static_cast<uint64_t>(written);
    bytes -= static_cast<size_t>(written);
  }
}

absl::Status StagedFiles::File::Finish() {
  if (status_.ok() && fsync(file_.get()) != 0) status_ = Failed(errno, path_);
  return status_;
}

absl::Status StagedFiles::File::Place() {
  placed_ = std::rename(unfinished_.c_str(), path_.c_str()) == 0;
  return placed_ ? absl::OkStatus() : Failed(errno, path_);
}

StagedFiles::File& StagedFiles::Add(const std::string& name) {
  files_.push_back(std::make_unique<File>(folder_, name));
  return *files_.back();
}

void StagedFiles::AddText(const std::string& name, std::string_view text) {
  Add(name).Write(0, text.data(), text.size());
}

absl::Status StagedFiles::Publish(const std::string& marker,
                                  const std::vector<std::string>& stale) {
  CAPSTAN_RETURN_IF_ERROR(Finish());
  CAPSTAN_RETURN_IF_ERROR(Remove(marker));
  for (const std::string& name : stale) CAPSTAN_RETURN_IF_ERROR(Remove(name));
  CAPSTAN_RETURN_IF_ERROR(Sync());
  for (const auto& file : files_) {
    if (file->name() != marker) CAPSTAN_RETURN_IF_ERROR(file->Place());
  }
  CAPSTAN_RETURN_IF_ERROR(Sync());
  for (const auto& file : files_) {
    if (file->name() == marker) CAPSTAN_RETURN_IF_ERROR(file->Place());
  }
  return Sync();
}

absl::Status StagedFiles::Publish() {
  CAPSTAN_RETURN_IF_ERROR(Finish());
  for (const auto& file : files_) CAPSTAN_RETURN_IF_ERROR(file->Place());
  return Sync();
}

absl::Status StagedFiles::Finish() const {
  for (const auto& file : files_) CAPSTAN_RETURN_IF_ERROR(file->Finish());
  return absl::OkStatus();
}

absl::Status StagedFiles::Remove(const std::string& name) const {
  const std::string path = absl::StrCat(folder_, "/", name);
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("removing ", path));
}

absl::Status StagedFiles::Sync() const {
  const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = folder >= 0 && fsync(folder) == 0;
  const int error = errno;
  if (folder >= 0) close(folder);
  if (synced) return absl::OkStatus();
  return Failed(error, folder_);
}

}  // namespace capstan::cli
