// Decodes integers that are stored as packed differences.
//
//   data      = block_size miniblocks count first:zigzag block*     numbers are varints
//   block     = least:zigzag width:byte{miniblocks} miniblock*
//   miniblock = block_size / miniblocks packed values of `width` bits: difference - least
//
// There are as many blocks and miniblocks as the `count` values need.
#ifndef CAPSTAN_DATA_PARQUET_DELTA_NUMBERS_H_
#define CAPSTAN_DATA_PARQUET_DELTA_NUMBERS_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capstan::parquet {

// Allocates nothing. Thread-compatible.
class DeltaNumbers {
 public:
  // `bytes` must outlive this object. If they are malformed, no values are returned.
  explicit DeltaNumbers(std::string_view bytes);

  // Sets `value` to the next value. Returns false if the data are malformed or end before.
  bool Next(int64_t& value);

  // Returns the bytes after all of the values; empty if the values are malformed.
  std::string_view Behind() const;

 private:
  bool BeginBlock();
  bool BeginMiniblock();

  std::string_view rest_;
  uint64_t miniblocks_ = 0;
  uint64_t miniblock_values_ = 0;
  uint64_t left_ = 0;   // How many values remain.
  bool began_ = false;  // The first value has been returned.
  uint64_t value_ = 0;  // The last value.
  uint64_t least_ = 0;
  std::string_view widths_;    // Bit widths of the block's miniblocks that have not begun.
  std::string_view packed_;    // The present miniblock.
  uint64_t in_miniblock_ = 0;  // How many values remain in it.
  uint64_t bit_ = 0;           // Where the next one begins.
  uint32_t width_ = 0;         // How many bits each has.
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_DELTA_NUMBERS_H_
