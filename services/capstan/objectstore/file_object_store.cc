#include "capstan/objectstore/file_object_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/files.h"

namespace capstan {
namespace {

absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

// Where an object is: an open folder and a name in it.
struct Place {
  FileDescriptor folder;
  std::string name;
};

enum class Replace { kYes, kNo };

// A temporary file that becomes an object, or nothing.
class FileWriter : public ObjectWriter {
 public:
  FileWriter(Place place, std::string key, Replace replace)
      : place_(std::move(place)), key_(std::move(key)), replace_(replace) {}

  ~FileWriter() override {
    if (file_.valid()) unlinkat(place_.folder.get(), temporary_.c_str(), 0);
  }

  absl::Status Open() {
    static std::atomic<uint64_t> count = 0;
    temporary_ = absl::StrCat(".writing-", std::random_device()(), "-", getpid(), "-", count++);
    file_ = FileDescriptor(openat(place_.folder.get(), temporary_.c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    return file_.valid() ? absl::OkStatus() : SystemError(key_, errno);
  }

  absl::Status Append(std::string_view bytes) override { return WriteAll(file_, bytes); }

  absl::Status Commit() override {
    if (fsync(file_.get()) != 0) return SystemError(key_, errno);
    CAPSTAN_RETURN_IF_ERROR(Publish());
    file_ = FileDescriptor();
    return fsync(place_.folder.get()) == 0 ? absl::OkStatus() : SystemError(key_, errno);
  }

 private:
  absl::Status Publish() {
    const int folder = place_.folder.get();
    if (replace_ == Replace::kYes) {
      return renameat(folder, temporary_.c_str(), folder, place_.name.c_str()) == 0
                 ? absl::OkStatus()
                 : SystemError(key_, errno);
    }
    if (linkat(folder, temporary_.c_str(), folder, place_.name.c_str(), 0) != 0) {
      if (errno != EEXIST) return SystemError(key_, errno);
      return absl::AlreadyExistsError(absl::StrCat(key_, ": there is one already"));
    }
    unlinkat(folder, temporary_.c_str(), 0);
    return absl::OkStatus();
  }

  Place place_;
  std::string key_;
  Replace replace_;
  std::string temporary_;
  FileDescriptor file_;  // Invalid once published.
};

class FileObjectStore : public ObjectStore {
 public:
  explicit FileObjectStore(std::string root) : root_(std::move(root)) {}

  absl::Status Put(std::string_view key, std::string_view bytes) override {
    return Write(key, bytes, Replace::kYes);
  }

  absl::Status PutIfAbsent(std::string_view key, std::string_view bytes) override {
    return Write(key, bytes, Replace::kNo);
  }

  absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) override {
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> writer, MakeWriter(key, Replace::kYes));
    return writer;
  }

  absl::StatusOr<std::string> Get(std::string_view key) override {
    CAPSTAN_ASSIGN_OR_RETURN(const FileDescriptor file, OpenObject(key));
    struct stat facts;
    if (fstat(file.get(), &facts) != 0) return SystemError(key, errno);
    return ReadAt(file, 0, facts.st_size);
  }

  absl::StatusOr<std::string> GetRange(std::string_view key, uint64_t offset,
                                       uint64_t length) override {
    CAPSTAN_ASSIGN_OR_RETURN(const FileDescriptor file, OpenObject(key));
    return ReadAt(file, offset, length);
  }

  absl::StatusOr<std::vector<ObjectInfo>> List(std::string_view prefix) override;

  absl::Status Delete(std::string_view key) override {
    absl::StatusOr<Place> place = Find(key, /*make=*/false);
    if (absl::IsNotFound(place.status())) return absl::OkStatus();
    CAPSTAN_RETURN_IF_ERROR(place.status());
    if (unlinkat(place->folder.get(), place->name.c_str(), 0) != 0) {
      return errno == ENOENT ? absl::OkStatus() : SystemError(key, errno);
    }
    return fsync(place->folder.get()) == 0 ? absl::OkStatus() : SystemError(key, errno);
  }

 private:
  absl::StatusOr<Place> Find(std::string_view key, bool make);
  absl::StatusOr<FileDescriptor> OpenRoot(bool make);
  absl::StatusOr<FileDescriptor> OpenObject(std::string_view key);

  absl::StatusOr<std::unique_ptr<FileWriter>> MakeWriter(std::string_view key, Replace replace) {
    CAPSTAN_ASSIGN_OR_RETURN(Place place, Find(key, /*make=*/true));
    auto writer = std::make_unique<FileWriter>(std::move(place), std::string(key), replace);
    CAPSTAN_RETURN_IF_ERROR(writer->Open());
    return writer;
  }

  absl::Status Write(std::string_view key, std::string_view bytes, Replace replace) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<FileWriter> writer, MakeWriter(key, replace));
    CAPSTAN_RETURN_IF_ERROR(writer->Append(bytes));
    return writer->Commit();
  }

  const std::string root_;
};

// The root itself may be reached through symbolic links: its path is the operator's, not a key.
absl::StatusOr<FileDescriptor> FileObjectStore::OpenRoot(bool make) {
  if (make) {
    std::error_code error;
    std::filesystem::create_directories(root_, error);
    if (error) return SystemError(root_, error.value());
  }
  FileDescriptor root(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return SystemError(root_, errno);
  return root;
}

absl::StatusOr<Place> FileObjectStore::Find(std::string_view key, bool make) {
  CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
  CAPSTAN_ASSIGN_OR_RETURN(FileDescriptor folder, OpenRoot(make));
  const std::vector<std::string> names = absl::StrSplit(Absl(key), '/');
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    CAPSTAN_ASSIGN_OR_RETURN(folder, OpenFolder(folder, names[i], make));
  }
  return Place{std::move(folder), names.back()};
}

absl::StatusOr<FileDescriptor> FileObjectStore::OpenObject(std::string_view key) {
  CAPSTAN_ASSIGN_OR_RETURN(const Place place, Find(key, /*make=*/false));
  // Not blocking: a FIFO in the place of an object must not hang us.
  FileDescriptor file(openat(place.folder.get(), place.name.c_str(),
                             O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) return SystemError(key, errno);
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return SystemError(key, errno);
  if (S_ISREG(facts.st_mode)) return file;
  return absl::FailedPreconditionError(absl::StrCat(Absl(key), ": not a file"));
}

// Adds the objects of a folder and those below it whose keys begin with `wanted`.
absl::Status ListFolder(FileDescriptor folder, const std::string& base, std::string_view wanted,
                        std::vector<ObjectInfo>* found) {
  DIR* stream = fdopendir(dup(folder.get()));
  if (stream == nullptr) return SystemError(base, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, closedir);
  while (const dirent* entry = readdir(stream)) {
    const std::string name = entry->d_name;
    if (name.front() == '.') continue;  // Also what is being written.
    const std::string key = base + name;
    struct stat facts;
    if (fstatat(folder.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(facts.st_mode) && absl::StartsWith(key, Absl(wanted))) {
      found->push_back({key, static_cast<uint64_t>(facts.st_size)});
    }
    const std::string below = key + "/";
    const size_t common = std::min(below.size(), wanted.size());
    if (!S_ISDIR(facts.st_mode) || below.substr(0, common) != wanted.substr(0, common)) continue;
    CAPSTAN_ASSIGN_OR_RETURN(FileDescriptor next, OpenFolder(folder, name, /*make=*/false));
    CAPSTAN_RETURN_IF_ERROR(ListFolder(std::move(next), below, wanted, found));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ObjectInfo>> FileObjectStore::List(std::string_view prefix) {
  std::vector<ObjectInfo> found;
  absl::StatusOr<FileDescriptor> root = OpenRoot(/*make=*/false);
  if (absl::IsNotFound(root.status())) return found;
  CAPSTAN_RETURN_IF_ERROR(root.status());
  CAPSTAN_RETURN_IF_ERROR(ListFolder(*std::move(root), "", prefix, &found));
  std::sort(found.begin(), found.end(),
            [](const ObjectInfo& a, const ObjectInfo& b) { return a.key < b.key; });
  return found;
}

}  // namespace

std::unique_ptr<ObjectStore> MakeFileObjectStore(std::string root) {
  return std::make_unique<FileObjectStore>(std::move(root));
}

}  // namespace capstan
