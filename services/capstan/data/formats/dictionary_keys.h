// The keys of many records, encoded with dictionaries to take less memory. Keys are hashes of 8
// bytes, most of which occur many times in a column: each is stored once, and each position of the
// list refers to it with 2 bytes.
#ifndef CAPSTAN_DATA_FORMATS_DICTIONARY_KEYS_H_
#define CAPSTAN_DATA_FORMATS_DICTIONARY_KEYS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace capstan {

// Immutable, hence thread-safe.
class DictionaryKeys {
 public:
  // Returns `keys`, whose position i belongs to column i % `columns`, in packed form; nullopt if
  // that would save less than a quarter of their memory. REQUIRES: columns > 0, and all columns
  // have the same number of keys.
  static std::optional<DictionaryKeys> Pack(std::span<const uint64_t> keys, size_t columns);

  // Appends the keys at the positions [begin, end) to `keys`. REQUIRES: there are such positions.
  void AppendTo(size_t begin, size_t end, std::vector<uint64_t>& keys) const;

  // Returns the size in bytes of the content.
  uint64_t bytes() const;

 private:
  // As many rows of the columns as 2 bytes can index, or the remaining ones.
  struct Block {
    // Returns the size in bytes of the content.
    uint64_t bytes() const;

    std::vector<uint64_t> keys;    // The distinct keys of each column, one column after another.
    std::vector<uint32_t> begin;   // Where the keys of each column begin in `keys`.
    std::vector<uint16_t> places;  // For each position, which of its column's keys it has.
  };
  class Packer;

  explicit DictionaryKeys(size_t columns) : columns_(columns) {}

  size_t columns_;
  std::vector<Block> blocks_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_DICTIONARY_KEYS_H_
