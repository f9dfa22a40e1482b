#include "cli/model/scorer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"

namespace capstan::cli {

absl::StatusOr<std::unique_ptr<Scorer>> Scorer::Create(const FinishedModel& model) {
  if (const std::string& program = model.job().model().user(); !program.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "this model is computed by the user's own program, ", program,
        ", and not by capstan; `python3 -m capstan_ps.predict MODEL DATA --program ", program,
        "` writes its scores, `python3 -m capstan_ps.export` files for other engines, "
        "and `capstan serve --program` has the program answer"));
  }
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<Network> network, Network::Create(model.job()));
  return std::unique_ptr<Scorer>(new Scorer(model, std::move(network)));
}

std::span<const float> Scorer::Logits(const Batch& batch) {
  rows_.Pull(batch);
  features_.clear();
  for (size_t i = 0; i < rows_.begins().size(); ++i) {
    const Bags& bags = batch.features[i];
    features_.push_back(
        {.offsets = bags.offsets, .begin = rows_.begins()[i], .weights = bags.weights});
  }
  tables_.clear();
  for (const BatchRows::OfTable& table : rows_.tables()) {
    tables_.push_back({.index = table.keys.index, .rows = table.rows});
  }
  return network_->Forward({.labels = batch.labels,
                            .offsets = batch.offsets,
                            .index = rows_.tables()[0].keys.index,
                            .values = batch.values,
                            .dense = batch.dense,
                            .rows = rows_.tables()[0].rows,
                            .parameters = model_.parameters(),
                            .features = features_,
                            .tables = tables_});
}

}  // namespace capstan::cli
