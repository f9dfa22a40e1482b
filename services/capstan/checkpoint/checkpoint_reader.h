// Reads and verifies the partitions of one checkpoint. A partition that is a delta is read through
// the chain of the checkpoint's parents, which are beside it in the same folder.
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
#include "capstan/objectstore/store_opener.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/slab_arena.h"
#include "capstan/v1/checkpoint.pb.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Thread-safe after Open.
class CheckpointReader {
 public:
  // A full checkpoint, plus the largest value of checkpoint.max_deltas.
  static constexpr size_t kMaxChain = 101;

  // `uri`: the checkpoint's folder. NOT_FOUND: it contains no checkpoint. DATA_LOSS, with the
  // object: its manifest is damaged, or one of its chain is damaged or missing.
  // FAILED_PRECONDITION: a newer version has written one of these.
  static absl::StatusOr<CheckpointReader> Open(const std::string& uri,
                                               const StoreOpener& open = OpensAnyStore());

  const v1::Manifest& manifest() const { return links_.front().manifest; }
  // How many checkpoints the chain has, including this one. The last one is the full checkpoint at
  // the beginning of the chain.
  size_t chain_length() const { return links_.size(); }

  // FAILED_PRECONDITION, with the difference: the parameters of `job` are laid out differently.
  // Compares the number of partitions, tables and tensors, and the seeds of tables; the rest is
  // compared when a partition is read.
  absl::Status CheckJob(const v1::JobSpec& job) const;

  // Reads a partition. DATA_LOSS, with object and place: a byte was changed or is missing. Other
  // errors: see DecodePartition.
  absl::StatusOr<DecodedPartition> Read(PartitionIndex partition, const v1::JobSpec& job,
                                        const DenseLayout& layout,
                                        SlabArena* arena = nullptr) const;

  // Returns how many bytes must be read for the partition. REQUIRES: the checkpoint has the
  // partition.
  uint64_t bytes_of(PartitionIndex partition) const;

 private:
  // One checkpoint of the chain.
  struct Link {
    const v1::SavedFile& file(PartitionIndex partition) const {
      return manifest.files(places[static_cast<size_t>(Raw(partition))]);
    }

    std::string uri;
    std::unique_ptr<ObjectStore> folder;
    v1::Manifest manifest;
    std::vector<int> places;  // By partition: the index of its entry in the manifest's files.
  };

  CheckpointReader() = default;
  static absl::StatusOr<Link> OpenLink(const std::string& uri, const StoreOpener& open);
  // Returns how many links, beginning with the newest, are needed to read the partition.
  absl::StatusOr<size_t> LinksOf(PartitionIndex partition) const;

  std::vector<Link> links_;
};

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_CHECKPOINT_READER_H_
