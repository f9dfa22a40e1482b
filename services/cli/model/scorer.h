// Computes the scores of records with a finished model.
#ifndef CAPSTAN_CLI_MODEL_SCORER_H_
#define CAPSTAN_CLI_MODEL_SCORER_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/data/formats/batch.h"
#include "capstan/model/network.h"
#include "cli/model/batch_rows.h"
#include "cli/model/finished_model.h"

namespace capstan::cli {

// Uses the parameters of the model, and keeps memory for the largest batch that it has computed.
// Thread-compatible: to score on several threads, make one for each.
class Scorer {
 public:
  // `model` must outlive this object. INVALID_ARGUMENT: the model's towers and tensors do not
  // agree; FAILED_PRECONDITION: it has no towers, as a user's program computes it.
  static absl::StatusOr<std::unique_ptr<Scorer>> Create(const FinishedModel& model);

  // Returns the logits, model.outputs for each example; valid until the next call.
  std::span<const float> Logits(const Batch& batch);

 private:
  Scorer(const FinishedModel& model, std::unique_ptr<Network> network)
      : model_(model), network_(std::move(network)), rows_(model) {}

  const FinishedModel& model_;
  const std::unique_ptr<Network> network_;
  BatchRows rows_;
  // What is handed to the network of data.features.
  std::vector<FeatureKeys> features_;
  std::vector<TableRows> tables_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_SCORER_H_
