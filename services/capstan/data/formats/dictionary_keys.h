// The keys of many records, encoded by dictionaries to take less memory. Keys are hashes of 8
// bytes, most of which occur in a column again and again: each is held once, and each place of the
// list says by a number of 2 bytes which one it has.
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
  // Returns `keys` packed, whose place i belongs to column i % `columns`; nullopt: that would save
  // less than a quarter of their memory. REQUIRES: columns > 0, and each column has as many keys.
  static std::optional<DictionaryKeys> Pack(std::span<const uint64_t> keys, size_t columns);

  // Appends the keys at the places [begin, end) to `keys`. REQUIRES: there are such places.
  void AppendTo(size_t begin, size_t end, std::vector<uint64_t>& keys) const;

  // Returns the bytes of what it holds.
  uint64_t bytes() const;

 private:
  // As many rows of the columns as 2 bytes can number, or what is left of them.
  struct Block {
    // Returns the bytes of what it holds.
    uint64_t bytes() const;

    std::vector<uint64_t> keys;    // The different keys of each column, one column after another.
    std::vector<uint32_t> begin;   // Where those of each column begin in `keys`.
    std::vector<uint16_t> places;  // For each place which of its column's keys it has.
  };
  class Packer;

  explicit DictionaryKeys(size_t columns) : columns_(columns) {}

  size_t columns_;
  std::vector<Block> blocks_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_DICTIONARY_KEYS_H_
