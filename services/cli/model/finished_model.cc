#include "cli/model/finished_model.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/placement/placement.h"
#include "cli/model/exported_model.h"
#include "cli/model/read_weights.h"

namespace capstan::cli {
namespace {

// A training job deletes a checkpoint when there are as many newer ones as it keeps.
absl::Status WhyNotRead(ObjectStore& folder, const std::string& uri, const absl::Status& error) {
  if (!absl::IsNotFound(ReadManifest(folder).status())) return error;
  return absl::NotFoundError(
      absl::StrCat(uri, ": has been deleted while it was read, as the job has newer checkpoints; ",
                   "let it keep them for longer than reading one takes: raise checkpoint.keep"));
}

}  // namespace

absl::StatusOr<FinishedModel> FinishedModel::Load(const std::string& uri, Refusal refusal) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder, OpenObjectStore(uri));
  if (IsExportedModel(*folder)) {
    CAPSTAN_ASSIGN_OR_RETURN(v1::JobSpec exported, ReadExportedJob(*folder));
    CAPSTAN_RETURN_IF_ERROR(refusal(exported));
    CAPSTAN_ASSIGN_OR_RETURN(ImportedModel imported,
                             ImportModel(*folder, uri, std::move(exported)));
    return FinishedModel(std::move(imported.job), std::move(imported.partitions));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::Open(uri));
  const v1::JobSpec& job = reader.manifest().job();
  CAPSTAN_RETURN_IF_ERROR(refusal(job));
  auto partitions = ReadWeights(reader);
  if (!partitions.ok()) return WhyNotRead(*folder, uri, partitions.status());
  return FinishedModel(job, *std::move(partitions));
}

FinishedModel::FinishedModel(v1::JobSpec job,
                             std::vector<std::unique_ptr<PartitionStore>> partitions)
    : job_(std::move(job)), partitions_(std::move(partitions)) {
  for (const std::unique_ptr<PartitionStore>& partition : partitions_) {
    for (const Block& block : partition->blocks().blocks()) {
      const absl::Span<const float> weights = partition->blocks().Weights(block.id);
      const size_t end = block.flat_offset + block.length;
      if (parameters_.size() < end) parameters_.resize(end);
      std::copy(weights.begin(), weights.end(), parameters_.begin() + block.flat_offset);
    }
  }
}

void FinishedModel::PullRows(int table, std::span<const uint64_t> keys,
                             std::vector<float>& rows) const {
  const v1::TableSpec& spec = job_.tables(table);
  rows.resize(keys.size() * spec.dim());
  for (size_t i = 0; i < keys.size(); ++i) {
    const PartitionIndex partition = PartitionOfKey(keys[i], spec.seed(), job_.partition_count());
    partitions_[Raw(partition)]->tables()[static_cast<size_t>(table)]->Pull(PackedKeys(&keys[i], 1),
                                                                            &rows[i * spec.dim()]);
  }
}

}  // namespace capstan::cli
