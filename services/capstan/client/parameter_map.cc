#include "capstan/client/parameter_map.h"

#include <utility>

#include "capstan/base/status.h"

namespace capstan {

absl::StatusOr<ParameterMap> ParameterMap::Create(const v1::JobSpec& job) {
  CAPSTAN_ASSIGN_OR_RETURN(DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  std::vector<Table> tables;
  for (const v1::TableSpec& table : job.tables()) {
    tables.push_back({TableId{table.id()}, table.seed(), table.dim()});
  }
  ParameterMap map(std::move(tables), std::move(layout));
  map.FindFrozen(job);
  return map;
}

void ParameterMap::FindFrozen(const v1::JobSpec& job) {
  for (int i = 0; i < job.tensors_size(); ++i) {
    if (job.tensors(i).role() != v1::TENSOR_ROLE_FROZEN) continue;
    const auto tensor = static_cast<uint32_t>(i);
    const uint64_t begin = layout_.tensor_offset(tensor);
    frozen_.push_back({.begin = begin, .count = layout_.tensor_offset(tensor + 1) - begin});
  }
  if (frozen_.empty()) return;
  changing_.resize(partition_count());
  for (const Block& block : layout_.blocks()) {
    if (job.tensors(static_cast<int>(block.tensor)).role() == v1::TENSOR_ROLE_FROZEN) continue;
    changing_[Raw(block.partition)].push_back(block.id);
  }
}

absl::Span<const BlockId> ParameterMap::changing_blocks_of(PartitionIndex partition) const {
  return changing_.empty() ? layout_.blocks_of(partition) : changing_[Raw(partition)];
}

ParameterMap::ParameterMap(std::vector<Table> tables, DenseLayout layout)
    : tables_(std::move(tables)), layout_(std::move(layout)) {}

}  // namespace capstan
