// TFRecord: records of any bytes, each stored as its length, the checksum of the length, the bytes,
// and their checksum. Numbers are little-endian. See TensorFlow's record_writer.h.
#ifndef CAPSTAN_DATA_FORMATS_TFRECORD_H_
#define CAPSTAN_DATA_FORMATS_TFRECORD_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace capstan {

static_assert(std::endian::native == std::endian::little);

// Returns the number whose bytes begin at `place`.
template <typename T>
T LittleEndianAt(std::string_view bytes, size_t place) {
  T number;
  std::memcpy(&number, bytes.data() + place, sizeof(number));
  return number;
}

inline constexpr size_t kTfRecordLengthBytes = 8;
inline constexpr size_t kTfRecordSumBytes = 4;

// Returns the masked CRC32C of the format, which is rotated so that data which contain checksums
// are not a special case.
uint32_t TfRecordSum(std::string_view bytes);

// Returns `bytes` as a record.
std::string ToTfRecord(std::string_view bytes);

// Returns how many bytes at the beginning of a file are complete records with correct checksums.
size_t WholeTfRecords(std::string_view file);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_TFRECORD_H_
