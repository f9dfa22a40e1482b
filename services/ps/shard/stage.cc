#include "ps/shard/stage.h"

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"

namespace capstan::ps {

absl::Status StageWork::Run(Shard& shard, const MoveName& name) {
  const v1::JobSpec& job = shard.catalog().job();
  const std::string base = absl::StrCat("move-", name.id.term, "-", name.id.n);
  if (rest && !IsFullPartition(file)) return ApplyDelta(file, job, base, partition);
  CAPSTAN_ASSIGN_OR_RETURN(partition, DecodePartition(file, job, shard.catalog().layout(),
                                                      name.partition, &shard.slabs()));
  return absl::OkStatus();
}

absl::Status Stage::Take(const v1::TakePartitionRequest& piece, MemoryBudget& memory,
                         bool always_fits) {
  CAPSTAN_RETURN_IF_ERROR(failure_);
  if (piece.rest() && !copy_.complete()) {
    return absl::OutOfRangeError("the copy has not come, of which this is the rest");
  }
  ReceivedFile& file = piece.rest() ? rest_ : copy_;
  const FilePiece taken = {.offset = piece.offset(),
                           .bytes = piece.piece(),
                           .last = piece.last(),
                           .crc32c = piece.crc32c()};
  CAPSTAN_ASSIGN_OR_RETURN(const size_t more, file.NewIn(taken));
  if (more > 0) {
    Reservation reservation;
    if (always_fits) {
      reservation = memory.ReserveAnyway(MemoryUse::kMoves, more);
    } else {
      CAPSTAN_ASSIGN_OR_RETURN(reservation, memory.Reserve(MemoryUse::kMoves, more));
    }
    (piece.rest() ? rest_reserved_ : copy_reserved_).push_back(std::move(reservation));
  }
  const bool was_complete = file.complete();
  failure_ = file.Take(taken);
  if (failure_.ok() && piece.rest() && file.complete() && !was_complete) {
    state_ = piece;
    state_.clear_piece();
  }
  return failure_;
}

std::optional<StageWork> Stage::NextWork() {
  if (working_ || !failure_.ok()) return std::nullopt;
  StageWork work;
  if (copy_.complete() && !copy_decoded_) {
    work.file = copy_.TakeBytes();
  } else if (rest_.complete() && !rest_applied_) {
    work.file = rest_.TakeBytes();
    work.partition = std::move(partition_);
    work.rest = true;
  } else {
    return std::nullopt;
  }
  working_ = true;
  return work;
}

void Stage::End(StageWork work, const absl::Status& status) {
  working_ = false;
  failure_.Update(status);
  partition_ = std::move(work.partition);
  (work.rest ? rest_applied_ : copy_decoded_) = true;
  (work.rest ? rest_reserved_ : copy_reserved_).clear();
}

size_t Stage::bytes() const {
  const size_t decoded = partition_.store == nullptr ? 0 : partition_.store->memory_bytes();
  return decoded + (copy_decoded_ ? 0 : copy_.size()) + (rest_applied_ ? 0 : rest_.size());
}

}  // namespace capstan::ps
