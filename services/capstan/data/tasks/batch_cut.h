// How the records of a task are cut into batches.
#ifndef CAPSTAN_DATA_TASKS_BATCH_CUT_H_
#define CAPSTAN_DATA_TASKS_BATCH_CUT_H_

#include <cstdint>

namespace capstan {

// Batches of `size` records, one after another; the last has what remains. A plain value.
struct BatchCut {
  uint32_t size = 1;
  // Where one record would remain, the last two batches share their records, a half each: what is
  // normalized over a batch has no variance in a batch of one record, and PyTorch refuses that. A
  // task of one record is still a batch of one, and so is what remains of batches of two.
  bool shares_end = false;

  uint64_t CountOf(uint64_t records) const;

  // The place of the first record of batch `k`; the end of them all where `k` is their count.
  // REQUIRES: k <= CountOf(records).
  uint64_t BeginOf(uint64_t k, uint64_t records) const;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_BATCH_CUT_H_
