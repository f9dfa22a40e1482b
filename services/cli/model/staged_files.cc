#include "cli/model/staged_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan::cli {

StagedFiles::File::File(const std::string& folder, const std::string& name)
    : name_(name),
      path_(absl::StrCat(folder, "/", name)),
      unfinished_(absl::StrCat(folder, "/.", name, ".unfinished")),
      file_(open(unfinished_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_ < 0) error_ = errno;
}

StagedFiles::File::~File() {
  if (file_ >= 0) close(file_);
  unlink(unfinished_.c_str());  // It is not there if the file has its name.
}

void StagedFiles::File::Write(uint64_t at, const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (error_ == 0 && bytes > 0) {
    const ssize_t written = pwrite(file_, from, bytes, static_cast<off_t>(at));
    if (written < 0) {
      if (errno != EINTR) error_ = errno;
      continue;
    }
    from += written;
    at += static_cast<uint64_t>(written);
    bytes -= static_cast<size_t>(written);
  }
}

absl::Status StagedFiles::File::Finish() {
  if (error_ == 0 && fsync(file_) != 0) error_ = errno;
  if (file_ >= 0 && close(std::exchange(file_, -1)) != 0 && error_ == 0) error_ = errno;
  return status();
}

absl::Status StagedFiles::File::status() const {
  if (error_ == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error_, absl::StrCat("writing ", path_));
}

absl::Status StagedFiles::File::Place() {
  if (std::rename(unfinished_.c_str(), path_.c_str()) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("writing ", path_));
}

StagedFiles::File& StagedFiles::Add(const std::string& name) {
  files_.push_back(std::make_unique<File>(folder_, name));
  return *files_.back();
}

void StagedFiles::AddText(const std::string& name, std::string_view text) {
  Add(name).Write(0, text.data(), text.size());
}

absl::Status StagedFiles::Publish(const std::string& marker, const std::string& stale) {
  CAPSTAN_RETURN_IF_ERROR(Finish());
  CAPSTAN_RETURN_IF_ERROR(Remove(marker));
  CAPSTAN_RETURN_IF_ERROR(Remove(stale));
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
  return absl::ErrnoToStatus(error, absl::StrCat("writing ", folder_));
}

}  // namespace capstan::cli
