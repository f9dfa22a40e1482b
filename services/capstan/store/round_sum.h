// The gradients of a synchronous round that one partition has added already, so that it need not
// hold each of them until the round closes.
//
// What is added ahead of an update comes out bit-equal to what the update itself would have added:
// Table::Apply and DenseBlocks::Apply add gradient after gradient to the sum of those before it,
// and take this sum as the first of them.
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
  // Adds gradient.weight * gradient. Versions and pulled weights do not count: in a round nothing
  // is stale. REQUIRES: every gradient of a table has `dim` floats a key; every one of a block is
  // as long as the first.
  void AddRows(TableId table, size_t dim, const RowGradients& gradient);
  void AddBlock(BlockId block, const BlockGradient& gradient);

  // The sums, of weight 1; nullopt: nothing has been added. Valid until the next call that changes
  // the object.
  std::optional<RowGradients> rows(TableId table) const;
  std::optional<BlockGradient> block(BlockId block) const;

  // Begin the next round. Memory is kept for it.
  void ClearRows();
  void ClearBlocks();

  size_t memory_bytes() const;

 private:
  struct Rows {
    absl::flat_hash_map<uint64_t, uint32_t> places;  // In `keys`, by key.
    std::vector<uint64_t> keys;                      // In the order of their first occurrence.
    std::vector<float> values;                       // dim a key.
    std::vector<uint32_t> counts;                    // Gradients that held the key.
  };

  absl::flat_hash_map<TableId, Rows> rows_;
  absl::flat_hash_map<BlockId, std::vector<float>> blocks_;  // Empty: nothing has been added.
  KeyGroups groups_;                                         // Scratch.
};

}  // namespace capstan

#endif  // CAPSTAN_STORE_ROUND_SUM_H_
