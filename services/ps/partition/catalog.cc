#include "ps/partition/catalog.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/placement/placement.h"

namespace capstan::ps {
namespace {

v1::JobSpec WhatShardsUse(const v1::JobSpec& job) {
  v1::JobSpec used;
  used.set_seed(job.seed());
  used.set_partition_count(job.partition_count());
  used.set_replicas(job.replicas());
  *used.mutable_dense_update() = job.dense_update();
  *used.mutable_sparse_update() = job.sparse_update();
  *used.mutable_tables() = job.tables();
  *used.mutable_tensors() = job.tensors();
  used.mutable_train()->set_batch_size(job.train().batch_size());
  used.mutable_train()->set_sum_loss(job.train().sum_loss());
  return used;
}

}  // namespace

absl::StatusOr<Catalog> Catalog::Create(const v1::JobSpec& job) {
  CAPSTAN_ASSIGN_OR_RETURN(DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  return Catalog(WhatShardsUse(job), std::move(layout));
}

bool Catalog::IsOf(const v1::JobSpec& job) const {
  return job_.SerializeAsString() == WhatShardsUse(job).SerializeAsString();
}

Catalog::Catalog(const v1::JobSpec& job, DenseLayout layout)
    : job_(job), layout_(std::move(layout)) {}

const v1::TableSpec* Catalog::FindTable(uint32_t id) const {
  // Usually tables are numbered in their order in the job.
  if (id < static_cast<uint32_t>(job_.tables_size())) {
    const v1::TableSpec& likely = job_.tables(static_cast<int>(id));
    if (likely.id() == id) return &likely;
  }
  for (const v1::TableSpec& table : job_.tables()) {
    if (table.id() == id) return &table;
  }
  return nullptr;
}

absl::Status Catalog::CheckDtype(v1::Dtype dtype) const {
  if (v1::Dtype_IsValid(dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("dtype: ", int{dtype}, " is unknown"));
}

absl::Status Catalog::CheckPartition(uint32_t partition) const {
  if (partition < job_.partition_count()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("there is no partition ", partition, ": the job has ", job_.partition_count()));
}

absl::Status Catalog::CheckPartitions(absl::Span<const wire::PartitionPart> parts) const {
  std::vector<bool> seen(job_.partition_count());
  for (const wire::PartitionPart& part : parts) {
    if (part.partition >= seen.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("partitions: ", part.partition, " is none of ", seen.size()));
    }
    if (seen[part.partition]) {
      return absl::InvalidArgumentError(
          absl::StrCat("partitions: ", part.partition, " comes twice"));
    }
    seen[part.partition] = true;
  }
  return absl::OkStatus();
}

absl::StatusOr<const v1::TableSpec*> Catalog::CheckTable(uint32_t id,
                                                         const wire::Bytes& keys) const {
  const v1::TableSpec* table = FindTable(id);
  if (table == nullptr) return absl::NotFoundError(absl::StrCat("no table ", id));
  if (keys.empty() || keys.size() % sizeof(uint64_t) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("table ", table->name(), ": keys of ", keys.size(), " bytes, 8 make one"));
  }
  return table;
}

absl::Status Catalog::CheckKeys(const v1::TableSpec& table, PackedKeys keys,
                                uint32_t partition) const {
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto home =
        static_cast<uint32_t>(Raw(PartitionOfKey(keys[i], table.seed(), job_.partition_count())));
    if (home != partition) {
      return absl::FailedPreconditionError(absl::StrCat("table ", table.name(), ": key ", keys[i],
                                                        " belongs to partition ", home, ", not ",
                                                        partition));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<const Block*> Catalog::CheckBlock(uint32_t id, uint32_t partition) const {
  if (!layout_.contains(BlockId{id})) return absl::NotFoundError(absl::StrCat("no block ", id));
  const Block& block = layout_.block(BlockId{id});
  if (static_cast<uint32_t>(Raw(block.partition)) == partition) return &block;
  return absl::NotFoundError(
      absl::StrCat("block ", id, " is in partition ", Raw(block.partition), ", not ", partition));
}

}  // namespace capstan::ps
