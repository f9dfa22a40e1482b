#include "capstan/data/formats/dictionary_keys.h"

#include <algorithm>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/data/formats/deduplicate.h"

namespace capstan {
namespace {

constexpr size_t kBlockRows = size_t{1} << 16;

// Returns the bytes of a block.
uint64_t BytesOf(size_t different, size_t columns, size_t places) {
  return different * sizeof(uint64_t) + columns * sizeof(uint32_t) + places * sizeof(uint16_t);
}

}  // namespace

// Builds blocks one after the other, in memory that it keeps between them.
class DictionaryKeys::Packer {
 public:
  // Returns nullopt as soon as the block is known to take more than `most_bytes`.
  std::optional<Block> Pack(std::span<const uint64_t> keys, size_t columns, uint64_t most_bytes) {
    const size_t rows = keys.size() / columns;
    Block block;
    block.begin.resize(columns);
    block.places.resize(keys.size());
    column_.resize(rows);
    different_.clear();
    for (size_t column = 0; column < columns; ++column) {
      for (size_t row = 0; row < rows; ++row) column_[row] = keys[row * columns + column];
      deduplicator_.Run(column_, found_);
      block.begin[column] = static_cast<uint32_t>(different_.size());
      different_.insert(different_.end(), found_.unique.begin(), found_.unique.end());
      if (BytesOf(different_.size(), columns, keys.size()) > most_bytes) return std::nullopt;
      for (size_t row = 0; row < rows; ++row) {
        block.places[row * columns + column] = static_cast<uint16_t>(found_.index[row]);
      }
    }
    block.keys.assign(different_.begin(), different_.end());
    return block;
  }

 private:
  Deduplicator deduplicator_;
  UniqueKeys found_;
  std::vector<uint64_t> column_;
  std::vector<uint64_t> different_;
};

std::optional<DictionaryKeys> DictionaryKeys::Pack(std::span<const uint64_t> keys, size_t columns) {
  CAPSTAN_CHECK(columns > 0 && keys.size() % columns == 0);
  DictionaryKeys packed(columns);
  Packer packer;
  const size_t block_places = kBlockRows * columns;
  uint64_t room = keys.size_bytes() / 4 * 3;
  for (size_t begin = 0; begin < keys.size(); begin += block_places) {
    const auto of_block = keys.subspan(begin, std::min(block_places, keys.size() - begin));
    std::optional<Block> block = packer.Pack(of_block, columns, room);
    if (!block) return std::nullopt;
    room -= block->bytes();
    packed.blocks_.push_back(*std::move(block));
  }
  return packed;
}

void DictionaryKeys::AppendTo(size_t begin, size_t end, std::vector<uint64_t>& keys) const {
  const size_t block_places = kBlockRows * columns_;
  while (begin < end) {
    const Block& block = blocks_[begin / block_places];
    const size_t first = begin % block_places;
    const size_t count = std::min(end - begin, block_places - first);
    size_t column = first % columns_;
    for (size_t place = first; place < first + count; ++place) {
      keys.push_back(block.keys[block.begin[column] + block.places[place]]);
      if (++column == columns_) column = 0;
    }
    begin += count;
  }
}

uint64_t DictionaryKeys::Block::bytes() const {
  return BytesOf(keys.size(), begin.size(), places.size());
}

uint64_t DictionaryKeys::bytes() const {
  uint64_t sum = 0;
  for (const Block& block : blocks_) sum += block.bytes();
  return sum;
}

}  // namespace capstan
