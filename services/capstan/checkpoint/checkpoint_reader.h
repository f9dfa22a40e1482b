// Reads the partitions of one checkpoint, verified.
#ifndef CAPSTAN_CHECKPOINT_CHECKPOINT_READER_H_
#define CAPSTAN_CHECKPOINT_CHECKPOINT_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/slab_arena.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Thread-safe once it is open.
class CheckpointReader {
 public:
  // `uri`: the checkpoint's folder. DATA_LOSS, with the object, if the manifest is missing or
  // damaged; FAILED_PRECONDITION if a newer Capstan has written it.
  static absl::StatusOr<CheckpointReader> Open(const std::string& uri);

  const v1::Manifest& manifest() const { return manifest_; }

  // FAILED_PRECONDITION, with the difference, if `job` places its parameters otherwise. What is
  // stored of each is compared when it is read.
  absl::Status CheckJob(const v1::JobSpec& job) const;

  // DATA_LOSS, with object and place, if a byte has changed or is missing. See DecodePartition.
  absl::StatusOr<DecodedPartition> Read(PartitionIndex partition, const v1::JobSpec& job,
                                        const DenseLayout& layout,
                                        SlabArena* arena = nullptr) const;

  // Bytes that reading the partition takes. REQUIRES: it is one.
  uint64_t bytes_of(PartitionIndex partition) const;

 private:
  const v1::SavedFile& file(PartitionIndex partition) const {
    return manifest_.files(places_[static_cast<size_t>(Raw(partition))]);
  }
  CheckpointReader(std::string uri, std::unique_ptr<ObjectStore> folder, v1::Manifest manifest);

  std::string uri_;
  std::unique_ptr<ObjectStore> folder_;
  v1::Manifest manifest_;
  std::vector<int> places_;  // Of the partitions, in the manifest's files.
};

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_READER_H_
