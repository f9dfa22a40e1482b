#include "capstan/checkpoint/compact.h"

#include <memory>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_reader.h"

namespace capstan {

absl::StatusOr<v1::Manifest> CompactCheckpoint(const std::string& uri, const std::string& id) {
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::Open(uri));
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder,
                           OpenObjectStore(CheckpointBeside(uri, id)));
  v1::Manifest manifest = reader.manifest();
  const v1::JobSpec& job = manifest.job();
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  manifest.set_id(id);
  manifest.clear_parent();
  manifest.clear_files();
  for (uint32_t i = 0; i < job.partition_count(); ++i) {
    const auto partition = static_cast<PartitionIndex>(i);
    CAPSTAN_ASSIGN_OR_RETURN(DecodedPartition decoded, reader.Read(partition, job, layout));
    const std::string encoded =
        EncodePartition(*decoded.store, {.partition_count = job.partition_count(),
                                         .timeline = decoded.timeline,
                                         .machine = std::move(decoded.machine)});
    CAPSTAN_ASSIGN_OR_RETURN(*manifest.add_files(), WritePartitionFile(*folder, partition, encoded,
                                                                       decoded.store->row_count()));
  }
  CAPSTAN_RETURN_IF_ERROR(WriteManifest(*folder, manifest));
  return manifest;
}

}  // namespace capstan
