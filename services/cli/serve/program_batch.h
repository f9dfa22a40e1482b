// A batch in the form in which a user's program receives it: the records, and the rows of their
// keys.
#ifndef CAPSTAN_CLI_SERVE_PROGRAM_BATCH_H_
#define CAPSTAN_CLI_SERVE_PROGRAM_BATCH_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "capstan/data/formats/batch.h"
#include "cli/model/batch_rows.h"
#include "cli/model/finished_model.h"

namespace capstan::cli {

// Immutable.
class ProgramBatch {
 public:
  // Both must outlive this object. REQUIRES: the batch has at least one example.
  ProgramBatch(const FinishedModel& model, const Batch& batch);

  // Returns the parts of its message, in this order. First the numbers of the records (float32),
  // the values of their keys (float32; empty: all are 1), and where the keys of each of
  // data.features begin in the index of its table (uint64). Then for each feature the offsets
  // (uint32, examples + 1) and the weights of its keys (float32; empty: all are 1); without
  // features only the offsets of the records. Then for each table, of which there is at least one,
  // the distinct keys (uint64), the index (uint32: for each key its place among the distinct ones)
  // and the rows of the distinct keys (float32).
  std::vector<std::string_view> parts() const;

 private:
  const Batch& batch_;
  BatchRows rows_;
};

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_SERVE_PROGRAM_BATCH_H_
