// Computes the scores of a served model, by Capstan's towers (ScorerPool) or by a user's program
// (ProgramPool).
#ifndef CAPSTAN_CLI_SERVE_BATCH_SCORER_H_
#define CAPSTAN_CLI_SERVE_BATCH_SCORER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/batch.h"

namespace capstan::cli {

// Thread-safe.
class BatchScorer {
 public:
  virtual ~BatchScorer() = default;

  // Returns the logits, model.outputs for each example. Waits until a scorer is free. UNAVAILABLE:
  // no scorer can compute at present. DEADLINE_EXCEEDED: computing took too long. INTERNAL: the
  // program has failed with this batch.
  virtual absl::StatusOr<std::vector<float>> Logits(const Batch& batch) = 0;

  // Returns whether there is a scorer at present.
  virtual bool ready() const = 0;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_BATCH_SCORER_H_
