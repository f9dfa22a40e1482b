#include "capstan/data/parquet/thrift_reader.h"

#include <array>

#include "capstan/data/formats/varint.h"

namespace capstan::parquet {
namespace {

constexpr size_t kMostDepth = 32;  // The deepest nesting of values that can be skipped.

bool IsContainer(ThriftType type) {
  return type == ThriftType::kList || type == ThriftType::kSet || type == ThriftType::kMap ||
         type == ThriftType::kStruct;
}

// A container that is being skipped.
struct Frame {
  bool is_struct = false;
  ThriftField field = {};
  uint64_t left = 0;                     // How many values remain in a list or map.
  std::array<ThriftType, 2> types = {};  // A map's types: those of its keys and of its values.
  ThriftType next_type() const { return types[left % 2 == 0 ? 0 : 1]; }
};

}  // namespace

uint8_t ThriftReader::Byte() {
  if (failed_) return 0;
  if (at_ == bytes_.size()) {
    ended_early_ = true;
    Fail();
    return 0;
  }
  return static_cast<uint8_t>(bytes_[at_++]);
}

uint64_t ThriftReader::Varint() {
  if (failed_) return 0;
  std::string_view rest = bytes_.substr(at_);
  uint64_t value = 0;
  const bool taken = TakeVarint(rest, value);
  at_ = bytes_.size() - rest.size();
  if (taken) return value;
  ended_early_ = rest.empty();
  Fail();
  return 0;
}

int64_t ThriftReader::ZigZag() {
  const uint64_t value = Varint();
  return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
}

void ThriftReader::Pass(uint64_t bytes) {
  if (failed_) return;
  if (bytes <= bytes_.size() - at_) {
    at_ += bytes;
    return;
  }
  ended_early_ = true;
  Fail();
}

bool ThriftReader::Next(ThriftField& field) {
  const uint8_t header = Byte();
  field.type = static_cast<ThriftType>(header & 0x0F);
  if (failed_ || field.type == ThriftType::kStop) return false;
  if (field.type > ThriftType::kStruct) {
    Fail();
    return false;
  }
  const int delta = header >> 4;
  const int64_t id = delta > 0 ? field.id + delta : ZigZag();
  if (id < INT16_MIN || id > INT16_MAX) Fail();
  field.id = failed_ ? 0 : static_cast<int>(id);
  return !failed_;
}

int64_t ThriftReader::Integer(const ThriftField& field) {
  if (field.type == ThriftType::kByte) return static_cast<int8_t>(Byte());
  if (field.type >= ThriftType::kShort && field.type <= ThriftType::kLong) return ZigZag();
  Fail();
  return 0;
}

bool ThriftReader::Flag(const ThriftField& field) {
  if (field.type != ThriftType::kTrue && field.type != ThriftType::kFalse) Fail();
  return !failed_ && field.type == ThriftType::kTrue;
}

std::string_view ThriftReader::Binary(const ThriftField& field) {
  if (field.type == ThriftType::kBinary) return Bytes();
  Fail();
  return {};
}

std::string_view ThriftReader::Bytes() {
  const uint64_t size = Varint();
  const size_t begin = at_;
  Pass(size);
  return failed_ ? std::string_view() : bytes_.substr(begin, size);
}

void ThriftReader::Struct(const ThriftField& field) {
  if (field.type != ThriftType::kStruct) Fail();
}

size_t ThriftReader::List(const ThriftField& field, ThriftType element) {
  if (field.type != ThriftType::kList) Fail();
  const uint8_t header = Byte();
  const uint64_t size = header >> 4 == 15 ? Varint() : header >> 4;
  if (static_cast<ThriftType>(header & 0x0F) != element && size > 0) Fail();
  // Each value takes at least one byte, so a larger size is malformed.
  if (size > bytes_.size() - at_) Fail();
  return failed_ ? 0 : size;
}

void ThriftReader::SkipScalar(ThriftType type, bool in_list) {
  switch (type) {
    case ThriftType::kTrue:
    case ThriftType::kFalse:
      if (in_list) Byte();
      return;
    case ThriftType::kByte:
      Byte();
      return;
    case ThriftType::kShort:
    case ThriftType::kInteger:
    case ThriftType::kLong:
      Varint();
      return;
    case ThriftType::kDouble:
      return Pass(8);
    case ThriftType::kBinary:
      return Pass(Varint());
    default:
      Fail();
  }
}

void ThriftReader::Skip(const ThriftField& field) {
  if (!IsContainer(field.type)) return SkipScalar(field.type, /*in_list=*/false);
  std::array<Frame, kMostDepth> frames;
  size_t depth = 0;
  const auto enter = [&](ThriftType type) {
    if (depth == kMostDepth) return Fail();
    Frame& frame = frames[depth++];
    frame = {.is_struct = type == ThriftType::kStruct};
    if (frame.is_struct) return;
    if (type == ThriftType::kMap) {
      frame.left = Varint();
      const uint8_t types = frame.left > 0 ? Byte() : 0;
      frame.types = {static_cast<ThriftType>(types >> 4), static_cast<ThriftType>(types & 0x0F)};
      if (frame.left > bytes_.size()) Fail();
      frame.left *= 2;
      return;
    }
    const uint8_t header = Byte();
    frame.left = header >> 4 == 15 ? Varint() : header >> 4;
    frame.types.fill(static_cast<ThriftType>(header & 0x0F));
  };
  enter(field.type);
  while (depth > 0 && !failed_) {
    Frame& frame = frames[depth - 1];
    const bool more = frame.is_struct ? Next(frame.field) : frame.left > 0;
    if (!more) {
      --depth;
      continue;
    }
    const ThriftType type = frame.is_struct ? frame.field.type : frame.next_type();
    if (!frame.is_struct) --frame.left;
    if (IsContainer(type)) {
      enter(type);
    } else {
      SkipScalar(type, /*in_list=*/!frame.is_struct);
    }
  }
}

}  // namespace capstan::parquet
