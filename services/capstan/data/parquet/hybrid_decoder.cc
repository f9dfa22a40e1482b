#include "capstan/data/parquet/hybrid_decoder.h"

#include <algorithm>

#include "capstan/data/formats/varint.h"
#include "capstan/data/parquet/little_endian.h"

namespace capstan::parquet {

bool HybridDecoder::Read(std::span<uint32_t> values) {
  while (!values.empty()) {
    if (run_ == 0 && !BeginRun()) return false;
    const size_t n = std::min<uint64_t>(run_, values.size());
    if (packed_) {
      if (!ReadPacked(values.first(n))) return false;
    } else {
      std::fill_n(values.begin(), n, repeated_);
    }
    run_ -= n;
    values = values.subspan(n);
  }
  return true;
}

bool HybridDecoder::BeginRun() {
  constexpr uint64_t kMostRun = uint64_t{1} << 32;
  uint64_t header = 0;
  if (!TakeVarint(rest_, header) || header >> 1 == 0 || header > kMostRun) return false;
  packed_ = (header & 1) != 0;
  if (packed_) {
    run_ = (header >> 1) * 8;
    bits_ = 0;
    held_ = 0;
    return true;
  }
  run_ = header >> 1;
  const size_t bytes = (width_ + 7) / 8;
  if (rest_.size() < bytes) return false;
  repeated_ = static_cast<uint32_t>(LittleEndian(rest_.substr(0, bytes)));
  rest_.remove_prefix(bytes);
  return width_ == 32 || repeated_ >> width_ == 0;
}

// The last group may lack the bytes of values beyond the last one.
bool HybridDecoder::ReadPacked(std::span<uint32_t> values) {
  const uint64_t mask = (uint64_t{1} << width_) - 1;
  for (uint32_t& value : values) {
    while (held_ < width_) {
      if (rest_.empty()) return false;
      bits_ |= uint64_t{static_cast<uint8_t>(rest_.front())} << held_;
      rest_.remove_prefix(1);
      held_ += 8;
    }
    value = static_cast<uint32_t>(bits_ & mask);
    bits_ >>= width_;
    held_ -= width_;
  }
  return true;
}

}  // namespace capstan::parquet
