// Finds the distinct keys of a batch, so that a key that occurs many times is pulled and pushed
// once.
#ifndef CAPSTAN_DATA_FORMATS_DEDUPLICATE_H_
#define CAPSTAN_DATA_FORMATS_DEDUPLICATE_H_

#include <cstdint>
#include <span>
#include <vector>

namespace capstan {

struct UniqueKeys {
  std::vector<uint64_t> unique;  // In the order of their first occurrence.
  std::vector<uint32_t> index;   // keys[i] == unique[index[i]]
};

// Finds duplicates with a hash table that is kept between batches. Thread-compatible.
class Deduplicator {
 public:
  // Replaces `result`, whose memory is reused and which reserves little more than it needs.
  // REQUIRES: keys.size() < 2^31.
  void Run(std::span<const uint64_t> keys, UniqueKeys& result);

 private:
  struct Slot {
    uint64_t key;
    uint32_t round;  // The slot is in use if this is the present round.
    uint32_t place;
  };
  void Prepare(size_t keys);

  std::vector<Slot> slots_;       // A power of two, at least twice the keys.
  std::vector<uint64_t> unique_;  // As UniqueKeys::unique, with capacity for all keys.
  uint32_t round_ = 0;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_DEDUPLICATE_H_
