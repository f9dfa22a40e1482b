// Writes partitions to a checkpoint's folder, several of them in one object: both on a disk and in
// S3, creating many small objects takes longer than writing their bytes.
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

// One object, named after its first partition. It is in the store only after Commit, and never
// after an error. Thread-compatible.
class PartitionPack {
 public:
  static constexpr size_t kEnough = size_t{64} << 20;  // Bytes.

  // All arguments must outlive this object. `taken`, unless null, is increased by the number of
  // bytes that the store accepts.
  PartitionPack(ObjectStore& folder, Background& background, std::atomic<uint64_t>* taken = nullptr)
      : folder_(folder), background_(background), taken_(taken) {}

  // Begins the file of a partition.
  absl::Status Begin(PartitionIndex partition);
  // Appends the next piece of the file. Does not wait for the store: bytes that it has not accepted
  // yet are in memory.
  absl::Status Append(std::string piece);
  // How many appended bytes the store has not accepted yet.
  size_t waiting_bytes() const { return object_ ? object_->waiting_bytes() : 0; }
  // Ends the file, and waits until the store has accepted it. `delta`: the file is a delta, so it
  // needs its parent.
  absl::Status End(uint64_t rows, bool delta);

  bool enough() const { return bytes_ >= kEnough; }

  // Publishes the object, and returns the manifest's entries for its files, in order. REQUIRES: a
  // file was written, and the last one was ended. Must be called at most once.
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
