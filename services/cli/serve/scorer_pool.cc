#include "cli/serve/scorer_pool.h"

#include <algorithm>
#include <span>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/metrics/process_metrics.h"

namespace capstan::cli {

absl::StatusOr<std::unique_ptr<ScorerPool>> ScorerPool::Create(const FinishedModel& model,
                                                               size_t most) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Scorer> first, Scorer::Create(model));
  return std::unique_ptr<ScorerPool>(new ScorerPool(model, most, std::move(first)));
}

ScorerPool::ScorerPool(const FinishedModel& model, size_t most, std::unique_ptr<Scorer> first)
    : model_(model), unmade_(most - 1) {
  free_.push_back(std::move(first));
}

std::unique_ptr<Scorer> ScorerPool::Take() {
  {
    absl::MutexLock lock(&mu_);
    const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
      return !free_.empty() || unmade_ > 0;
    };
    mu_.Await(absl::Condition(&any));
    if (!free_.empty()) {
      std::unique_ptr<Scorer> scorer = std::move(free_.back());
      free_.pop_back();
      return scorer;
    }
    --unmade_;
  }
  return *Scorer::Create(model_);  // Cannot fail, as the first scorer was made from this model.
}

void ScorerPool::Give(std::unique_ptr<Scorer> scorer) {
  absl::MutexLock lock(&mu_);
  free_.push_back(std::move(scorer));
}

absl::StatusOr<std::vector<float>> ScorerPool::Logits(const Batch& batch) {
  std::unique_ptr<Scorer> scorer = Take();
  const std::span<const float> logits = scorer->Logits(batch);
  std::vector<float> copy(logits.begin(), logits.end());
  Give(std::move(scorer));
  return copy;
}

size_t ScorersForThisMachine(size_t threads) {
  const auto cores = static_cast<size_t>(metrics::ProcessCpuCores());
  return std::max<size_t>(1, cores / std::max<size_t>(1, threads));
}

}  // namespace capstan::cli
