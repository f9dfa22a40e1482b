#include "cli/model/scorer.h"

#include <utility>

#include "capstan/base/status.h"

namespace capstan::cli {

absl::StatusOr<std::unique_ptr<Scorer>> Scorer::Create(const FinishedModel& model) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Network> network, Network::Create(model.job()));
  return std::unique_ptr<Scorer>(new Scorer(model, std::move(network)));
}

std::span<const float> Scorer::Logits(const Batch& batch) {
  if (model_.job().tables_size() > 0) {
    deduplicator_.Run(batch.keys, keys_);
    model_.PullRows(keys_.unique, rows_);
  }
  return network_->Forward({.labels = batch.labels,
                            .offsets = batch.offsets,
                            .index = keys_.index,
                            .values = batch.values,
                            .dense = batch.dense,
                            .rows = rows_,
                            .parameters = model_.parameters()});
}

}  // namespace capstan::cli
