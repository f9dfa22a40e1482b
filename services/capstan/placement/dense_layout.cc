#include "capstan/placement/dense_layout.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/divide.h"
#include "capstan/base/status.h"

namespace capstan {
namespace {

constexpr uint64_t kMaxFlatFloats = uint64_t{1} << 40;
constexpr uint64_t kBlockGrain = 16;  // Blocks begin at multiples of a cache line of floats.

absl::StatusOr<uint64_t> Elements(const v1::TensorSpec& tensor) {
  uint64_t elements = 1;
  for (uint32_t extent : tensor.shape()) {
    if (extent == 0 || elements > kMaxFlatFloats / extent) {
      return absl::InvalidArgumentError(absl::StrCat("tensor ", tensor.name(), ": extent ", extent,
                                                     " of its shape is impossible"));
    }
    elements *= extent;
  }
  return elements;
}

}  // namespace

absl::StatusOr<DenseLayout> DenseLayout::Create(
    const google::protobuf::RepeatedPtrField<v1::TensorSpec>& tensors, uint32_t partition_count) {
  if (partition_count == 0) return absl::InvalidArgumentError("partition_count is 0");
  DenseLayout layout;
  layout.by_partition_.resize(partition_count);
  for (const v1::TensorSpec& tensor : tensors) {
    CAPSTAN_ASSIGN_OR_RETURN(const uint64_t floats, Elements(tensor));
    const uint64_t end = layout.flat_size() + floats;
    if (end > kMaxFlatFloats) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor ", tensor.name(), ": the model has more than 2^40 dense parameters"));
    }
    layout.tensor_offsets_.push_back(end);
  }
  const uint64_t share = DivideUp(layout.flat_size(), partition_count);
  const auto largest =
      static_cast<uint32_t>(std::clamp<uint64_t>(share, kMinBlockFloats, kMaxBlockFloats));
  for (int t = 0; t < tensors.size(); ++t) {
    layout.Cut(t, layout.tensor_offsets_[t + 1] - layout.tensor_offsets_[t], largest);
  }
  layout.Assign();
  return layout;
}

// Cuts a tensor into pieces of about equal length, rather than full ones and a remainder.
void DenseLayout::Cut(uint32_t tensor, uint64_t floats, uint32_t largest_block) {
  const uint64_t pieces = DivideUp(floats, largest_block / kBlockGrain * kBlockGrain);
  const uint64_t length = DivideUp(DivideUp(floats, pieces), kBlockGrain) * kBlockGrain;
  for (uint64_t offset = 0; offset < floats; offset += length) {
    blocks_.push_back({.id = static_cast<BlockId>(blocks_.size()),
                       .tensor = tensor,
                       .offset = offset,
                       .length = static_cast<uint32_t>(std::min(length, floats - offset)),
                       .flat_offset = tensor_offsets_[tensor] + offset});
  }
}

void DenseLayout::Assign() {
  std::vector<Block*> largest_first;
  for (Block& block : blocks_) largest_first.push_back(&block);
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const Block* a, const Block* b) { return a->length > b->length; });
  using Load = std::pair<uint64_t, uint32_t>;  // (floats, partition)
  std::priority_queue<Load, std::vector<Load>, std::greater<>> lightest;
  for (uint32_t p = 0; p < by_partition_.size(); ++p) lightest.push({0, p});
  for (Block* block : largest_first) {
    const auto [floats, partition] = lightest.top();
    lightest.pop();
    lightest.push({floats + block->length, partition});
    block->partition = static_cast<PartitionIndex>(partition);
  }
  for (const Block& block : blocks_) by_partition_[Raw(block.partition)].push_back(block.id);
}

absl::Span<const BlockId> DenseLayout::blocks_of(PartitionIndex partition) const {
  return by_partition_[Raw(partition)];
}

}  // namespace capstan
