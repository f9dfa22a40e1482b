// Defines how the records of a task are cut into batches.
#ifndef CAPSTAN_DATA_TASKS_BATCH_CUT_H_
#define CAPSTAN_DATA_TASKS_BATCH_CUT_H_

#include <cstdint>

namespace capstan {

// Cuts the records of a task into batches of `size` consecutive records; the last batch has the
// remainder. A value type.
struct BatchCut {
  uint32_t size = 1;
  // If less than half a batch would remain, the last two batches share their records equally. A
  // gradient is the mean over its batch, and an asynchronous shard applies all gradients alike: a
  // batch of one record would have as much effect as a whole batch (measured: an AUC of .685
  // instead of .722). Also, batch norm has no variance over a batch of one record, which PyTorch
  // refuses. A batch of one record is still possible if the task has only one record, or if `size`
  // is 2.
  bool shares_end = false;

  uint64_t CountOf(uint64_t records) const;

  // Returns the index of the first record of batch `k`; for `k` == CountOf(records), `records`.
  // REQUIRES: k <= CountOf(records).
  uint64_t BeginOf(uint64_t k, uint64_t records) const;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_BATCH_CUT_H_
