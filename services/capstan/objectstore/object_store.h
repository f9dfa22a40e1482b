// Durable objects under a prefix: whole byte strings with names, as S3 has them.
#ifndef CAPSTAN_OBJECTSTORE_OBJECT_STORE_H_
#define CAPSTAN_OBJECTSTORE_OBJECT_STORE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/objectstore/s3/options.h"

namespace capstan {

// Names what is stored under a key; writing other bytes gives the key another one. Opaque: an
// entity tag of S3, attributes of a file. Empty: no version.
struct ObjectVersion {
  std::string token;
  friend bool operator==(const ObjectVersion&, const ObjectVersion&) = default;
};

// What must be stored under a key for a write to happen.
struct WriteCondition {
  enum class Kind { kAlways, kAbsent, kMatches };
  Kind kind = Kind::kAlways;
  ObjectVersion version = {};  // kMatches: this one.
};

struct ReadRange {
  static constexpr uint64_t kToTheEnd = ~uint64_t{0};
  uint64_t offset = 0;
  uint64_t length = kToTheEnd;
  ObjectVersion version = {};  // Unless empty: of this version only, else ABORTED.
  bool may_be_short = false;   // Fewer bytes where the object ends within the range, no error.
};

struct Object {
  std::string bytes;
  ObjectVersion version;
  uint64_t size = 0;  // The size of the whole object.
};

struct ObjectInfo {
  std::string key;
  uint64_t bytes = 0;
  friend bool operator==(const ObjectInfo&, const ObjectInfo&) = default;
};

// Writes an object piece by piece, with a few MiB of memory however large it becomes. The object
// appears, whole and durable, with Commit; a writer destroyed without it, or after an error, leaves
// nothing. Thread-compatible.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  virtual absl::Status Append(std::string_view bytes) = 0;
  virtual absl::Status Commit() = 0;  // At most once.
};

// A key is "a/b/c": one or more names of letters, digits and "._-+=@", none beginning with a dot,
// together at most 1024 bytes. INVALID_ARGUMENT for any other.
//
// After a write has returned OK every read sees the object, whole, and a crash does not take it
// away; before that, no reader sees any of it. A write that failed with another code than
// ALREADY_EXISTS or ABORTED may have happened nevertheless. Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // The version that is stored there now. ALREADY_EXISTS (kAbsent) or ABORTED (kMatches: another
  // version, or none), and no change, where the condition does not hold. Of several writes with the
  // same condition at once, exactly one succeeds, in whichever process or machine.
  virtual absl::StatusOr<ObjectVersion> Write(std::string_view key, std::string_view bytes,
                                              const WriteCondition& condition) = 0;

  virtual absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) = 0;

  // NOT_FOUND if there is none; OUT_OF_RANGE if the object ends before the range does.
  virtual absl::StatusOr<Object> Read(std::string_view key, const ReadRange& range) = 0;

  // NOT_FOUND if there is none.
  virtual absl::StatusOr<ObjectInfo> Stat(std::string_view key) = 0;

  // The first `limit` objects, in order of keys, that begin with `prefix` (which may end within a
  // name) and come behind `after`.
  virtual absl::StatusOr<std::vector<ObjectInfo>> ListPage(std::string_view prefix,
                                                           std::string_view after,
                                                           size_t limit) = 0;

  // Those that do not exist are no error. Upon an error some of them may be gone.
  virtual absl::Status DeleteAll(std::span<const std::string> keys) = 0;

  // For a process that ends: calls that wait for a network, and all that come later, fail within
  // about a second with CANCELLED. Stores without a network go on.
  virtual void Cancel() {}

  // Short forms of the methods above: for bytes that are one piece, whole objects and single keys.
  absl::Status Put(std::string_view key, std::string_view bytes);
  absl::StatusOr<ObjectVersion> PutIfAbsent(std::string_view key, std::string_view bytes);
  absl::StatusOr<ObjectVersion> PutIfMatch(std::string_view key, std::string_view bytes,
                                           const ObjectVersion& version);
  absl::StatusOr<std::string> Get(std::string_view key);
  absl::StatusOr<Object> GetWithVersion(std::string_view key);
  absl::Status Delete(std::string_view key);

  // All of them; RESOURCE_EXHAUSTED if there are more than kMostListed.
  static constexpr size_t kMostListed = size_t{1} << 20;
  absl::StatusOr<std::vector<ObjectInfo>> List(std::string_view prefix);
};

// The store at "s3://bucket/prefix", "file:///folder" or a plain path; neither is touched yet, and
// a folder need not exist. INVALID_ARGUMENT for an address of another form, and what
// OpenS3ObjectStore says. Options are read from the environment unless they are given.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(std::string_view uri);
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(std::string_view uri,
                                                             const S3Options& s3);

// How many bytes a range takes of an object of `size`. OUT_OF_RANGE if it ends before the range.
absl::StatusOr<uint64_t> LengthWithin(const ReadRange& range, uint64_t size);

// INVALID_ARGUMENT unless it is a key.
absl::Status CheckObjectKey(std::string_view key);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_OBJECT_STORE_H_
