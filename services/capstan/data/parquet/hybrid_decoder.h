// Decodes Parquet's hybrid of runs and packed bits, which is used for levels, dictionary indexes
// and booleans.
//
//   data   = run*
//   run    = (count << 1):varint value             value: bit_width bits in whole bytes
//          | (groups << 1 | 1):varint packed       groups of 8 values of bit_width bits, low first
#ifndef CAPSTAN_DATA_PARQUET_HYBRID_DECODER_H_
#define CAPSTAN_DATA_PARQUET_HYBRID_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace capstan::parquet {

// Allocates nothing. Thread-compatible.
class HybridDecoder {
 public:
  HybridDecoder() = default;
  // `bytes` must outlive this object. REQUIRES: bit_width <= 32.
  HybridDecoder(std::string_view bytes, uint32_t bit_width) : rest_(bytes), width_(bit_width) {}

  // Fills `values`. Returns false if the data are malformed or end before.
  bool Read(std::span<uint32_t> values);

 private:
  bool BeginRun();
  bool ReadPacked(std::span<uint32_t> values);

  std::string_view rest_;
  uint32_t width_ = 0;
  uint64_t run_ = 0;  // How many values remain in the present run.
  bool packed_ = false;
  uint32_t repeated_ = 0;
  uint64_t bits_ = 0;  // Bits of packed values that were taken from rest_ but not returned yet.
  uint32_t held_ = 0;  // How many bits these are.
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_HYBRID_DECODER_H_
