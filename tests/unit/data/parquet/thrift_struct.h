// Writes structs of Thrift's compact protocol, for footers and headers of pages that tests make up.
#ifndef CAPSTAN_TESTS_UNIT_DATA_PARQUET_THRIFT_STRUCT_H_
#define CAPSTAN_TESTS_UNIT_DATA_PARQUET_THRIFT_STRUCT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace capstan::parquet {

// A struct that is written field by field. REQUIRES: ids ascend. Thread-compatible.
class ThriftStruct {
 public:
  // A whole number, which says of itself that it has 32 bits, whatever it is.
  ThriftStruct& Int(int id, int64_t value) {
    Begin(id, 5);
    Varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
    return *this;
  }
  ThriftStruct& Flag(int id, bool value) {
    Begin(id, value ? 1 : 2);
    return *this;
  }
  ThriftStruct& Text(int id, std::string_view text) {
    Begin(id, 8);
    Varint(text.size());
    bytes_ += text;
    return *this;
  }
  ThriftStruct& Struct(int id, const ThriftStruct& value) {
    Begin(id, 12);
    bytes_ += value.bytes();
    return *this;
  }
  ThriftStruct& List(int id, const std::vector<ThriftStruct>& structs) {
    Begin(id, 9);
    bytes_.push_back(static_cast<char>(0xFC));
    Varint(structs.size());
    for (const ThriftStruct& each : structs) bytes_ += each.bytes();
    return *this;
  }

  // Returns the struct with its end.
  std::string bytes() const { return bytes_ + std::string(1, '\0'); }

 private:
  void Begin(int id, int type) {
    const int difference = id - last_;
    last_ = id;
    if (difference <= 15) {
      bytes_.push_back(static_cast<char>(difference << 4 | type));
      return;
    }
    bytes_.push_back(static_cast<char>(type));
    Varint(static_cast<uint64_t>(id) << 1);
  }
  void Varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_.push_back(static_cast<char>(value | 0x80));
    bytes_.push_back(static_cast<char>(value));
  }

  std::string bytes_;
  int last_ = 0;
};

// Nodes of a file's schema: one with children, and a leaf of a type by the number that the format
// gives it.
inline ThriftStruct BranchNode(std::string_view name, int64_t children, int64_t repetition = 0) {
  return ThriftStruct().Int(3, repetition).Text(4, name).Int(5, children);
}
inline ThriftStruct LeafNode(std::string_view name, int64_t type, int64_t repetition = 0) {
  return ThriftStruct().Int(1, type).Int(3, repetition).Text(4, name);
}

}  // namespace capstan::parquet

#endif  // CAPSTAN_TESTS_UNIT_DATA_PARQUET_THRIFT_STRUCT_H_
