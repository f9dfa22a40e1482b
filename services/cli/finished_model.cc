#include "cli/finished_model.h"

#include <algorithm>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/placement/placement.h"

namespace capstan::cli {

absl::StatusOr<FinishedModel> FinishedModel::Load(const std::string& uri) {
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::Open(uri));
  FinishedModel model(reader.manifest().job());
  const uint32_t partitions = model.job_.partition_count();
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(model.job_.tensors(), partitions));
  model.partitions_.resize(partitions);
  model.parameters_.resize(layout.flat_size());
  for (uint32_t i = 0; i < partitions; ++i) {
    CAPSTAN_ASSIGN_OR_RETURN(DecodedPartition decoded,
                             reader.Read(static_cast<PartitionIndex>(i), model.job_, layout));
    for (const Block& block : decoded.store->blocks().blocks()) {
      const absl::Span<const float> weights = decoded.store->blocks().Weights(block.id);
      std::copy(weights.begin(), weights.end(), model.parameters_.begin() + block.flat_offset);
    }
    model.partitions_[i] = std::move(decoded.store);
  }
  CAPSTAN_ASSIGN_OR_RETURN(model.network_, Network::Create(model.job_));
  return model;
}

void FinishedModel::PullRows(std::span<const uint64_t> keys) {
  const v1::TableSpec& table = job_.tables(0);
  rows_.resize(keys.size() * table.dim());
  for (size_t i = 0; i < keys.size(); ++i) {
    const PartitionIndex partition = PartitionOfKey(keys[i], table.seed(), job_.partition_count());
    partitions_[Raw(partition)]->tables()[0]->Pull(PackedKeys(&keys[i], 1),
                                                   &rows_[i * table.dim()]);
  }
}

std::span<const float> FinishedModel::Logits(const Batch& batch) {
  if (job_.tables_size() > 0) {
    deduplicator_.Run(batch.keys, keys_);
    PullRows(keys_.unique);
  }
  return network_->Forward({.labels = batch.labels,
                            .offsets = batch.offsets,
                            .index = keys_.index,
                            .values = batch.values,
                            .dense = batch.dense,
                            .rows = rows_,
                            .parameters = parameters_});
}

}  // namespace capstan::cli
