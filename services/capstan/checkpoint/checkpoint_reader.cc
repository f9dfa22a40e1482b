#include "capstan/checkpoint/checkpoint_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"

namespace capstan {
namespace {

// What a manifest or a chain names and the store does not have is lost.
absl::Status AsLoss(const std::string& uri, const absl::Status& status) {
  if (status.ok()) return status;
  const absl::StatusCode code =
      absl::IsNotFound(status) ? absl::StatusCode::kDataLoss : status.code();
  return absl::Status(code, absl::StrCat(uri, ": ", status.message()));
}

absl::Status Differs(absl::string_view what, uint64_t stored, uint64_t wanted) {
  if (stored == wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the checkpoint's ", what, " is ", stored, ", the job's ", wanted));
}

}  // namespace

absl::StatusOr<CheckpointReader> CheckpointReader::Open(const std::string& uri) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> folder, OpenObjectStore(uri));
  absl::StatusOr<v1::Manifest> manifest = ReadManifest(*folder);
  if (!manifest.ok()) return AsLoss(uri, manifest.status());
  return CheckpointReader(uri, std::move(folder), *std::move(manifest));
}

CheckpointReader::CheckpointReader(std::string uri, std::unique_ptr<ObjectStore> folder,
                                   v1::Manifest manifest)
    : uri_(std::move(uri)), folder_(std::move(folder)), manifest_(std::move(manifest)) {
  places_.resize(static_cast<size_t>(manifest_.files_size()));
  for (int i = 0; i < manifest_.files_size(); ++i) places_[manifest_.files(i).partition()] = i;
}

absl::Status CheckpointReader::CheckJob(const v1::JobSpec& job) const {
  const v1::JobSpec& stored = manifest_.job();
  CAPSTAN_RETURN_IF_ERROR(
      Differs("partition_count", stored.partition_count(), job.partition_count()));
  CAPSTAN_RETURN_IF_ERROR(Differs("number of tables", stored.tables_size(), job.tables_size()));
  CAPSTAN_RETURN_IF_ERROR(Differs("number of tensors", stored.tensors_size(), job.tensors_size()));
  for (int i = 0; i < job.tables_size(); ++i) {
    CAPSTAN_RETURN_IF_ERROR(Differs(absl::StrCat("seed of table ", job.tables(i).name()),
                                    stored.tables(i).seed(), job.tables(i).seed()));
  }
  return absl::OkStatus();
}

absl::StatusOr<DecodedPartition> CheckpointReader::Read(PartitionIndex partition,
                                                        const v1::JobSpec& job,
                                                        const DenseLayout& layout,
                                                        SlabArena* arena) const {
  absl::StatusOr<DecodedPartition> decoded =
      ReadPartitionFile(*folder_, file(partition), job, layout, arena);
  if (!decoded.ok()) return AsLoss(uri_, decoded.status());
  return decoded;
}

uint64_t CheckpointReader::bytes_of(PartitionIndex partition) const {
  return file(partition).bytes();
}

}  // namespace capstan
