// A pool of scorers of one model of towers.
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

// A new scorer is made only when all existing ones are busy, as each keeps memory for the largest
// batch that it has computed. Thread-safe.
class ScorerPool : public BatchScorer {
 public:
  // At most `most` scorers compute at a time. `model` must outlive this object. Errors as of
  // Scorer::Create. REQUIRES: most >= 1.
  static absl::StatusOr<std::unique_ptr<ScorerPool>> Create(const FinishedModel& model,
                                                            size_t most);

  // Waits for a free scorer. Never fails.
  absl::StatusOr<std::vector<float>> Logits(const Batch& batch) override;
  bool ready() const override { return true; }

 private:
  ScorerPool(const FinishedModel& model, size_t most, std::unique_ptr<Scorer> first);

  std::unique_ptr<Scorer> Take();
  void Give(std::unique_ptr<Scorer> scorer);

  const FinishedModel& model_;
  absl::Mutex mu_;
  size_t unmade_ ABSL_GUARDED_BY(mu_);  // How many scorers may still be made.
  // The one used last is at the end.
  std::vector<std::unique_ptr<Scorer>> free_ ABSL_GUARDED_BY(mu_);
};

// Returns how many scorers the cores of this process are enough for, if each computes on `threads`
// of them.
size_t ScorersForThisMachine(size_t threads);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_SCORER_POOL_H_
