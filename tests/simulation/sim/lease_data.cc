// LeaseCalls: what a lease reads, which shards that needs, and what has come of it.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "absl/time/time.h"
#include "capstan/model/auc.h"
#include "tests/simulation/sim/lease_calls.h"

namespace capstan::sim {
namespace {

constexpr absl::Duration kShortestRead = absl::Microseconds(100);
constexpr absl::Duration kLongestRead = absl::Milliseconds(20);
constexpr double kUnreadable = 0.3;  // Of reads of an evaluation whose data fail.

}  // namespace

void LeaseCalls::Do(const worker::ReadBatch& action) {
  reads_.push_back(action.batch);
  ServeReads();
}

void LeaseCalls::ServeReads() {
  if (reads_.empty() || read_under_way_) return;
  const std::optional<Feed::Item> item = feed_.At(reads_.front());
  if (!item) return;
  read_under_way_ = true;
  absl::Duration wait = cast_.schedule().Between(kShortestRead, kLongestRead);
  if (trainer_.data_come > Now()) wait += trainer_.data_come - Now();
  if (wait == absl::InfiniteDuration()) return;
  if (evaluates() && cast_.job().options().eval_fails && cast_.schedule().Chance(kUnreadable)) {
    return FailToRead(wait);
  }
  Later(wait, [this, item] {
    const uint64_t number = reads_.front();
    reads_.pop_front();
    read_under_way_ = false;
    if (item->end) {
      events_->Deliver(worker::EndOfData{item->batches});
    } else {
      auto step = std::make_shared<Step>();
      step->batch = item->batch;
      steps_[number] = step;
      events_->Deliver(
          worker::BatchRead{.batch = number,
                            .examples = static_cast<uint32_t>(item->batch.records.size()),
                            .shards = PlanOf(item->batch),
                            .stream = StreamId::Task(item->batch.name.epoch, item->batch.name.task),
                            .seq = item->batch.name.seq,
                            .bytes = 1});
    }
    ServeReads();
  });
}

void LeaseCalls::FailToRead(absl::Duration wait) {
  if (cast_.lie() == Lie::kSilentFailure) return;
  const bool for_all = cast_.schedule().Chance(0.5);
  Later(wait, [this, for_all] {
    const char* const why = "eval.libsvm: cannot be read";
    events_->OnReadFailed(for_all ? absl::DataLossError(why) : absl::UnavailableError(why));
    trainer_.wake();
  });
}

std::vector<ShardIndex> LeaseCalls::PlanOf(const NamedBatch& batch) const {
  std::vector<ShardIndex> shards;
  for (uint32_t shard : ShardsOf(cast_.job(), batch, trainer_.view)) {
    shards.push_back(static_cast<ShardIndex>(shard));
  }
  return shards;
}

std::vector<worker::BatchRead> LeaseCalls::Replan() {
  std::vector<worker::BatchRead> replanned;
  for (const auto& [number, step] : steps_) {
    replanned.push_back({.batch = number, .shards = PlanOf(step->batch)});
  }
  return replanned;
}

bool LeaseCalls::Needs(uint64_t batch, ShardIndex shard) const {
  const auto step = steps_.find(batch);
  if (step == steps_.end()) return false;
  const std::vector<ShardIndex> shards = PlanOf(step->second->batch);
  return std::find(shards.begin(), shards.end(), shard) != shards.end();
}

void LeaseCalls::ReadToEnd(uint64_t batches) {
  read_to_end_ = batches;
  EndIfRead();
}

void LeaseCalls::EndIfRead() {
  if (read_to_end_ && feed_.At(*read_to_end_)) events_->OnReadToEnd(absl::OkStatus());
}

void LeaseCalls::Extend(const v1::Lease& lease) {
  feed_.Extend(lease);
  ServeReads();
  EndIfRead();
}

void LeaseCalls::AddResults(v1::LeaseReport& report) const {
  if (cast_.lie() == Lie::kLoseBadRecords && lease_.first_batch() > 0) report.clear_bad_records();
  if (cast_.lie() == Lie::kLoseTask && report.returned()) {
    report.clear_returned();
    report.set_finished(true);
    report.set_total_examples(feed_.OnlyTask().examples);
  }
  if (!evaluates() || !report.finished()) return;
  v1::EvaluationResult& result = *report.mutable_evaluation();
  result.set_examples(2);
  result.set_loss_sum(1);
  result.mutable_positives()->Resize(kLogitBins, 0);
  result.mutable_negatives()->Resize(kLogitBins, 0);
  result.set_positives(kLogitBins - 1, 1);
  result.set_negatives(0, 1);
}

}  // namespace capstan::sim
