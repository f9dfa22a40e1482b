// The rows of a finished model that the keys of a batch have.
#ifndef CAPSTAN_CLI_MODEL_BATCH_ROWS_H_
#define CAPSTAN_CLI_MODEL_BATCH_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/deduplicate.h"
#include "cli/model/finished_model.h"

namespace capstan::cli {

// Keeps memory for the largest batch. Thread-compatible.
class BatchRows {
 public:
  // `model` must outlive this object.
  explicit BatchRows(const FinishedModel& model);

  // Replaces the rows by those of `batch`.
  void Pull(const Batch& batch);

  struct OfTable {
    UniqueKeys keys;          // One feature after another, as in a training step.
    std::vector<float> rows;  // Those of the distinct keys; empty if the model has no table.
  };
  // The model's tables, or one without rows if it has none.
  const std::vector<OfTable>& tables() const { return tables_; }
  // For each of data.features where its keys begin in the index of its table.
  const std::vector<uint64_t>& begins() const { return begins_; }

 private:
  const std::vector<uint64_t>& KeysOf(const Batch& batch, size_t table);

  const FinishedModel& model_;
  const std::vector<size_t> table_of_feature_;
  std::vector<uint64_t> begins_;
  std::vector<OfTable> tables_;
  Deduplicator deduplicator_;
  std::vector<uint64_t> gathered_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_BATCH_ROWS_H_
