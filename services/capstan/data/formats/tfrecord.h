// TFRecord: records of any bytes, each as its length, the checksum of the length, the bytes, and
// their checksum. Numbers have their least byte first. See TensorFlow's record_writer.h.
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

// The number at this place.
template <typename T>
T LittleEndianAt(std::string_view bytes, size_t place) {
  T number;
  std::memcpy(&number, bytes.data() + place, sizeof(number));
  return number;
}

inline constexpr size_t kTfRecordLengthBytes = 8;
inline constexpr size_t kTfRecordSumBytes = 4;

// The checksum as the format has it: rotated, so that that of data with checksums is no special
// case.
uint32_t TfRecordSum(std::string_view bytes);

std::string ToTfRecord(std::string_view bytes);

// How many of the bytes that a file begins with are whole records that fit their checksums.
size_t WholeTfRecords(std::string_view file);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_TFRECORD_H_
