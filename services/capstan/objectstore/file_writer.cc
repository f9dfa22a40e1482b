#include "capstan/objectstore/file_writer.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <ctime>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/file_lock.h"

namespace capstan {
namespace {

constexpr char kTemporaryPrefix[] = ".writing-";

// Sets the file's time stamp to now. The kernel's own stamps have only the resolution of its tick,
// and a version must differ from the one before.
absl::Status StampNow(const FileDescriptor& file, std::string_view key) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  const timespec times[2] = {now, now};
  return futimens(file.get(), times) == 0 ? absl::OkStatus() : SystemError(key, errno);
}

}  // namespace

absl::StatusOr<std::unique_ptr<FileWriter>> FileWriter::Open(FilePlace place) {
  // Drawn once per process: asking the device takes long compared to writing a small file.
  static const auto random = std::random_device()();
  static std::atomic<uint64_t> count = 0;
  auto writer = std::unique_ptr<FileWriter>(new FileWriter(std::move(place)));
  writer->temporary_ = absl::StrCat(kTemporaryPrefix, random, "-", getpid(), "-", count++);
  writer->file_ =
      FileDescriptor(openat(writer->place_.folder.get(), writer->temporary_.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!writer->file_.valid()) return SystemError(writer->place_.key, errno);
  // The lock is held as long as this writer lives, which tells RemoveAbandonedFiles that the file
  // is in use. That function may have removed the file before it was locked.
  struct stat facts;
  if (flock(writer->file_.get(), LOCK_EX | LOCK_NB) == 0 &&
      fstat(writer->file_.get(), &facts) == 0 && facts.st_nlink > 0) {
    return writer;
  }
  return absl::NotFoundError(absl::StrCat(writer->place_.key, ": the folder is being tidied"));
}

FileWriter::~FileWriter() {
  if (file_.valid()) unlinkat(place_.folder.get(), temporary_.c_str(), 0);
}

absl::Status FileWriter::Append(std::string_view bytes) { return pieces_.Append(bytes); }

absl::StatusOr<ObjectVersion> FileWriter::Publish(const WriteCondition& condition) {
  CAPSTAN_RETURN_IF_ERROR(pieces_.Finish());
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("file.written"));
  CAPSTAN_RETURN_IF_ERROR(StampNow(file_, place_.key));
  if (fsync(file_.get()) != 0) return SystemError(place_.key, errno);
  CAPSTAN_ASSIGN_OR_RETURN(ObjectVersion version, VersionOf(file_, place_.key));
  CAPSTAN_RETURN_IF_ERROR(CAPSTAN_FAILPOINT_STATUS("file.synced"));
  CAPSTAN_RETURN_IF_ERROR(Give(condition));
  CAPSTAN_FAILPOINT("file.renamed");
  file_ = FileDescriptor();
  if (fsync(place_.folder.get()) != 0) return SystemError(place_.key, errno);
  return version;
}

absl::Status FileWriter::Give(const WriteCondition& condition) {
  switch (condition.kind) {
    case WriteCondition::Kind::kAbsent:
      return LinkUnlessPresent();
    case WriteCondition::Kind::kMatches:
      return RenameIfMatches(condition.version);
    case WriteCondition::Kind::kAlways:
      break;
  }
  CAPSTAN_ASSIGN_OR_RETURN(const FileDescriptor lock,
                           LockFolder(place_.root, LockKind::kShared, place_.lock_wait));
  return Rename();
}

absl::Status FileWriter::Rename() {
  const int folder = place_.folder.get();
  return renameat(folder, temporary_.c_str(), folder, place_.name.c_str()) == 0
             ? absl::OkStatus()
             : SystemError(place_.key, errno);
}

absl::Status FileWriter::LinkUnlessPresent() {
  const int folder = place_.folder.get();
  if (linkat(folder, temporary_.c_str(), folder, place_.name.c_str(), 0) != 0) {
    if (errno != EEXIST) return SystemError(place_.key, errno);
    return absl::AlreadyExistsError(absl::StrCat(place_.key, ": there is one already"));
  }
  unlinkat(folder, temporary_.c_str(), 0);
  return absl::OkStatus();
}

absl::Status FileWriter::RenameIfMatches(const ObjectVersion& version) {
  CAPSTAN_ASSIGN_OR_RETURN(const FileDescriptor lock,
                           LockFolder(place_.root, LockKind::kExclusive, place_.lock_wait));
  const absl::StatusOr<FileDescriptor> present = OpenFile(place_.folder, place_.name, place_.key);
  if (absl::IsNotFound(present.status())) {
    return absl::AbortedError(absl::StrCat(place_.key, ": there is none any more"));
  }
  CAPSTAN_RETURN_IF_ERROR(present.status());
  CAPSTAN_ASSIGN_OR_RETURN(const ObjectVersion found, VersionOf(*present, place_.key));
  if (found == version) return Rename();
  return absl::AbortedError(absl::StrCat(place_.key, ": another version stands there"));
}

void RemoveAbandonedFiles(const FileDescriptor& folder) {
  DIR* stream = fdopendir(openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (stream == nullptr) return;
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, closedir);
  while (const dirent* entry = readdir(stream)) {
    if (!absl::StartsWith(entry->d_name, kTemporaryPrefix)) continue;
    const FileDescriptor file(
        openat(folder.get(), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file.valid() || flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;
    unlinkat(folder.get(), entry->d_name, 0);
  }
}

}  // namespace capstan
