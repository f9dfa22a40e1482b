// So many scorers of one model as the machine computes at a time.
#ifndef CAPSTAN_CLI_SERVE_SCORER_POOL_H_
#define CAPSTAN_CLI_SERVE_SCORER_POOL_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "capstan/data/formats/batch.h"
#include "cli/model/finished_model.h"
#include "cli/model/scorer.h"

namespace capstan::cli {

// Thread-safe.
class ScorerPool {
 public:
  // `model` must outlive this object. Errors are Scorer's. REQUIRES: count >= 1.
  static absl::StatusOr<std::unique_ptr<ScorerPool>> Create(const FinishedModel& model,
                                                            size_t count);

  // The logits of the batch; waits for a scorer that is free.
  std::vector<float> Logits(const Batch& batch);

 private:
  explicit ScorerPool(std::vector<std::unique_ptr<Scorer>> scorers) : free_(std::move(scorers)) {}

  std::unique_ptr<Scorer> Take();
  void Give(std::unique_ptr<Scorer> scorer);

  absl::Mutex mu_;
  std::vector<std::unique_ptr<Scorer>> free_ ABSL_GUARDED_BY(mu_);  // The last used is last.
};

// As many as the machine has cores for, where each computes on `threads` of them.
size_t ScorersForThisMachine(size_t threads);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_SCORER_POOL_H_
