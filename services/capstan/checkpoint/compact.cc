#include "capstan/checkpoint/compact.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/background.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/checkpoint_names.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/checkpoint/partition_pack.h"

namespace capstan {
namespace {

// Makes sure that nothing is written into the folder of an existing checkpoint, which may be the
// one that is being read: writing an object would replace the existing one.
absl::Status CheckFree(ObjectStore& folder, const std::string& uri) {
  const absl::Status manifest = folder.Stat(kManifestName).status();
  if (absl::IsNotFound(manifest)) return absl::OkStatus();
  CAPSTAN_RETURN_IF_ERROR(manifest);
  return absl::AlreadyExistsError(
      absl::StrCat(uri, ": there is a checkpoint of this id; expected a new one"));
}

}  // namespace

absl::StatusOr<v1::Manifest> CompactCheckpoint(const std::string& uri, const std::string& id) {
  if (!IsCheckpointName(id)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the id \"", id, "\" is no name of a checkpoint; expected <step>-<id>"));
  }
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::Open(uri));
  const std::string beside = CheckpointBeside(uri, id);
  CAPSTAN_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectStore> folder, OpenObjectStore(beside));
  CAPSTAN_RETURN_IF_ERROR(CheckFree(*folder, beside));
  v1::Manifest manifest = reader.manifest();
  const v1::JobSpec& job = manifest.job();
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(job.tensors(), job.partition_count()));
  manifest.set_id(id);
  manifest.clear_parent();
  manifest.clear_files();
  Threads threads;
  for (uint32_t i = 0; i < job.partition_count();) {
    PartitionPack pack(*folder, threads);
    for (; i < job.partition_count() && !pack.enough(); ++i) {
      const auto partition = static_cast<PartitionIndex>(i);
      CAPSTAN_ASSIGN_OR_RETURN(DecodedPartition decoded, reader.Read(partition, job, layout));
      CAPSTAN_RETURN_IF_ERROR(pack.Begin(partition));
      CAPSTAN_RETURN_IF_ERROR(
          pack.Append(EncodePartition(*decoded.store, {.partition_count = job.partition_count(),
                                                       .timeline = decoded.timeline,
                                                       .machine = std::move(decoded.machine)})));
      CAPSTAN_RETURN_IF_ERROR(pack.End(decoded.store->row_count(), /*delta=*/false));
    }
    CAPSTAN_ASSIGN_OR_RETURN(const std::vector<v1::SavedFile> files, pack.Commit());
    for (const v1::SavedFile& file : files) *manifest.add_files() = file;
  }
  CAPSTAN_RETURN_IF_ERROR(WriteManifest(*folder, manifest));
  return manifest;
}

}  // namespace capstan
