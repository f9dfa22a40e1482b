// How the records of a task are cut into batches.
#ifndef CAPSTAN_DATA_TASKS_BATCH_CUT_H_
#define CAPSTAN_DATA_TASKS_BATCH_CUT_H_

#include <cstdint>

namespace capstan {

// Batches of `size` records, one after another; the last has what remains. A plain value.
struct BatchCut {
  uint32_t size = 1;
  // Where less than half a batch would remain, the last two batches share their records, a half
  // each. A gradient is the mean of its batch, and an asynchronous shard applies each alike: a
  // batch of one record would count as much as a whole one, and of that record alone (an AUC of
  // .685 in place of .722). And what is normalized over a batch has no variance in a batch of one
  // record, which PyTorch refuses. A task of one record is still a batch of one, and so is what
  // remains of batches of two.
  bool shares_end = false;

  uint64_t CountOf(uint64_t records) const;

  // The place of the first record of batch `k`; the end of them all where `k` is their count.
  // REQUIRES: k <= CountOf(records).
  uint64_t BeginOf(uint64_t k, uint64_t records) const;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_BATCH_CUT_H_
