// The member functions of Partition for copies.
#include <optional>
#include <string>

#include "ps/partition/partition.h"
#include "ps/partition/traced.h"

namespace capstan::ps {

std::optional<PartitionCopy> Partition::BeginCopy(const CopyOrder& order, absl::Time now) {
  absl::MutexLock lock(&mu_);
  if (store_ == nullptr || machine_.timeline() != order.timeline || standby_) return std::nullopt;
  FlushForCopy(now);
  PartitionCopy copy{machine_.Snapshot(), copy_.Begin(order.parent)};
  if (order.move != ViewEpoch{}) TraceCloned(index_, order.move, /*delta=*/!order.parent.empty());
  if (!order.checkpoint.empty()) TraceMarked(index_, order.checkpoint);
  // Training continues after this copy, so the shard does not leave with an earlier one.
  if (!order.close) machine_.Reopen();
  closed_by_copy_ = order.close && machine_.Close();
  return copy;
}

bool Partition::ReadCopy(absl::FunctionRef<void(PartitionStore&)> read) {
  absl::MutexLock lock(&mu_);
  if (!copy_.reading()) return false;
  read(*store_);
  return true;
}

void Partition::EndCopy(absl::Time now) {
  absl::MutexLock lock(&mu_);
  EndCopyLocked(now);
}

void Partition::EndCopyLocked(absl::Time now) {
  if (!copy_.End() || !machine_.held_back()) return;
  CarryOut(machine_.GoOn(), now);
  backup_.TellHeld(false);
  CatchUpLocked(now);
}

void Partition::SettleCopy(const std::string& id, absl::Time now) {
  absl::MutexLock lock(&mu_);
  EndCopyLocked(now);
  // A partition that an earlier copy has closed stays closed: its shard may leave with that copy.
  if (copy_.Settle(id) && id.empty() && closed_by_copy_) machine_.Reopen();
}

void Partition::HoldBackIfFull() {
  if (machine_.held_back() || !copy_.full()) return;
  machine_.HoldBack();
  backup_.TellHeld(true);
  context_.metrics.CountHeldBack();
}

}  // namespace capstan::ps
