#include "capstan/objectstore/write_behind.h"

#include <utility>

#include "capstan/base/status.h"

namespace capstan {

absl::Status WriteBehind::Append(std::string piece) {
  {
    absl::MutexLock lock(&mu_);
    CAPSTAN_RETURN_IF_ERROR(failure_);
    waiting_.push_back(std::move(piece));
    if (std::exchange(writing_, true)) return absl::OkStatus();
  }
  work_.reset();  // It has nothing to do any more, and is about to end.
  work_ = background_.Begin([this] { WriteWaiting(); });
  return absl::OkStatus();
}

absl::Status WriteBehind::Flush() {
  work_.reset();  // Waits for its end.
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
    if (status.ok()) {
      if (taken_ != nullptr) *taken_ += piece.size();
      continue;
    }
    absl::MutexLock lock(&mu_);
    failure_ = status;
    waiting_.clear();
  }
}

void WriteBehind::Abandon() {
  {
    absl::MutexLock lock(&mu_);
    waiting_.clear();
  }
  work_.reset();
}

}  // namespace capstan
