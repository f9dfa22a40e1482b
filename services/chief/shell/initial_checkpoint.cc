#include "chief/shell/initial_checkpoint.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "capstan/base/background.h"
#include "capstan/base/status.h"
#include "capstan/base/version.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/checkpoint/partition_pack.h"
#include "capstan/placement/dense_layout.h"
#include "capstan/store/partition_store.h"

namespace capstan::chief {
namespace {

absl::Status Append(const v1::JobSpec& job, const DenseLayout& layout, PartitionIndex partition,
                    absl::Span<const float> values, PartitionPack& pack) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<PartitionStore> store,
                           PartitionStore::Create(job, layout, partition));
  for (const BlockId id : layout.blocks_of(partition)) {
    const Block& block = layout.block(id);
    store->blocks().RestoreWeights(id, values.subspan(block.flat_offset, block.length));
  }
  CAPSTAN_RETURN_IF_ERROR(pack.Begin(partition));
  CAPSTAN_RETURN_IF_ERROR(pack.Append(EncodePartition(
      *store, {.partition_count = job.partition_count(), .timeline = 0, .machine = {}})));
  return pack.End(/*rows=*/0, /*delta=*/false);
}

}  // namespace

absl::Status WriteInitialCheckpoint(ObjectStore& folder, const std::string& id,
                                    const v1::JobSpec& job, absl::Span<const float> values) {
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  v1::Manifest manifest;
  manifest.set_id(id);
  *manifest.mutable_job() = job;
  manifest.set_written_by(std::string(Version()));
  manifest.set_created_unix_seconds(static_cast<uint64_t>(absl::ToUnixSeconds(absl::Now())));
  Threads background;
  for (uint32_t partition = 0; partition < job.partition_count();) {
    PartitionPack pack(folder, background);
    for (; partition < job.partition_count() && !pack.enough(); ++partition) {
      CAPSTAN_RETURN_IF_ERROR(
          Append(job, layout, static_cast<PartitionIndex>(partition), values, pack));
    }
    CAPSTAN_ASSIGN_OR_RETURN(std::vector<v1::SavedFile> files, pack.Commit());
    for (v1::SavedFile& file : files) *manifest.add_files() = std::move(file);
  }
  return capstan::WriteManifest(folder, manifest);
}

}  // namespace capstan::chief
