// Stores durable objects under a prefix: byte strings with names, as S3 does.
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

// Identifies the content of an object: a write of other bytes gives the object another version.
// Opaque: an entity tag of S3, or attributes of a file. Empty: no version.
struct ObjectVersion {
  std::string token;
  friend bool operator==(const ObjectVersion&, const ObjectVersion&) = default;
};

// The condition on the stored object under which a write happens.
struct WriteCondition {
  enum class Kind { kAlways, kAbsent, kMatches };
  Kind kind = Kind::kAlways;
  ObjectVersion version = {};  // kMatches: the version that must be stored.
};

struct ReadRange {
  static constexpr uint64_t kToTheEnd = ~uint64_t{0};
  uint64_t offset = 0;
  uint64_t length = kToTheEnd;
  ObjectVersion version = {};  // Unless empty: ABORTED if another version is stored.
  bool may_be_short = false;   // No error if the object ends within the range: returns fewer bytes.
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

// Writes an object piece by piece, with a few MiB of memory however large the object becomes.
// Commit makes the object visible, whole and durable. A writer that is destroyed without Commit, or
// after an error, leaves nothing behind. Thread-compatible.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  virtual absl::Status Append(std::string_view bytes) = 0;
  virtual absl::Status Commit() = 0;  // May be called at most once.
};

// A key is "a/b/c": one or more names of letters, digits and "._-+=@", none beginning with a dot,
// at most 1024 bytes in all. Any other key: INVALID_ARGUMENT.
//
// After a write has returned OK, every read sees the whole object, and it survives a crash; before
// that, no reader sees any of it. A write that failed with another code than ALREADY_EXISTS or
// ABORTED may have happened nevertheless. Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Stores the object and returns its version. If the condition is not met, nothing changes:
  // ALREADY_EXISTS (kAbsent), or ABORTED (kMatches: another version is stored, or none). If several
  // writes with the same condition run concurrently, in any processes or machines, exactly one
  // succeeds.
  virtual absl::StatusOr<ObjectVersion> Write(std::string_view key, std::string_view bytes,
                                              const WriteCondition& condition) = 0;

  virtual absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) = 0;

  // NOT_FOUND: there is no such object. OUT_OF_RANGE: the object ends before the range does.
  virtual absl::StatusOr<Object> Read(std::string_view key, const ReadRange& range) = 0;

  // NOT_FOUND: there is no such object.
  virtual absl::StatusOr<ObjectInfo> Stat(std::string_view key) = 0;

  // Returns the first `limit` objects, in the order of their keys, whose keys begin with `prefix`
  // (which may end within a name) and are greater than `after`.
  virtual absl::StatusOr<std::vector<ObjectInfo>> ListPage(std::string_view prefix,
                                                           std::string_view after,
                                                           size_t limit) = 0;

  // Keys that do not exist are not an error. After an error some of the objects may be deleted.
  virtual absl::Status DeleteAll(std::span<const std::string> keys) = 0;

  // For a process that ends: calls that wait for the network, and all later calls, fail with
  // CANCELLED within about a second. Stores without a network ignore it.
  virtual void Cancel() {}

  // Short forms of the methods above, for objects in one piece and for single keys.
  absl::Status Put(std::string_view key, std::string_view bytes);
  absl::StatusOr<ObjectVersion> PutIfAbsent(std::string_view key, std::string_view bytes);
  absl::StatusOr<ObjectVersion> PutIfMatch(std::string_view key, std::string_view bytes,
                                           const ObjectVersion& version);
  absl::StatusOr<std::string> Get(std::string_view key);
  absl::StatusOr<Object> GetWithVersion(std::string_view key);
  absl::Status Delete(std::string_view key);

  // Lists all objects. RESOURCE_EXHAUSTED: there are more than kMostListed.
  static constexpr size_t kMostListed = size_t{1} << 20;
  absl::StatusOr<std::vector<ObjectInfo>> List(std::string_view prefix);
};

// Opens the store at "s3://bucket/prefix", "file:///folder" or a plain path. This does not access
// the store, and a folder need not exist. INVALID_ARGUMENT: an address of another form; for S3 also
// the errors of OpenS3ObjectStore. Without `s3` the options are read from the environment.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(std::string_view uri);
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(std::string_view uri,
                                                             const S3Options& s3);

// Returns how many bytes of an object of `size` bytes are in `range`. OUT_OF_RANGE: the object ends
// before the range does.
absl::StatusOr<uint64_t> LengthWithin(const ReadRange& range, uint64_t size);

// INVALID_ARGUMENT: `key` is not a valid key.
absl::Status CheckObjectKey(std::string_view key);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_OBJECT_STORE_H_
