#include "capstan/store/round_sum.h"

#include "capstan/optim/vector_math.h"

namespace capstan {

void RoundSum::AddRows(TableId table, size_t dim, const RowGradients& gradient) {
  Rows& sum = rows_[table];
  // The values of duplicate keys within the gradient are added first; then the gradient's weight is
  // applied once.
  const RowGradients unweighed = {.keys = gradient.keys, .values = gradient.values, .pulled = {}};
  groups_.Build({&unweighed, 1});
  for (size_t group = 0; group < groups_.size(); ++group) {
    const uint64_t key = groups_.key(group);
    const void* const values = groups_.Sum(group, /*weights=*/nullptr, dim, UpdateContext());
    const auto [place, is_new] =
        sum.places.try_emplace(key, static_cast<uint32_t>(sum.keys.size()));
    if (is_new) {
      sum.keys.push_back(key);
      sum.counts.push_back(1);
      sum.values.resize(sum.values.size() + dim);
      Scale(gradient.weight, values, &sum.values[place->second * dim], dim);
    } else {
      ++sum.counts[place->second];
      AddScaled(gradient.weight, values, &sum.values[place->second * dim], dim);
    }
  }
}

void RoundSum::AddBlock(BlockId block, const BlockGradient& gradient) {
  std::vector<float>& sum = blocks_[block];
  const size_t length = gradient.values.size();
  if (sum.empty()) {
    sum.resize(length);
    Scale(gradient.weight, gradient.values.at(0), sum.data(), length);
  } else {
    AddScaled(gradient.weight, gradient.values.at(0), sum.data(), length);
  }
}

std::optional<RowGradients> RoundSum::rows(TableId table) const {
  const auto found = rows_.find(table);
  if (found == rows_.end() || found->second.keys.empty()) return std::nullopt;
  const Rows& sum = found->second;
  RowGradients rows = {
      .keys = sum.keys, .values = PackedFloats(sum.values.data(), sum.values.size()), .pulled = {}};
  rows.counts = sum.counts;
  return rows;
}

std::optional<BlockGradient> RoundSum::block(BlockId block) const {
  const auto found = blocks_.find(block);
  if (found == blocks_.end() || found->second.empty()) return std::nullopt;
  return BlockGradient{.values = PackedFloats(found->second.data(), found->second.size()),
                       .pulled = {}};
}

void RoundSum::ClearRows() {
  for (auto& [table, sum] : rows_) {
    sum.places.clear();
    sum.keys.clear();
    sum.values.clear();
    sum.counts.clear();
  }
}

void RoundSum::ClearBlocks() {
  for (auto& [block, sum] : blocks_) sum.clear();
}

size_t RoundSum::memory_bytes() const {
  size_t bytes = 0;
  for (const auto& [table, sum] : rows_) {
    constexpr size_t kPlace = sizeof(std::pair<uint64_t, uint32_t>) + 1;
    bytes += sum.places.capacity() * kPlace + sum.keys.capacity() * sizeof(uint64_t) +
             sum.values.capacity() * sizeof(float) + sum.counts.capacity() * sizeof(uint32_t);
  }
  for (const auto& [block, sum] : blocks_) bytes += sum.capacity() * sizeof(float);
  return bytes;
}

}  // namespace capstan
