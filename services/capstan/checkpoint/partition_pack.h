// Partitions on their way to a checkpoint's folder, several of them in one object: on a disk as in
// S3, many small objects take longer to make than to write.
#ifndef CAPSTAN_CHECKPOINT_PARTITION_PACK_H_
#define CAPSTAN_CHECKPOINT_PARTITION_PACK_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/base/background.h"
#include "capstan/base/ids.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/objectstore/write_behind.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {

// One object, named after its first partition. Nothing is in the store before Commit, and after an
// error there will not be. Thread-compatible.
class PartitionPack {
 public:
  static constexpr size_t kEnough = size_t{64} << 20;  // Bytes.

  // All must outlive it. What the store has taken is added to `taken`, in bytes.
  PartitionPack(ObjectStore& folder, Background& background, std::atomic<uint64_t>* taken = nullptr)
      : folder_(folder), background_(background), taken_(taken) {}

  // Begins the file of a partition.
  absl::Status Begin(PartitionIndex partition);
  // The next piece of the file. Does not wait for the store: what it has not taken is in memory.
  absl::Status Append(std::string piece);
  // Bytes that were appended and that the store has not taken yet.
  size_t waiting_bytes() const { return object_ ? object_->waiting_bytes() : 0; }
  // Ends the file, and waits until the store has taken it. `delta`: it needs the parent's.
  absl::Status End(uint64_t rows, bool delta);

  bool enough() const { return bytes_ >= kEnough; }

  // Publishes the object. The entries of its files in the manifest, in their order.
  // REQUIRES: there is one, and the last has been ended. At most once.
  absl::StatusOr<std::vector<v1::SavedFile>> Commit();

 private:
  ObjectStore& folder_;
  Background& background_;
  std::atomic<uint64_t>* const taken_;
  std::optional<WriteBehind> object_;
  size_t bytes_ = 0;
  std::vector<v1::SavedFile> files_;
};

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_PARTITION_PACK_H_
