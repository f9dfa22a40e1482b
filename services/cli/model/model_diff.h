// Compares two checkpoints of the same model.
#ifndef CAPSTAN_CLI_MODEL_MODEL_DIFF_H_
#define CAPSTAN_CLI_MODEL_MODEL_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/checkpoint/checkpoint_reader.h"

namespace capstan::cli {

// The differences between two models in one table (of rows) or in one tensor (of weights).
struct PartDiff {
  bool same() const { return added == 0 && removed == 0 && changed == 0 && slots_changed == 0; }

  std::string name;
  bool table = false;
  uint64_t added = 0;    // Rows that only the second model has.
  uint64_t removed = 0;  // Rows that only the first model has.
  uint64_t common = 0;
  uint64_t changed = 0;  // Common rows or weights of which a weight differs.
  // Common rows with equal weights, of which a slot, the frequency or the last touch differs;
  // common weights that are equal, of which a slot differs, or what their block has beside its
  // weights.
  uint64_t slots_changed = 0;
  double largest = 0;  // Largest difference of two weights.
};

// Returns the differences of all tables, then of all tensors, in the job's order.
// FAILED_PRECONDITION: the layouts of the two models differ. Holds one partition of each checkpoint
// in memory at a time.
absl::StatusOr<std::vector<PartDiff>> DiffCheckpoints(const CheckpointReader& first,
                                                      const CheckpointReader& second);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_MODEL_DIFF_H_
