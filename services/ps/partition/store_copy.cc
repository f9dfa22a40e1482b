#include "ps/partition/store_copy.h"

#include <utility>

namespace capstan::ps {

void StoreCopy::Reset(PartitionStore* store, std::string base) {
  store_ = store;
  base_ = std::move(base);
  stage_ = Stage::kNone;
  CountKept();
}

std::string StoreCopy::Begin(const std::string& parent) {
  const bool changes_known = parent == base_ && store_->changes_known();
  std::string changes_to = changes_known ? parent : "";
  store_->Mark(/*changes_only=*/!changes_to.empty());
  stage_ = Stage::kReading;
  return changes_to;
}

void StoreCopy::CountKept() {
  const auto bytes = reading() ? static_cast<int64_t>(store_->kept_bytes()) : 0;
  kept_.Add(bytes - counted_bytes_);
  counted_bytes_ = bytes;
}

bool StoreCopy::End() {
  if (stage_ != Stage::kReading) return false;
  stage_ = Stage::kRead;
  store_->Unmark();
  CountKept();
  return true;
}

bool StoreCopy::Settle(const std::string& id) {
  if (stage_ != Stage::kRead) return false;
  stage_ = Stage::kNone;
  store_->SettleMark(/*safe=*/!id.empty());
  if (!id.empty()) base_ = id;
  return true;
}

}  // namespace capstan::ps
