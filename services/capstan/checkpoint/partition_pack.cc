#include "capstan/checkpoint/partition_pack.h"

#include <memory>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/crc32c.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"

namespace capstan {

absl::Status PartitionPack::Begin(PartitionIndex partition) {
  if (!object_) {
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer,
                             folder_.Create(PartitionFileName(partition)));
    object_.emplace(std::move(writer), background_, taken_);
  }
  v1::SavedFile& file = files_.emplace_back();
  file.set_partition(Raw(partition));
  file.set_name(PartitionFileName(PartitionIndex(files_.front().partition())));
  file.set_offset(bytes_);
  return absl::OkStatus();
}

absl::Status PartitionPack::Append(std::string piece) {
  if (piece.empty()) return absl::OkStatus();
  v1::SavedFile& file = files_.back();
  file.set_bytes(file.bytes() + piece.size());
  file.set_crc32c(Crc32c(piece, file.crc32c()));
  bytes_ += piece.size();
  return object_->Append(std::move(piece));
}

absl::Status PartitionPack::End(uint64_t rows, bool delta) {
  files_.back().set_rows(rows);
  files_.back().set_delta(delta);
  return object_->Flush();
}

absl::StatusOr<std::vector<v1::SavedFile>> PartitionPack::Commit() {
  CAPSTAN_CHECK(object_.has_value());
  if (files_.size() > 1) {
    for (v1::SavedFile& file : files_) file.set_object_bytes(bytes_);
  }
  CAPSTAN_RETURN_IF_ERROR(object_->Commit());
  return std::move(files_);
}

}  // namespace capstan
