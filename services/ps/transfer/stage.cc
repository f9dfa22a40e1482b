#include "ps/transfer/stage.h"

#include "absl/strings/str_cat.h"
#include "capstan/base/failpoint.h"
#include "capstan/base/status.h"
#include "ps/transfer/move_file.h"

namespace capstan::ps {

absl::Status StageWork::Run(Shard& shard, const MoveName& name) {
  const v1::JobSpec& job = shard.catalog().job();
  if (number > 0 && !IsFullPartition(file)) {
    return ApplyDelta(file, job, MoveFileName(name.id, number - 1), partition);
  }
  CAPSTAN_ASSIGN_OR_RETURN(partition, DecodePartition(file, job, shard.catalog().layout(),
                                                      name.partition, &shard.slabs()));
  return absl::OkStatus();
}

absl::Status Stage::Turn(const v1::TakePartitionRequest& piece) {
  if (piece.file() == number_ + 1 && piece.offset() == 0 && file_.complete() && !rest_) {
    number_ = piece.file();
    rest_ = piece.rest();
    file_ = ReceivedFile();
  }
  if (piece.file() != number_) {
    return absl::OutOfRangeError(
        absl::StrCat("a piece of file ", piece.file(), " at ", piece.offset(), ": file ", number_,
                     " has come up to ", file_.size(), file_.complete() ? ", its end" : ""));
  }
  if (piece.rest() == rest_) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("file ", number_, " is said to be the rest and not to be it"));
}

absl::Status Stage::Reserve(size_t bytes, MemoryBudget& memory, bool always_fits) {
  if (bytes == 0) return absl::OkStatus();
  Reservation reservation;
  if (always_fits) {
    reservation = memory.ReserveAnyway(MemoryUse::kMoves, bytes);
  } else {
    CAPSTAN_ASSIGN_OR_RETURN(reservation, memory.Reserve(MemoryUse::kMoves, bytes));
  }
  reserved_.push_back(std::move(reservation));
  undecoded_bytes_ += bytes;
  return absl::OkStatus();
}

absl::Status Stage::Take(const v1::TakePartitionRequest& piece, MemoryBudget& memory,
                         bool always_fits) {
  CAPSTAN_RETURN_IF_ERROR(failure_);
  if (piece.file() < number_) return absl::OkStatus();  // All of that file was received.
  CAPSTAN_RETURN_IF_ERROR(Turn(piece));
  const FilePiece taken = {.offset = piece.offset(),
                           .bytes = piece.piece(),
                           .last = piece.last(),
                           .crc32c = piece.crc32c()};
  CAPSTAN_ASSIGN_OR_RETURN(const size_t more, file_.NewIn(taken));
  CAPSTAN_RETURN_IF_ERROR(Reserve(more, memory, always_fits));
  const bool was_complete = file_.complete();
  failure_ = file_.Take(taken);
  if (failure_.ok() && file_.complete() && !was_complete) Complete(piece);
  return failure_;
}

void Stage::Complete(const v1::TakePartitionRequest& last) {
  StageWork work;
  work.file = file_.TakeBytes();
  work.number = number_;
  work.rest = rest_;
  work.reserved.swap(reserved_);
  whole_.push_back(std::move(work));
  if (!rest_) return;
  state_ = last;
  state_.clear_piece();
}

std::optional<StageWork> Stage::NextWork() {
  if (working_ || !failure_.ok() || whole_.empty()) return std::nullopt;
  StageWork work = std::move(whole_.front());
  whole_.pop_front();
  work.partition = std::move(partition_);
  working_ = true;
  return work;
}

void Stage::End(StageWork work, const absl::Status& status) {
  working_ = false;
  failure_.Update(status);
  partition_ = std::move(work.partition);
  undecoded_bytes_ -= work.file.size();
  decoded_files_ = work.number + 1;
  rest_decoded_ = work.rest;
}

size_t Stage::bytes() const {
  const size_t decoded = partition_.store == nullptr ? 0 : partition_.store->memory_bytes();
  return decoded + undecoded_bytes_;
}

}  // namespace capstan::ps
