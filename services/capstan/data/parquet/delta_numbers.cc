#include "capstan/data/parquet/delta_numbers.h"

#include <algorithm>

#include "capstan/data/formats/varint.h"
#include "capstan/data/parquet/little_endian.h"
#include "capstan/data/parquet/value_decoder.h"

namespace capstan::parquet {
namespace {

// Writers use blocks of 128 values in 4 miniblocks. Without this limit, a block of very many values
// of 0 bits would cause much work for a few bytes.
constexpr uint64_t kMostBlock = uint64_t{1} << 14;

uint64_t UnZigZag(uint64_t value) { return value >> 1 ^ (~(value & 1) + 1); }

// Returns the number in the `width` bits from bit `at` on.
uint64_t Bits(std::string_view bytes, uint64_t at, uint32_t width) {
  if (width == 0) return 0;
  const uint64_t first = at / 8;
  const uint32_t shift = at % 8;
  uint64_t value = LittleEndian(bytes.substr(first, 8)) >> shift;
  if (shift + width > 64) {
    value |= uint64_t{static_cast<uint8_t>(bytes[first + 8])} << (64 - shift);
  }
  return width == 64 ? value : value & ((uint64_t{1} << width) - 1);
}

class DeltaIntegers : public ValueDecoder {
 public:
  DeltaIntegers(const Column& column, std::string_view bytes) : column_(column), numbers_(bytes) {}

  bool Read(size_t count, Values& values) override {
    for (size_t i = 0; i < count; ++i) {
      int64_t value = 0;
      if (!numbers_.Next(value)) return false;
      // Differences of 32-bit values may have wrapped around.
      if (column_.physical == Physical::kInt32) {
        const auto low = static_cast<uint32_t>(value);
        value = column_.is_unsigned ? int64_t{low} : static_cast<int32_t>(low);
      }
      values.integers.push_back(value);
    }
    return true;
  }

 private:
  const Column& column_;
  DeltaNumbers numbers_;
};

}  // namespace

DeltaNumbers::DeltaNumbers(std::string_view bytes) : rest_(bytes) {
  uint64_t block = 0;
  uint64_t count = 0;
  if (!TakeVarint(rest_, block) || !TakeVarint(rest_, miniblocks_) || !TakeVarint(rest_, count) ||
      !TakeVarint(rest_, value_)) {
    return;
  }
  value_ = UnZigZag(value_);
  if (miniblocks_ == 0 || block > kMostBlock || block % miniblocks_ != 0) return;
  const uint64_t values = block / miniblocks_;
  if (values == 0 || values % 8 != 0) return;
  miniblock_values_ = values;
  left_ = count;
}

bool DeltaNumbers::Next(int64_t& value) {
  if (left_ == 0) return false;
  if (!began_) {
    began_ = true;
  } else {
    if (in_miniblock_ == 0 && !BeginMiniblock()) return false;
    value_ += least_ + Bits(packed_, bit_, width_);
    bit_ += width_;
    --in_miniblock_;
  }
  --left_;
  value = static_cast<int64_t>(value_);
  return true;
}

bool DeltaNumbers::BeginBlock() {
  if (!TakeVarint(rest_, least_) || rest_.size() < miniblocks_) return false;
  least_ = UnZigZag(least_);
  widths_ = rest_.substr(0, miniblocks_);
  rest_.remove_prefix(miniblocks_);
  return true;
}

bool DeltaNumbers::BeginMiniblock() {
  if (widths_.empty() && !BeginBlock()) return false;
  width_ = static_cast<uint8_t>(widths_.front());
  widths_.remove_prefix(1);
  const uint64_t bytes = miniblock_values_ * width_ / 8;
  if (width_ > 64 || rest_.size() < bytes) return false;
  packed_ = rest_.substr(0, bytes);
  rest_.remove_prefix(bytes);
  in_miniblock_ = miniblock_values_;
  bit_ = 0;
  return true;
}

std::string_view DeltaNumbers::Behind() const {
  DeltaNumbers numbers = *this;
  if (numbers.miniblock_values_ == 0) return {};
  // The first value is stored before all blocks, and the present miniblock was removed already.
  const uint64_t taken = began_ ? in_miniblock_ : 1;
  for (uint64_t left = left_ - std::min(left_, taken); left > 0;) {
    if (!numbers.BeginMiniblock()) return {};
    left -= std::min(left, numbers.miniblock_values_);
  }
  return numbers.rest_;
}

std::unique_ptr<ValueDecoder> NewDeltaIntegerDecoder(const Column& column, std::string_view bytes) {
  return std::make_unique<DeltaIntegers>(column, bytes);
}

}  // namespace capstan::parquet
