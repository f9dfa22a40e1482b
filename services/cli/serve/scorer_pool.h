// Scorers of one model of towers, of which a few compute at a time.
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
#include "cli/serve/batch_scorer.h"

namespace capstan::cli {

// Thread-safe. A scorer is made when all that there are compute, as each keeps memory for the
// largest batch that it has computed.
class ScorerPool : public BatchScorer {
 public:
  // At most `most` compute at a time. `model` must outlive this object. Errors are Scorer's.
  // REQUIRES: most >= 1.
  static absl::StatusOr<std::unique_ptr<ScorerPool>> Create(const FinishedModel& model,
                                                            size_t most);

  // Waits for a scorer that is free. Never fails.
  absl::StatusOr<std::vector<float>> Logits(const Batch& batch) override;
  bool ready() const override { return true; }

 private:
  ScorerPool(const FinishedModel& model, size_t most, std::unique_ptr<Scorer> first);

  std::unique_ptr<Scorer> Take();
  void Give(std::unique_ptr<Scorer> scorer);

  const FinishedModel& model_;
  absl::Mutex mu_;
  size_t unmade_ ABSL_GUARDED_BY(mu_);                              // So many may still be made.
  std::vector<std::unique_ptr<Scorer>> free_ ABSL_GUARDED_BY(mu_);  // The last used is last.
};

// As many as this process has cores for, where each computes on `threads` of them.
size_t ScorersForThisMachine(size_t threads);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_SCORER_POOL_H_
