// The sum of those gradients of a synchronous round that one partition has already added, so that
// it need not keep each of them until the round closes.
//
// Adding gradients before the update is bit-equal to adding them in the update: Table::Apply and
// DenseBlocks::Apply add one gradient after another to the sum of those before, and take this sum
// as the first gradient.
#ifndef CAPSTAN_STORE_ROUND_SUM_H_
#define CAPSTAN_STORE_ROUND_SUM_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "capstan/base/ids.h"
#include "capstan/store/gradient_sum.h"
#include "capstan/store/update.h"

namespace capstan {

// Thread-compatible: guarded by its partition's mutex.
class RoundSum {
 public:
  // Adds gradient.weight * gradient. Ignores versions and pulled weights: in a round nothing is
  // stale. REQUIRES: every gradient of a table has `dim` floats for each key; all gradients of a
  // block have the same length.
  void AddRows(TableId table, size_t dim, const RowGradients& gradient);
  void AddBlock(BlockId block, const BlockGradient& gradient);

  // Returns the sum as a gradient of weight 1; nullopt if nothing was added. Valid until the next
  // call that changes the object.
  std::optional<RowGradients> rows(TableId table) const;
  std::optional<BlockGradient> block(BlockId block) const;

  // Clear the sums for the next round, but keep their memory for it.
  void ClearRows();
  void ClearBlocks();

  size_t memory_bytes() const;

 private:
  struct Rows {
    absl::flat_hash_map<uint64_t, uint32_t> places;  // The index of each key in `keys`.
    std::vector<uint64_t> keys;                      // In the order of their first occurrence.
    std::vector<float> values;                       // dim floats for each key.
    std::vector<uint32_t> counts;                    // How many gradients held the key.
  };

  absl::flat_hash_map<TableId, Rows> rows_;
  absl::flat_hash_map<BlockId, std::vector<float>>
      blocks_;        // A vector is empty if nothing was added.
  KeyGroups groups_;  // Scratch.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_ROUND_SUM_H_
