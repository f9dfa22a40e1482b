#include "capstan/objectstore/file_object_store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/file_lock.h"
#include "capstan/objectstore/file_writer.h"
#include "capstan/objectstore/files.h"

namespace capstan {
namespace {

// Returns the folder of a key: "a/b" for "a/b/c", "" for "a".
std::string Parent(const std::string& key) {
  const size_t slash = key.rfind('/');
  return slash == std::string::npos ? "" : key.substr(0, slash);
}

class FileObjectStore : public ObjectStore {
 public:
  FileObjectStore(std::string root, const FileStoreOptions& options)
      : root_(std::move(root)), options_(options) {}

  absl::StatusOr<ObjectVersion> Write(std::string_view key, std::string_view bytes,
                                      const WriteCondition& condition) override {
    const bool replaces = condition.kind == WriteCondition::Kind::kMatches;
    const auto writer = OpenWriter(key, /*make=*/!replaces);
    if (replaces && absl::IsNotFound(writer.status())) {
      return absl::AbortedError(absl::StrCat(AbslView(key), ": there is none"));
    }
    CAPSTAN_RETURN_IF_ERROR(writer.status());
    CAPSTAN_RETURN_IF_ERROR((*writer)->Append(bytes));
    return (*writer)->Publish(condition);
  }

  absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) override {
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<FileWriter> writer, OpenWriter(key, /*make=*/true));
    return writer;
  }

  absl::StatusOr<Object> Read(std::string_view key, const ReadRange& range) override;
  absl::StatusOr<ObjectInfo> Stat(std::string_view key) override;
  absl::StatusOr<std::vector<ObjectInfo>> ListPage(std::string_view prefix, std::string_view after,
                                                   size_t limit) override;

  absl::Status DeleteAll(std::span<const std::string> keys) override;

 private:
  absl::StatusOr<FilePlace> Find(std::string_view key, bool make);
  absl::StatusOr<FileDescriptor> OpenRoot(bool make);
  absl::StatusOr<std::unique_ptr<FileWriter>> OpenWriter(std::string_view key, bool make);
  absl::Status DeleteOne(const std::string& key);
  absl::Status TidyFolder(const std::string& path);

  const std::string root_;
  const FileStoreOptions options_;
};

// Creates the folder and missing parent folders, durably.
absl::Status MakeRoot(const std::string& path) {
  std::error_code error;
  std::vector<std::filesystem::path> changed;
  for (std::filesystem::path folder = std::filesystem::absolute(path, error);
       !std::filesystem::exists(folder, error) && folder.has_relative_path();
       folder = folder.parent_path()) {
    changed.push_back(folder.parent_path());
  }
  if (changed.empty()) return absl::OkStatus();
  std::filesystem::create_directories(path, error);
  if (error) return SystemError(path, error.value());
  for (const std::filesystem::path& parent : changed) {
    const FileDescriptor folder(open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!folder.valid() || fsync(folder.get()) != 0) return SystemError(parent.string(), errno);
  }
  return absl::OkStatus();
}

// The root itself may be reached through symbolic links: its path is the operator's, not a key.
absl::StatusOr<FileDescriptor> FileObjectStore::OpenRoot(bool make) {
  if (make) CAPSTAN_RETURN_IF_ERROR(MakeRoot(root_));
  FileDescriptor root(open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return SystemError(root_, errno);
  return root;
}

absl::StatusOr<FilePlace> FileObjectStore::Find(std::string_view key, bool make) {
  CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
  CAPSTAN_ASSIGN_OR_RETURN(FileDescriptor root, OpenRoot(make));
  CAPSTAN_ASSIGN_OR_RETURN(FileDescriptor folder, OpenFolder(root, ".", /*make=*/false));
  const std::vector<std::string> names = absl::StrSplit(AbslView(key), '/');
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    CAPSTAN_ASSIGN_OR_RETURN(folder, OpenFolder(folder, names[i], make));
  }
  return FilePlace{.root = std::move(root),
                   .folder = std::move(folder),
                   .name = names.back(),
                   .key = std::string(key),
                   .lock_wait = options_.lock_wait};
}

absl::StatusOr<Object> FileObjectStore::Read(std::string_view key, const ReadRange& range) {
  CAPSTAN_ASSIGN_OR_RETURN(const FilePlace place, Find(key, /*make=*/false));
  CAPSTAN_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(place.folder, place.name, key));
  CAPSTAN_ASSIGN_OR_RETURN(ObjectVersion version, VersionOf(file, key));
  if (!range.version.token.empty() && range.version != version) {
    return absl::AbortedError(absl::StrCat(AbslView(key), ": another version stands there"));
  }
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return SystemError(key, errno);
  CAPSTAN_ASSIGN_OR_RETURN(std::string bytes, ReadAt(file, range, key));
  return Object{std::move(bytes), std::move(version), static_cast<uint64_t>(facts.st_size)};
}

absl::StatusOr<ObjectInfo> FileObjectStore::Stat(std::string_view key) {
  CAPSTAN_ASSIGN_OR_RETURN(const FilePlace place, Find(key, /*make=*/false));
  CAPSTAN_ASSIGN_OR_RETURN(const FileDescriptor file, OpenFile(place.folder, place.name, key));
  struct stat facts;
  if (fstat(file.get(), &facts) != 0) return SystemError(key, errno);
  return ObjectInfo{std::string(key), static_cast<uint64_t>(facts.st_size)};
}

absl::Status FileObjectStore::DeleteOne(const std::string& key) {
  const absl::StatusOr<FilePlace> place = Find(key, /*make=*/false);
  if (absl::IsNotFound(place.status())) return absl::OkStatus();
  CAPSTAN_RETURN_IF_ERROR(place.status());
  CAPSTAN_ASSIGN_OR_RETURN(const FileDescriptor lock,
                           LockFolder(place->root, LockKind::kShared, options_.lock_wait));
  if (unlinkat(place->folder.get(), place->name.c_str(), 0) == 0 || errno == ENOENT) {
    return absl::OkStatus();
  }
  return SystemError(key, errno);
}

// Makes deletions in the folder durable, and removes it and its parent folders if they are empty.
// One of them may have been the root of another store, which has left its lock file there.
absl::Status FileObjectStore::TidyFolder(const std::string& path) {
  const std::string inside = path.empty() ? "x" : path + "/x";
  const absl::StatusOr<FilePlace> place = Find(inside, /*make=*/false);
  if (absl::IsNotFound(place.status())) return absl::OkStatus();
  CAPSTAN_RETURN_IF_ERROR(place.status());
  RemoveAbandonedFiles(place->folder);
  if (fsync(place->folder.get()) != 0) return SystemError(path, errno);
  for (std::string name = path; !name.empty(); name = Parent(name)) {
    const absl::StatusOr<FilePlace> folder = Find(name, /*make=*/false);
    if (!folder.ok()) break;
    const absl::StatusOr<FileDescriptor> opened =
        OpenFolder(folder->folder, folder->name, /*make=*/false);
    if (opened.ok()) RemoveLastLock(*opened);
    if (unlinkat(folder->folder.get(), folder->name.c_str(), AT_REMOVEDIR) != 0) {
      break;  // Another process has removed the folder, or it is not empty.
    }
  }
  return absl::OkStatus();
}

absl::Status FileObjectStore::DeleteAll(std::span<const std::string> keys) {
  std::set<std::string> folders;
  absl::Status status;
  for (const std::string& key : keys) {
    status.Update(DeleteOne(key));
    if (!status.ok()) break;
    folders.insert(Parent(key));
  }
  for (const std::string& folder : folders) status.Update(TidyFolder(folder));
  return status;
}

// Retries if the folder was removed, because it was empty, between finding it and creating a file
// in it.
absl::StatusOr<std::unique_ptr<FileWriter>> FileObjectStore::OpenWriter(std::string_view key,
                                                                        bool make) {
  constexpr int kMostAttempts = 10;
  for (int attempt = 1;; ++attempt) {
    absl::StatusOr<FilePlace> place = Find(key, make);
    absl::StatusOr<std::unique_ptr<FileWriter>> writer =
        place.ok() ? FileWriter::Open(*std::move(place)) : place.status();
    if (!make || attempt == kMostAttempts || !absl::IsNotFound(writer.status())) return writer;
  }
}

// Adds to `found` the objects of a folder, and of the folders below it, whose keys begin with
// `wanted`.
absl::Status ListFolder(FileDescriptor folder, const std::string& base, std::string_view wanted,
                        std::vector<ObjectInfo>* found) {
  DIR* stream = fdopendir(dup(folder.get()));
  if (stream == nullptr) return SystemError(base, errno);
  const std::unique_ptr<DIR, int (*)(DIR*)> closer(stream, closedir);
  while (const dirent* entry = readdir(stream)) {
    const std::string name = entry->d_name;
    if (name.front() == '.') continue;  // Includes files that are being written.
    const std::string key = base + name;
    struct stat facts;
    if (fstatat(folder.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(facts.st_mode) && absl::StartsWith(key, AbslView(wanted))) {
      found->push_back({key, static_cast<uint64_t>(facts.st_size)});
    }
    const std::string below = key + "/";
    const size_t common = std::min(below.size(), wanted.size());
    if (!S_ISDIR(facts.st_mode) || below.substr(0, common) != wanted.substr(0, common)) continue;
    absl::StatusOr<FileDescriptor> next = OpenFolder(folder, name, /*make=*/false);
    if (absl::IsNotFound(next.status())) continue;  // Removed meanwhile.
    CAPSTAN_RETURN_IF_ERROR(next.status());
    CAPSTAN_RETURN_IF_ERROR(ListFolder(*std::move(next), below, wanted, found));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ObjectInfo>> FileObjectStore::ListPage(std::string_view prefix,
                                                                  std::string_view after,
                                                                  size_t limit) {
  std::vector<ObjectInfo> found;
  absl::StatusOr<FileDescriptor> root = OpenRoot(/*make=*/false);
  if (absl::IsNotFound(root.status())) return found;
  CAPSTAN_RETURN_IF_ERROR(root.status());
  CAPSTAN_RETURN_IF_ERROR(ListFolder(*std::move(root), "", prefix, &found));
  std::erase_if(found, [&](const ObjectInfo& object) { return object.key <= after; });
  std::sort(found.begin(), found.end(),
            [](const ObjectInfo& a, const ObjectInfo& b) { return a.key < b.key; });
  if (found.size() > limit) found.resize(limit);
  return found;
}

}  // namespace

std::unique_ptr<ObjectStore> MakeFileObjectStore(std::string root,
                                                 const FileStoreOptions& options) {
  return std::make_unique<FileObjectStore>(std::move(root), options);
}

}  // namespace capstan
