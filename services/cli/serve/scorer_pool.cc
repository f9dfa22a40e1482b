#include "cli/serve/scorer_pool.h"

#include <algorithm>
#include <span>
#include <thread>
#include <utility>

#include "capstan/base/status.h"

namespace capstan::cli {

absl::StatusOr<std::unique_ptr<ScorerPool>> ScorerPool::Create(const FinishedModel& model,
                                                               size_t count) {
  std::vector<std::unique_ptr<Scorer>> scorers;
  for (size_t i = 0; i < count; ++i) {
    CAPSTAN_ASSIGN_OR_RETURN(scorers.emplace_back(), Scorer::Create(model));
  }
  return std::unique_ptr<ScorerPool>(new ScorerPool(std::move(scorers)));
}

std::unique_ptr<Scorer> ScorerPool::Take() {
  absl::MutexLock lock(&mu_);
  const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return !free_.empty(); };
  mu_.Await(absl::Condition(&any));
  std::unique_ptr<Scorer> scorer = std::move(free_.back());
  free_.pop_back();
  return scorer;
}

void ScorerPool::Give(std::unique_ptr<Scorer> scorer) {
  absl::MutexLock lock(&mu_);
  free_.push_back(std::move(scorer));
}

std::vector<float> ScorerPool::Logits(const Batch& batch) {
  std::unique_ptr<Scorer> scorer = Take();
  const std::span<const float> logits = scorer->Logits(batch);
  std::vector<float> copy(logits.begin(), logits.end());
  Give(std::move(scorer));
  return copy;
}

size_t ScorersForThisMachine(size_t threads) {
  const size_t cores = std::thread::hardware_concurrency();
  return std::max<size_t>(1, cores / std::max<size_t>(1, threads));
}

}  // namespace capstan::cli
