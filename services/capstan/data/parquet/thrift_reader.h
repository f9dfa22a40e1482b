// Thrift's compact protocol, in which Parquet stores its footer and the headers of its pages.
//
//   struct  = field* 0x00             field  = header value
//   header  = delta:4 type:4          of the field's id to the one before; delta 0: the id follows
//   integer = zigzag varint           binary = length:varint byte*
//   list    = size:4 type:4 value*    size 15: the size follows as a varint
#ifndef CAPSTAN_DATA_PARQUET_THRIFT_READER_H_
#define CAPSTAN_DATA_PARQUET_THRIFT_READER_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace capstan::parquet {

enum class ThriftType : uint8_t {
  kStop = 0,
  kTrue = 1,  // A field that is true; in a list, a flag.
  kFalse = 2,
  kByte = 3,
  kShort = 4,
  kInteger = 5,
  kLong = 6,
  kDouble = 7,
  kBinary = 8,
  kList = 9,
  kSet = 10,
  kMap = 11,
  kStruct = 12,
};

struct ThriftField {
  int id = 0;
  ThriftType type = ThriftType::kStop;
};

// Reads structs whose fields the caller knows, and skips other fields. Data that are malformed,
// truncated or of another type than expected make the reader fail permanently: everything read from
// then on is 0 or empty. Allocates nothing. A loop over a list must end when failed(), whatever
// size the list claims. Thread-compatible.
class ThriftReader {
 public:
  // `bytes` must outlive this object and what Binary returns.
  explicit ThriftReader(std::string_view bytes) : bytes_(bytes) {}

  // Advances to the next field of the struct that is being read; `field` is the one before, or {}
  // at the beginning of the struct. Returns false if the struct has ended, or the reader has
  // failed. The value must be read or skipped before the next call.
  bool Next(ThriftField& field);

  // Return the value of `field`.
  int64_t Integer(const ThriftField& field);
  bool Flag(const ThriftField& field);
  std::string_view Binary(const ThriftField& field);
  // Enters a struct. The caller must then read its fields with Next until that returns false.
  void Struct(const ThriftField& field);
  // Enters a list of `element`s and returns its size. The caller must read the values; those that
  // are structs field by field with Next.
  size_t List(const ThriftField& field, ThriftType element);
  void Skip(const ThriftField& field);

  bool failed() const { return failed_; }
  bool ended_early() const { return ended_early_; }  // The reader failed because the bytes ended.
  size_t position() const { return at_; }

 private:
  uint8_t Byte();
  uint64_t Varint();
  std::string_view Bytes();
  int64_t ZigZag();
  void Pass(uint64_t bytes);
  void Fail() { failed_ = true; }
  void SkipScalar(ThriftType type, bool in_list);

  std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
  bool ended_early_ = false;
};

}  // namespace capstan::parquet

#endif  // CAPSTAN_DATA_PARQUET_THRIFT_READER_H_
