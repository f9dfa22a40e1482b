// The dense parameters of a job as blocks, and the partition of each block.
#ifndef CAPSTAN_PLACEMENT_DENSE_LAYOUT_H_
#define CAPSTAN_PLACEMENT_DENSE_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/v1/job.pb.h"
#include "google/protobuf/repeated_field.h"

namespace capstan {

// A piece of a tensor. Lengths and offsets count floats.
struct Block {
  BlockId id{};         // Index in DenseLayout::blocks().
  uint32_t tensor = 0;  // Index in the job's list of tensors.
  uint64_t offset = 0;  // Within the tensor.
  uint32_t length = 0;
  uint64_t flat_offset = 0;  // Within the flat vector of all tensors, one after another.
  PartitionIndex partition{};
  friend bool operator==(const Block&, const Block&) = default;
};

// A block is at most 1 MiB. Small models get smaller blocks, down to 64 KiB, so that they spread
// evenly.
inline constexpr uint32_t kMaxBlockFloats = 256 * 1024;
inline constexpr uint32_t kMinBlockFloats = 16 * 1024;

// Immutable after Create, therefore thread-safe.
class DenseLayout {
 public:
  // Cuts the tensors into blocks and assigns these to the partitions: largest first (ties: lower id
  // first), each to the partition with the fewest bytes so far (ties: lower index).
  // INVALID_ARGUMENT: a tensor has no elements, or too many; or there is no partition.
  static absl::StatusOr<DenseLayout> Create(
      const google::protobuf::RepeatedPtrField<v1::TensorSpec>& tensors, uint32_t partition_count);

  // In the order of their ids, which is the order of the flat vector.
  const std::vector<Block>& blocks() const { return blocks_; }
  const Block& block(BlockId id) const { return blocks_[Raw(id)]; }
  bool contains(BlockId id) const { return Raw(id) < blocks_.size(); }

  // The blocks of a partition, in order of their ids. REQUIRES: partition < partition_count.
  absl::Span<const BlockId> blocks_of(PartitionIndex partition) const;

  // The total number of floats of all tensors, and the offset of a tensor in the flat vector.
  uint64_t flat_size() const { return tensor_offsets_.back(); }
  uint64_t tensor_offset(uint32_t tensor) const { return tensor_offsets_[tensor]; }

  uint32_t partition_count() const { return static_cast<uint32_t>(by_partition_.size()); }

 private:
  DenseLayout() = default;
  void Cut(uint32_t tensor, uint64_t floats, uint32_t largest_block);
  void Assign();

  std::vector<Block> blocks_;
  std::vector<std::vector<BlockId>> by_partition_;
  std::vector<uint64_t> tensor_offsets_ = {0};  // By tensor; the last element is the total size.
};

}  // namespace capstan

#endif  // CAPSTAN_PLACEMENT_DENSE_LAYOUT_H_
