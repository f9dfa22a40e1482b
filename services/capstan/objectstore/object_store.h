// Durable objects under a prefix: whole byte strings with names, as S3 has them.
#ifndef CAPSTAN_OBJECTSTORE_OBJECT_STORE_H_
#define CAPSTAN_OBJECTSTORE_OBJECT_STORE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace capstan {

// Writes an object piece by piece. The object appears, whole and durable, with Commit; a writer
// destroyed without it leaves nothing. Confined to one thread.
class ObjectWriter {
 public:
  virtual ~ObjectWriter() = default;
  virtual absl::Status Append(std::string_view bytes) = 0;
  virtual absl::Status Commit() = 0;
};

struct ObjectInfo {
  std::string key;
  uint64_t bytes = 0;
  friend bool operator==(const ObjectInfo&, const ObjectInfo&) = default;
};

// A key is "a/b/c": one or more names of letters, digits and "._-+=@", none beginning with a dot,
// together at most 1024 bytes. INVALID_ARGUMENT for any other.
//
// After a Put has returned OK every Get sees the object, whole, and a crash does not take it away;
// before that, no reader sees any of it. Thread-safe.
class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // Puts the object in the place of one that is there.
  virtual absl::Status Put(std::string_view key, std::string_view bytes) = 0;

  // ALREADY_EXISTS, and no change, if there is one. Of several at once, exactly one succeeds.
  virtual absl::Status PutIfAbsent(std::string_view key, std::string_view bytes) = 0;

  virtual absl::StatusOr<std::unique_ptr<ObjectWriter>> Create(std::string_view key) = 0;

  // NOT_FOUND if there is none.
  virtual absl::StatusOr<std::string> Get(std::string_view key) = 0;

  // The bytes [offset, offset + length); OUT_OF_RANGE if the object ends before that.
  virtual absl::StatusOr<std::string> GetRange(std::string_view key, uint64_t offset,
                                               uint64_t length) = 0;

  // All objects whose keys begin with `prefix` (which may end within a name), in order of keys.
  virtual absl::StatusOr<std::vector<ObjectInfo>> List(std::string_view prefix) = 0;

  // OK if there is none.
  virtual absl::Status Delete(std::string_view key) = 0;
};

// The store at "file:///folder" or a plain path; the folder need not exist. INVALID_ARGUMENT for an
// address of another form, UNIMPLEMENTED for s3://.
absl::StatusOr<std::unique_ptr<ObjectStore>> OpenObjectStore(std::string_view uri);

// INVALID_ARGUMENT unless it is a key.
absl::Status CheckObjectKey(std::string_view key);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_OBJECT_STORE_H_
