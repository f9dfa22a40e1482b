#include "capstan/data/formats/object_files.h"

#include <fnmatch.h>

#include <map>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/glob_pattern.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/file_name.h"

namespace capstan {
namespace {

constexpr absl::string_view kScheme = "s3://";

struct Name {
  std::string bucket;  // "s3://" and the bucket's name.
  std::string key;
};

absl::StatusOr<Name> SplitName(absl::string_view name) {
  CAPSTAN_RETURN_IF_ERROR(CheckFileName({name.data(), name.size()}));
  absl::string_view rest = name;
  const bool is_s3 = absl::ConsumePrefix(&rest, kScheme);
  const size_t slash = rest.find('/');
  if (is_s3 && slash != 0 && slash != absl::string_view::npos && slash + 1 < rest.size()) {
    return Name{absl::StrCat(kScheme, rest.substr(0, slash)), std::string(rest.substr(slash + 1))};
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, ": names no object; expected s3://bucket/name"));
}

absl::Status Named(const std::string& name, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(name, ": ", status.message()));
}

class ObjectFiles : public Source {
 public:
  explicit ObjectFiles(BucketOpener open) : open_(std::move(open)) {}

  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override {
    CAPSTAN_ASSIGN_OR_RETURN(const Name name, SplitName(pattern));
    CAPSTAN_ASSIGN_OR_RETURN(ObjectStore* const store, Bucket(name.bucket));
    const size_t plain = name.key.find_first_of(kGlobCharacters);
    if (plain == std::string::npos) {
      CAPSTAN_ASSIGN_OR_RETURN(FileInfo file, Find(pattern));
      return std::vector<FileInfo>{std::move(file)};
    }
    const absl::StatusOr<std::vector<ObjectInfo>> objects = store->List(name.key.substr(0, plain));
    if (!objects.ok()) return Named(pattern, objects.status());
    std::vector<FileInfo> files;
    size_t hidden = 0;
    for (const ObjectInfo& object : *objects) {
      if (object.key == name.key) return std::vector<FileInfo>{{pattern, object.bytes}};
      if (fnmatch(name.key.c_str(), object.key.c_str(), FNM_PATHNAME | FNM_NOESCAPE) != 0) continue;
      if (IsHidden(name.key, object.key)) {
        ++hidden;
        continue;
      }
      CAPSTAN_RETURN_IF_ERROR(CheckFileName(object.key));
      files.push_back({absl::StrCat(name.bucket, "/", object.key), object.bytes});
    }
    if (!files.empty()) return files;
    return NothingMatches(pattern, "object", hidden);
  }

  absl::StatusOr<FileInfo> Find(const std::string& path) const override {
    CAPSTAN_ASSIGN_OR_RETURN(const Name name, SplitName(path));
    CAPSTAN_ASSIGN_OR_RETURN(ObjectStore* const store, Bucket(name.bucket));
    const absl::StatusOr<ObjectInfo> object = store->Stat(name.key);
    if (!object.ok()) return Named(path, object.status());
    return FileInfo{path, object->bytes};
  }

  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                   uint64_t likely_end) const override {
    CAPSTAN_ASSIGN_OR_RETURN(Name name, SplitName(path));
    CAPSTAN_ASSIGN_OR_RETURN(ObjectStore* const store, Bucket(name.bucket));
    return NewObjectStream(*store, std::move(name.key), path, offset, likely_end);
  }

  void Cancel() const override {
    absl::MutexLock lock(&mu_);
    for (const auto& [uri, store] : buckets_) {
      if (store != nullptr) store->Cancel();
    }
  }

 private:
  // Opening a bucket only reads the environment, so it may be done under the lock.
  absl::StatusOr<ObjectStore*> Bucket(const std::string& uri) const ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    std::unique_ptr<ObjectStore>& store = buckets_[uri];
    if (store == nullptr) {
      CAPSTAN_ASSIGN_OR_RETURN(store, open_(uri));
    }
    return store.get();
  }

  const BucketOpener open_;
  mutable absl::Mutex mu_;
  mutable std::map<std::string, std::unique_ptr<ObjectStore>> buckets_ ABSL_GUARDED_BY(mu_);
};

// What stores have answered to calls that they are retrying. Thread-safe.
class LastTrouble {
 public:
  void Set(const absl::Status& status) {
    absl::MutexLock lock(&mu_);
    text_ = std::string(status.message());
  }
  std::string text() const {
    absl::MutexLock lock(&mu_);
    return text_;
  }

 private:
  mutable absl::Mutex mu_;
  std::string text_ ABSL_GUARDED_BY(mu_);  // Empty: nothing.
};

absl::StatusOr<std::unique_ptr<ObjectStore>> OpenBucket(const std::string& uri,
                                                        const DataFilesOptions& how,
                                                        LastTrouble& trouble) {
  constexpr int kNoLimit = 1 << 20;  // Only patience limits the number of attempts.
  CAPSTAN_ASSIGN_OR_RETURN(S3Options options, S3OptionsFromEnvironment());
  options.attempts = kNoLimit;
  options.deadline = how.patience;
  options.outlasts_refusals = how.outlasts_refusals;
  options.on_trouble = [&trouble](const absl::Status& status) { trouble.Set(status); };
  return OpenObjectStore(uri, options);
}

// Reads each file from the source determined by its name.
class DataFiles : public Source {
 public:
  explicit DataFiles(const DataFilesOptions& options)
      : objects_(NewObjectFiles([this, options](const std::string& uri) {
          return OpenBucket(uri, options, trouble_);
        })) {}

  absl::StatusOr<std::vector<FileInfo>> List(const std::string& pattern) const override {
    return SourceOf(pattern).List(pattern);
  }

  absl::StatusOr<FileInfo> Find(const std::string& path) const override {
    return SourceOf(path).Find(path);
  }

  absl::StatusOr<std::unique_ptr<ByteStream>> Open(const std::string& path, uint64_t offset,
                                                   uint64_t likely_end) const override {
    return SourceOf(path).Open(path, offset, likely_end);
  }

  std::string Trouble() const override { return trouble_.text(); }
  void Cancel() const override { objects_->Cancel(); }

 private:
  const Source& SourceOf(const std::string& path) const {
    return absl::StartsWith(path, kScheme) ? *objects_ : *files_;
  }

  LastTrouble trouble_;  // Set by the buckets of objects_.
  const std::unique_ptr<const Source> files_ = NewLocalFiles();
  const std::unique_ptr<const Source> objects_;
};

}  // namespace

std::unique_ptr<const Source> NewObjectFiles(BucketOpener open) {
  return std::make_unique<ObjectFiles>(std::move(open));
}

std::unique_ptr<const Source> NewDataFiles(const DataFilesOptions& options) {
  return std::make_unique<DataFiles>(options);
}

}  // namespace capstan
