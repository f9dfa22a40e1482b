#include "tests/lib/memory_object_store.h"

#include <map>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

class BufferedWriter : public ObjectWriter {
 public:
  BufferedWriter(ObjectStore& store, std::string key) : store_(store), key_(std::move(key)) {}

  absl::Status Append(std::string_view bytes) override {
    bytes_.append(bytes);
    return absl::OkStatus();
  }
  absl::Status Commit() override { return store_.Put(key_, bytes_); }

 private:
  ObjectStore& store_;
  const std::string key_;
  std::string bytes_;
};

class MemoryObjectStore : public ObjectStore {
 public:
  explicit MemoryObjectStore(const std::map<std::string, std::string>& objects) {
    absl::MutexLock lock(&mu_);
    for (const auto& [key, bytes] : objects) {
      objects_.try_emplace(key, Object{bytes, {absl::StrCat("v", ++writes_)}});
    }
  }

  absl::StatusOr<ObjectVersion> Write(std::string_view key, std::string_view bytes,
                                      const WriteCondition& condition) override {
    CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
    absl::MutexLock lock(&mu_);
    const auto present = objects_.find(key);
    const bool there = present != objects_.end();
    if (condition.kind == WriteCondition::Kind::kAbsent && there) {
      return absl::AlreadyExistsError(absl::StrCat(std::string(key), ": there is one already"));
    }
    if (condition.kind == WriteCondition::Kind::kMatches &&
        (!there || present->second.version != condition.version)) {
      return absl::AbortedError(absl::StrCat(std::string(key), ": another version stands there"));
    }
    ObjectVersion version{absl::StrCat("v", ++writes_)};
    objects_.insert_or_assign(std::string(key), Object{std::string(bytes), version});
    return version;
  }

  absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) override {
    CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
    return MakeBufferedWriter(*this, std::string(key));
  }

  absl::StatusOr<Object> Read(std::string_view key, const ReadRange& range) override {
    CAPSTAN_ASSIGN_OR_RETURN(Object object, Find(key));
    if (!range.version.token.empty() && range.version != object.version) {
      return absl::AbortedError(absl::StrCat(std::string(key), ": another version stands there"));
    }
    const uint64_t size = object.bytes.size();
    CAPSTAN_ASSIGN_OR_RETURN(const uint64_t length, LengthWithin(range, size));
    return Object{object.bytes.substr(range.offset, length), std::move(object.version), size};
  }

  absl::StatusOr<ObjectInfo> Stat(std::string_view key) override {
    CAPSTAN_ASSIGN_OR_RETURN(const Object object, Find(key));
    return ObjectInfo{std::string(key), object.bytes.size()};
  }

  absl::StatusOr<std::vector<ObjectInfo>> ListPage(std::string_view prefix, std::string_view after,
                                                   size_t limit) override {
    std::vector<ObjectInfo> found;
    absl::MutexLock lock(&mu_);
    for (const auto& [key, object] : objects_) {
      if (found.size() < limit && key > after && key.starts_with(prefix)) {
        found.push_back({key, object.bytes.size()});
      }
    }
    return found;
  }

  absl::Status DeleteAll(std::span<const std::string> keys) override {
    for (const std::string& key : keys) CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
    absl::MutexLock lock(&mu_);
    for (const std::string& key : keys) objects_.erase(key);
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Object> Find(std::string_view key) {
    absl::MutexLock lock(&mu_);
    const auto present = objects_.find(key);
    if (present != objects_.end()) return present->second;
    CAPSTAN_RETURN_IF_ERROR(CheckObjectKey(key));
    return absl::NotFoundError(absl::StrCat(std::string(key), ": there is none"));
  }

  absl::Mutex mu_;
  std::map<std::string, Object, std::less<>> objects_ ABSL_GUARDED_BY(mu_);
  uint64_t writes_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace

std::unique_ptr<ObjectStore> MakeMemoryObjectStore() { return MakeForeignObjectStore({}); }

std::unique_ptr<ObjectStore> MakeForeignObjectStore(
    const std::map<std::string, std::string>& objects) {
  return std::make_unique<MemoryObjectStore>(objects);
}

std::unique_ptr<ObjectWriter> MakeBufferedWriter(ObjectStore& store, std::string key) {
  return std::make_unique<BufferedWriter>(store, std::move(key));
}

}  // namespace capstan
