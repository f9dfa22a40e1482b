// Partition: copies for checkpoints.
#include <optional>
#include <string>

#include "ps/shard/partition.h"

namespace capstan::ps {

std::optional<PartitionCopy> Partition::BeginCopy(const CopyOrder& order, absl::Time now) {
  absl::MutexLock lock(&mu_);
  if (store_ == nullptr || machine_.timeline() != order.timeline) return std::nullopt;
  FlushForCopy(now);
  const bool changes_known = order.parent == base_ && store_->changes_known();
  PartitionCopy copy{machine_.Snapshot(), changes_known ? order.parent : ""};
  store_->Mark(/*changes_only=*/!copy.parent.empty());
  copy_ = CopyStage::kReading;
  // After this copy training goes on: nobody leaves with an earlier one.
  if (!order.close) machine_.Reopen();
  closed_by_copy_ = order.close && machine_.Close();
  return copy;
}

bool Partition::ReadCopy(absl::FunctionRef<void(PartitionStore&)> read) {
  absl::MutexLock lock(&mu_);
  if (copy_ != CopyStage::kReading) return false;
  read(*store_);
  return true;
}

void Partition::EndCopy(absl::Time now) {
  absl::MutexLock lock(&mu_);
  EndCopyLocked(now);
}

void Partition::EndCopyLocked(absl::Time now) {
  if (copy_ != CopyStage::kReading) return;
  copy_ = CopyStage::kRead;
  store_->Unmark();
  CountKept();
  if (!machine_.frozen()) return;
  CarryOut(machine_.Thaw(), now);
  TellHeld(false);
  CatchUpLocked(now);
}

void Partition::SettleCopy(const std::string& id, absl::Time now) {
  absl::MutexLock lock(&mu_);
  EndCopyLocked(now);
  if (copy_ != CopyStage::kRead) return;
  copy_ = CopyStage::kNone;
  store_->SettleMark(/*safe=*/!id.empty());
  if (!id.empty()) {
    base_ = id;
  } else if (closed_by_copy_) {  // Else an earlier copy, which its shard may leave with, has.
    machine_.Reopen();
  }
}

void Partition::HoldBackIfFull() {
  if (copy_ != CopyStage::kReading || machine_.frozen() || !context_.kept.full()) return;
  machine_.Freeze();
  TellHeld(true);
  context_.metrics.CountHeldBack();
}

void Partition::CountKept() {
  const bool reading = copy_ == CopyStage::kReading;
  const auto bytes = reading ? static_cast<int64_t>(store_->kept_bytes()) : 0;
  context_.kept.Add(bytes - kept_bytes_);
  kept_bytes_ = bytes;
}

}  // namespace capstan::ps
