#include "capstan/data/formats/deduplicate.h"

#include <algorithm>
#include <bit>

#include "capstan/base/hash.h"
#include "capstan/base/reuse.h"

namespace capstan {

void Deduplicator::Run(std::span<const uint64_t> keys, UniqueKeys& result) {
  Prepare(keys.size());
  ResizeForReuse(result.index, keys.size());
  ResizeForReuse(unique_, keys.size());
  const size_t mask = slots_.size() - 1;
  uint32_t count = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint64_t key = keys[i];
    size_t at = Mix64(key) & mask;
    while (slots_[at].round == round_ && slots_[at].key != key) at = (at + 1) & mask;
    Slot& slot = slots_[at];
    if (slot.round != round_) {
      slot = {key, round_, count};
      unique_[count++] = key;
    }
    result.index[i] = slot.place;
  }
  // Copied, because a result may be kept, and often has far fewer keys than were passed.
  ResizeForReuse(result.unique, count);
  std::copy_n(unique_.begin(), count, result.unique.begin());
}

// Empties the table: slots of earlier rounds count as free.
void Deduplicator::Prepare(size_t keys) {
  const size_t size = std::bit_ceil(std::max<size_t>(16, keys * 2));
  if (slots_.size() < size || ++round_ == 0) {
    slots_.assign(std::max(size, slots_.size()), Slot{});
    round_ = 1;
  }
}

}  // namespace capstan
