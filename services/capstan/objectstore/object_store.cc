#include "capstan/objectstore/object_store.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "capstan/base/status.h"
#include "capstan/objectstore/file_object_store.h"
#include "capstan/objectstore/measured_object_store.h"
#include "capstan/objectstore/s3/s3_object_store.h"

namespace capstan {
namespace {

constexpr size_t kMaxKeyBytes = 1024;
constexpr size_t kMaxNameBytes = 200;

bool IsName(absl::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes || name.front() == '.') return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains("._-+=@", absl::string_view(&c, 1))) {
      return false;
    }
  }
  return true;
}

bool IsS3(std::string_view uri) { return uri.starts_with("s3://"); }

absl::StatusOr<std::string> FilePath(std::string_view uri) {
  absl::string_view path(uri.data(), uri.size());
  const bool is_uri = absl::ConsumePrefix(&path, "file://");
  if (path.empty() || (is_uri && path.front() != '/') || absl::StrContains(path, "://")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", absl::string_view(uri.data(), uri.size()),
        "' is no object store; expected s3://bucket/prefix, file:///folder or a path"));
  }
  return std::string(path);
}

}  // namespace

absl::Status ObjectStore::Put(std::string_view key, std::string_view bytes) {
  return Write(key, bytes, {}).status();
}

absl::StatusOr<ObjectVersion> ObjectStore::PutIfAbsent(std::string_view key,
                                                       std::string_view bytes) {
  return Write(key, bytes, {.kind = WriteCondition::Kind::kAbsent});
}

absl::StatusOr<ObjectVersion> ObjectStore::PutIfMatch(std::string_view key, std::string_view bytes,
                                                      const ObjectVersion& version) {
  return Write(key, bytes, {.kind = WriteCondition::Kind::kMatches, .version = version});
}

absl::StatusOr<std::string> ObjectStore::Get(std::string_view key) {
  CAPSTAN_ASSIGN_OR_RETURN(Object object, Read(key, {}));
  return std::move(object.bytes);
}

absl::StatusOr<Object> ObjectStore::GetWithVersion(std::string_view key) { return Read(key, {}); }

absl::Status ObjectStore::Delete(std::string_view key) {
  const std::string keys[] = {std::string(key)};
  return DeleteAll(keys);
}

absl::StatusOr<std::vector<ObjectInfo>> ObjectStore::List(std::string_view prefix) {
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<ObjectInfo> found, ListPage(prefix, "", kMostListed + 1));
  if (found.size() <= kMostListed) return found;
  return absl::ResourceExhaustedError(
      absl::StrCat("more than ", kMostListed, " objects begin with '",
                   absl::string_view(prefix.data(), prefix.size()), "'"));
}

absl::Status CheckObjectKey(std::string_view key) {
  const absl::string_view text(key.data(), key.size());
  bool good = key.size() <= kMaxKeyBytes;
  for (absl::string_view name : absl::StrSplit(text, '/')) good = good && IsName(name);
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("'", text.substr(0, 100), "' is no object key"));
}

absl::StatusOr<uint64_t> LengthWithin(const ReadRange& range, uint64_t size) {
  const uint64_t rest = range.offset <= size ? size - range.offset : 0;
  const bool to_the_end = range.length == ReadRange::kToTheEnd || range.may_be_short;
  if (range.offset <= size && (range.length <= rest || to_the_end)) {
    return std::min(range.length, rest);
  }
  return absl::OutOfRangeError(
      absl::StrCat("bytes [", range.offset, ", +", range.length, ") of an object of ", size));
}

absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(std::string_view uri) {
  if (!IsS3(uri)) return OpenObjectStore(uri, S3Options());
  CAPSTAN_ASSIGN_OR_RETURN(const S3Options options, S3OptionsFromEnvironment());
  return OpenObjectStore(uri, options);
}

absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(std::string_view uri,
                                                             const S3Options& s3) {
  if (IsS3(uri)) {
    CAPSTAN_ASSIGN_OR_RETURN(const S3Location location, ParseS3Uri(uri));
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> store, OpenS3ObjectStore(location, s3));
    return MeasureIfAsked(std::move(store));
  }
  CAPSTAN_ASSIGN_OR_RETURN(std::string path, FilePath(uri));
  return MeasureIfAsked(MakeFileObjectStore(std::move(path)));
}

}  // namespace capstan
