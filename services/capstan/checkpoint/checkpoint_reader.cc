#include "capstan/checkpoint/checkpoint_reader.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"

namespace capstan {
namespace {

absl::Status About(const std::string& uri, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(uri, ": ", status.message()));
}

// An object that a manifest or a chain names, but that is not in the store, is lost: turns
// NOT_FOUND into DATA_LOSS.
absl::Status AsLoss(const std::string& uri, const absl::Status& status) {
  const absl::Status about = About(uri, status);
  return absl::IsNotFound(about) ? absl::DataLossError(about.message()) : about;
}

absl::Status Differs(absl::string_view what, uint64_t stored, uint64_t wanted) {
  if (stored == wanted) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the checkpoint's ", what, " is ", stored, ", the job's ", wanted));
}

}  // namespace

absl::StatusOr<CheckpointReader::Link> CheckpointReader::OpenLink(const std::string& uri,
                                                                  const StoreOpener& open) {
  Link link{.uri = uri};
  CAPSTAN_ASSIGN_OR_RETURN(link.folder, open(uri));
  absl::StatusOr<v1::Manifest> manifest = ReadManifest(*link.folder);
  if (!manifest.ok()) return About(uri, manifest.status());
  link.manifest = *std::move(manifest);
  link.places.resize(static_cast<size_t>(link.manifest.files_size()));
  for (int i = 0; i < link.manifest.files_size(); ++i) {
    link.places[link.manifest.files(i).partition()] = i;
  }
  return link;
}

absl::StatusOr<CheckpointReader> CheckpointReader::Open(const std::string& uri,
                                                        const StoreOpener& open) {
  CheckpointReader reader;
  CAPSTAN_ASSIGN_OR_RETURN(Link first, OpenLink(uri, open));
  reader.links_.push_back(std::move(first));
  while (!reader.links_.back().manifest.parent().empty()) {
    const std::string& parent = reader.links_.back().manifest.parent();
    if (!CheckObjectKey(parent).ok() || absl::StrContains(parent, "/")) {
      return absl::DataLossError(absl::StrCat(uri, ": its parent is no checkpoint: ", parent));
    }
    if (reader.links_.size() == kMaxChain) {
      return absl::DataLossError(absl::StrCat(uri, ": a chain of more than ", kMaxChain));
    }
    absl::StatusOr<Link> opened = OpenLink(CheckpointBeside(uri, parent), open);
    if (!opened.ok()) return AsLoss(uri, opened.status());
    Link link = *std::move(opened);
    if (link.manifest.job().partition_count() != reader.manifest().job().partition_count()) {
      return absl::DataLossError(absl::StrCat(link.uri, ": has another number of partitions"));
    }
    reader.links_.push_back(std::move(link));
  }
  return reader;
}

absl::Status CheckpointReader::CheckJob(const v1::JobSpec& job) const {
  const v1::JobSpec& stored = manifest().job();
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

absl::StatusOr<size_t> CheckpointReader::LinksOf(PartitionIndex partition) const {
  for (size_t i = 0; i < links_.size(); ++i) {
    if (!links_[i].file(partition).delta()) return i + 1;
  }
  return absl::DataLossError(
      absl::StrCat(links_.front().uri, ": partition ", Raw(partition), " is nowhere stored whole"));
}

absl::StatusOr<DecodedPartition> CheckpointReader::Read(PartitionIndex partition,
                                                        const v1::JobSpec& job,
                                                        const DenseLayout& layout,
                                                        SlabArena* arena) const {
  CAPSTAN_ASSIGN_OR_RETURN(size_t at, LinksOf(partition));
  const Link& whole = links_[--at];
  absl::StatusOr<DecodedPartition> decoded =
      ReadPartitionFile(*whole.folder, whole.file(partition), job, layout, arena);
  if (!decoded.ok()) return AsLoss(whole.uri, decoded.status());
  while (at-- > 0) {
    const Link& link = links_[at];
    CAPSTAN_RETURN_IF_ERROR(AsLoss(link.uri, ReadDeltaFile(*link.folder, link.file(partition), job,
                                                           link.manifest.parent(), *decoded)));
  }
  return decoded;
}

uint64_t CheckpointReader::bytes_of(PartitionIndex partition) const {
  uint64_t bytes = 0;
  for (const Link& link : links_) {
    bytes += link.file(partition).bytes();
    if (!link.file(partition).delta()) break;
  }
  return bytes;
}

}  // namespace capstan
