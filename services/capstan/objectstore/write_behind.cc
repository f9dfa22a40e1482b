#include "capstan/objectstore/write_behind.h"

#include <algorithm>
#include <utility>

#include "capstan/base/status.h"

namespace capstan {

absl::Status WriteBehind::Append(std::string piece) {
  {
    absl::MutexLock lock(&mu_);
    CAPSTAN_RETURN_IF_ERROR(failure_);
    waiting_bytes_ += piece.size();
    waiting_.push_back(std::move(piece));
    if (std::exchange(writing_, true)) return absl::OkStatus();
  }
  work_.reset();  // The work before has nothing left to do, and is about to end.
  work_ = background_.Begin([this] { WriteWaiting(); });
  return absl::OkStatus();
}

size_t WriteBehind::waiting_bytes() const {
  absl::MutexLock lock(&mu_);
  return waiting_bytes_;
}

absl::Status WriteBehind::Flush() {
  work_.reset();  // Waits for the end of the work.
  absl::MutexLock lock(&mu_);
  return failure_;
}

void WriteBehind::WriteWaiting() {
  for (;;) {
    std::string piece;
    {
      absl::MutexLock lock(&mu_);
      writing_ = !waiting_.empty();
      if (!writing_) return;
      piece = std::move(waiting_.front());
      waiting_.pop_front();
    }
    const absl::Status status = writer_->Append(piece);
    if (status.ok() && taken_ != nullptr) *taken_ += piece.size();
    absl::MutexLock lock(&mu_);
    waiting_bytes_ -= std::min(waiting_bytes_, piece.size());
    if (status.ok()) continue;
    failure_ = status;
    DropWaiting();
  }
}

void WriteBehind::DropWaiting() {
  waiting_.clear();
  waiting_bytes_ = 0;
}

void WriteBehind::Abandon() {
  {
    absl::MutexLock lock(&mu_);
    DropWaiting();
  }
  work_.reset();
}

}  // namespace capstan
