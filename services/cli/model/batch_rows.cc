#include "cli/model/batch_rows.h"

#include <algorithm>

#include "capstan/model/layout.h"

namespace capstan::cli {

BatchRows::BatchRows(const FinishedModel& model)
    : model_(model),
      table_of_feature_(TablesOfFeatures(model.job())),
      begins_(table_of_feature_.size()),
      tables_(static_cast<size_t>(std::max(1, model.job().tables_size()))) {}

void BatchRows::Pull(const Batch& batch) {
  for (size_t table = 0; table < tables_.size(); ++table) {
    OfTable& of = tables_[table];
    deduplicator_.Run(KeysOf(batch, table), of.keys);
    if (model_.job().tables().empty()) continue;
    model_.PullRows(static_cast<int>(table), of.keys.unique, of.rows);
  }
}

const std::vector<uint64_t>& BatchRows::KeysOf(const Batch& batch, size_t table) {
  if (begins_.empty()) return batch.keys;
  gathered_.clear();
  for (size_t i = 0; i < begins_.size(); ++i) {
    if (table_of_feature_[i] != table) continue;
    const std::vector<uint64_t>& keys = batch.features[i].keys;
    begins_[i] = gathered_.size();
    gathered_.insert(gathered_.end(), keys.begin(), keys.end());
  }
  return gathered_;
}

}  // namespace capstan::cli
