#include "chief/work/bad_record_count.h"

#include <algorithm>

namespace capstan::chief {
namespace {

constexpr size_t kExamples = 10;

}  // namespace

void BadRecordCount::Add(const TaskBadRecords& task) {
  uint64_t& of_epoch = epochs_[task.epoch];
  of_epoch += task.count;
  most_ = std::max(most_, of_epoch);
  for (const std::string& example : task.examples) {
    const bool known = std::find(examples_.begin(), examples_.end(), example) != examples_.end();
    if (!known && examples_.size() < kExamples) examples_.push_back(example);
  }
}

void BadRecordCount::Save(uint32_t epochs_done, v1::TaskProgress& progress) const {
  if (most_ == 0) return;
  v1::BadRecordProgress& saved = *progress.mutable_bad_records();
  saved.set_most(most_);
  for (auto epoch = epochs_.lower_bound(epochs_done); epoch != epochs_.end(); ++epoch) {
    (*saved.mutable_epochs())[epoch->first] = epoch->second;
  }
  saved.mutable_examples()->Assign(examples_.begin(), examples_.end());
}

void BadRecordCount::Restore(const v1::TaskProgress& progress) {
  const v1::BadRecordProgress& saved = progress.bad_records();
  most_ = saved.most();
  epochs_ = {saved.epochs().begin(), saved.epochs().end()};
  examples_.assign(saved.examples().begin(), saved.examples().end());
}

}  // namespace capstan::chief
