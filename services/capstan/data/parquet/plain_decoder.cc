#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "capstan/data/parquet/hybrid_decoder.h"
#include "capstan/data/parquet/little_endian.h"
#include "capstan/data/parquet/value_decoder.h"

namespace capstan::parquet {
namespace {

constexpr size_t kLengthBytes = 4;

class PlainNumbers : public ValueDecoder {
 public:
  PlainNumbers(const Column& column, std::string_view bytes)
      : column_(column), width_(ValueBytes(column)), rest_(bytes) {}

  bool Read(size_t count, Values& values) override {
    if (count > rest_.size() / width_) return false;
    for (size_t i = 0; i < count; ++i)
      AppendNumber(column_, rest_.substr(i * width_, width_), values);
    rest_.remove_prefix(count * width_);
    return true;
  }

 private:
  const Column& column_;
  const size_t width_;
  std::string_view rest_;
};

class PlainTexts : public ValueDecoder {
 public:
  // `width`: bytes of each text; 0: each text is preceded by a length of four bytes.
  PlainTexts(size_t width, std::string_view bytes) : width_(width), rest_(bytes) {}

  bool Read(size_t count, Values& values) override {
    for (size_t i = 0; i < count; ++i) {
      size_t length = width_;
      if (width_ == 0) {
        if (rest_.size() < kLengthBytes) return false;
        length = LittleEndian(rest_.substr(0, kLengthBytes));
        rest_.remove_prefix(kLengthBytes);
      }
      if (rest_.size() < length) return false;
      values.texts.push_back(rest_.substr(0, length));
      rest_.remove_prefix(length);
    }
    return true;
  }

 private:
  const size_t width_;
  std::string_view rest_;
};

class PlainBooleans : public ValueDecoder {
 public:
  explicit PlainBooleans(std::string_view bytes) : bytes_(bytes) {}

  bool Read(size_t count, Values& values) override {
    if (count > bytes_.size() * 8 - at_) return false;
    for (size_t i = 0; i < count; ++i, ++at_) {
      values.integers.push_back(static_cast<uint8_t>(bytes_[at_ / 8]) >> (at_ % 8) & 1);
    }
    return true;
  }

 private:
  const std::string_view bytes_;
  size_t at_ = 0;  // In bits.
};

class RleBooleans : public ValueDecoder {
 public:
  explicit RleBooleans(std::string_view bytes) : bits_(Runs(bytes), /*bit_width=*/1) {}

  bool Read(size_t count, Values& values) override {
    std::array<uint32_t, 256> some;
    while (count > 0) {
      const std::span<uint32_t> now = std::span(some).first(std::min(count, some.size()));
      if (!bits_.Read(now)) return false;
      values.integers.insert(values.integers.end(), now.begin(), now.end());
      count -= now.size();
    }
    return true;
  }

 private:
  // The booleans begin after their length.
  static std::string_view Runs(std::string_view bytes) {
    if (bytes.size() < kLengthBytes) return {};
    return bytes.substr(kLengthBytes, LittleEndian(bytes.substr(0, kLengthBytes)));
  }

  HybridDecoder bits_;
};

}  // namespace

size_t ValueBytes(const Column& column) {
  switch (column.physical) {
    case Physical::kInt32:
    case Physical::kFloat:
      return 4;
    case Physical::kInt64:
    case Physical::kDouble:
      return 8;
    case Physical::kFixed:
      return column.fixed_bytes;
    default:
      return 0;
  }
}

void AppendNumber(const Column& column, std::string_view bytes, Values& values) {
  if (bytes.size() == 4) {
    const auto bits = static_cast<uint32_t>(LittleEndian(bytes.substr(0, 4)));
    if (column.physical == Physical::kFloat) {
      values.floats.push_back(std::bit_cast<float>(bits));
    } else if (column.is_unsigned) {
      values.integers.push_back(bits);
    } else {
      values.integers.push_back(static_cast<int32_t>(bits));
    }
    return;
  }
  const uint64_t bits = LittleEndian(bytes.substr(0, 8));
  if (column.physical == Physical::kDouble) {
    values.doubles.push_back(std::bit_cast<double>(bits));
  } else {
    values.integers.push_back(static_cast<int64_t>(bits));
  }
}

std::unique_ptr<ValueDecoder> NewPlainDecoder(const Column& column, std::string_view bytes) {
  switch (column.physical) {
    case Physical::kBoolean:
      return std::make_unique<PlainBooleans>(bytes);
    case Physical::kByteArray:
    case Physical::kFixed:
      return std::make_unique<PlainTexts>(ValueBytes(column), bytes);
    default:
      return std::make_unique<PlainNumbers>(column, bytes);
  }
}

std::unique_ptr<ValueDecoder> NewRleBooleanDecoder(std::string_view bytes) {
  return std::make_unique<RleBooleans>(bytes);
}

}  // namespace capstan::parquet
