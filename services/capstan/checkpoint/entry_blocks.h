// Writes entries of one kind in blocks, each of which begins with the number of its entries.
#ifndef CAPSTAN_CHECKPOINT_ENTRY_BLOCKS_H_
#define CAPSTAN_CHECKPOINT_ENTRY_BLOCKS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "capstan/checkpoint/blocks.h"
#include "capstan/checkpoint/bytes.h"

namespace capstan {

// `writer` must outlive this object. Thread-compatible.
class EntryBlocks {
 public:
  EntryBlocks(BlockWriter& writer, BlockKind kind) : writer_(writer), kind_(kind) {}

  // Must be called before an entry is appended to the writer's bytes.
  void Add() {
    if (count_ == 0) {
      writer_.Begin(kind_);
      count_at_ = writer_.bytes().size();
      AppendNumber(writer_.bytes(), uint32_t{0});
    }
    ++count_;
  }

  // Ends the present block if it is long enough.
  void CutIfLong() {
    if (count_ > 0 && writer_.payload_size() >= kLongPayload) Finish();
  }

  void Finish() {
    if (count_ == 0) return;
    std::memcpy(&writer_.bytes()[count_at_], &count_, sizeof(count_));
    writer_.Finish();
    count_ = 0;
  }

 private:
  static constexpr size_t kLongPayload = (1 << 20) - (64 << 10);

  BlockWriter& writer_;
  const BlockKind kind_;
  uint32_t count_ = 0;
  size_t count_at_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_ENTRY_BLOCKS_H_
