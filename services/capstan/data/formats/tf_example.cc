#include "capstan/data/formats/tf_example.h"

#include <bit>
#include <cstring>

#include "capstan/data/formats/varint.h"

namespace capstan {
namespace {

static_assert(std::endian::native == std::endian::little);

// Kinds of fields of a protobuf message, as they are on the wire.
enum Kind : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

bool TakeFloat(std::string_view& bytes, float& number) {
  if (bytes.size() < sizeof(number)) return false;
  std::memcpy(&number, bytes.data(), sizeof(number));
  bytes.remove_prefix(sizeof(number));
  return true;
}

// Iterates over the fields of a message.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  // Advances to the next field. Returns false at the end, and if the bytes are not a field;
  // malformed() tells which.
  bool Next() {
    if (rest_.empty()) return false;
    uint64_t tag;
    malformed_ = !TakeVarint(rest_, tag) || !TakeValue(static_cast<Kind>(tag & 7));
    number_ = tag >> 3;
    kind_ = static_cast<Kind>(tag & 7);
    return !malformed_;
  }

  bool malformed() const { return malformed_; }
  uint64_t number() const { return number_; }
  bool Is(uint64_t number, Kind kind) const { return number_ == number && kind_ == kind; }
  // The content of a kBytes field, or the bytes of a number of fixed size.
  std::string_view bytes() const { return bytes_; }
  uint64_t varint() const { return varint_; }

 private:
  bool TakeValue(Kind kind) {
    uint64_t size = kind == kFixed64 ? 8 : 4;
    if (kind == kVarint) return TakeVarint(rest_, varint_);
    if (kind == kBytes && !TakeVarint(rest_, size)) return false;
    if (kind != kBytes && kind != kFixed64 && kind != kFixed32) return false;
    if (size > rest_.size()) return false;
    bytes_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  std::string_view rest_;
  std::string_view bytes_;
  uint64_t varint_ = 0;
  uint64_t number_ = 0;
  Kind kind_ = kVarint;
  bool malformed_ = false;
};

// Returns the first value of a BytesList, FloatList or Int64List. Their values are field 1; numbers
// may be packed into one field.
bool FirstValue(uint64_t list_kind, std::string_view list, std::optional<FeatureValue>& value) {
  Fields fields(list);
  while (!value && fields.Next()) {
    if (fields.number() != 1) continue;
    std::string_view bytes = fields.bytes();
    float number = 0;
    uint64_t whole = fields.varint();
    if (list_kind == 1 && fields.Is(1, kBytes)) {
      value = bytes;
    } else if (list_kind == 2 && (fields.Is(1, kBytes) || fields.Is(1, kFixed32))) {
      if (bytes.empty()) continue;
      if (!TakeFloat(bytes, number)) return false;
      value = number;
    } else if (list_kind == 3 && (fields.Is(1, kBytes) || fields.Is(1, kVarint))) {
      if (fields.Is(1, kBytes) && bytes.empty()) continue;
      if (fields.Is(1, kBytes) && !TakeVarint(bytes, whole)) return false;
      value = static_cast<int64_t>(whole);
    }
  }
  return !fields.malformed();
}

// Feature: one of bytes_list = 1, float_list = 2, int64_list = 3.
bool ReadFeature(std::string_view feature, std::optional<FeatureValue>& value) {
  value.reset();
  Fields fields(feature);
  while (fields.Next()) {
    const bool list = fields.number() >= 1 && fields.number() <= 3;
    if (!list || !fields.Is(fields.number(), kBytes)) continue;
    value.reset();
    if (!FirstValue(fields.number(), fields.bytes(), value)) return false;
  }
  return !fields.malformed();
}

// An entry of Features.feature: key = 1, value = 2.
bool ReadEntry(std::string_view entry, std::string_view& name, std::string_view& feature) {
  Fields fields(entry);
  while (fields.Next()) {
    if (fields.Is(1, kBytes)) name = fields.bytes();
    if (fields.Is(2, kBytes)) feature = fields.bytes();
  }
  return !fields.malformed();
}

}  // namespace

bool FindFeatures(std::string_view message, std::string_view first_name,
                  std::string_view second_name, TwoFeatures& found) {
  found = {};
  Fields example(message);
  while (example.Next()) {
    if (!example.Is(1, kBytes)) continue;
    Fields features(example.bytes());
    while (features.Next()) {
      if (!features.Is(1, kBytes)) continue;
      std::string_view name, feature;
      if (!ReadEntry(features.bytes(), name, feature)) return false;
      if (name == first_name && !ReadFeature(feature, found.first)) return false;
      if (name == second_name && !ReadFeature(feature, found.second)) return false;
    }
    if (features.malformed()) return false;
  }
  return !example.malformed();
}

}  // namespace capstan
