// In what two checkpoints of the same model differ.
#ifndef CAPSTAN_CLI_MODEL_MODEL_DIFF_H_
#define CAPSTAN_CLI_MODEL_MODEL_DIFF_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "capstan/checkpoint/checkpoint_reader.h"

namespace capstan::cli {

// What differs between two models in one table (rows) or in one tensor (weights).
struct PartDiff {
  bool same() const { return added == 0 && removed == 0 && changed == 0 && slots_changed == 0; }

  std::string name;
  bool table = false;
  uint64_t added = 0;    // Rows of the second one alone.
  uint64_t removed = 0;  // Rows of the first one alone.
  uint64_t common = 0;
  uint64_t changed = 0;        // So many of those in common have another weight.
  uint64_t slots_changed = 0;  // Another slot, frequency or last touch, but the same weights.
  double largest = 0;          // Largest difference of two weights.
};

// Tables, then tensors, in the job's order. FAILED_PRECONDITION if their models are laid out
// otherwise. One partition of each is in memory at a time.
absl::StatusOr<std::vector<PartDiff>> DiffCheckpoints(const CheckpointReader& first,
                                                      const CheckpointReader& second);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_MODEL_MODEL_DIFF_H_
