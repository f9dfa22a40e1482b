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

// Returns the number whose bytes begin at `place`.
template <typename T>
T LittleEndianAt(std::string_view bytes, size_t place) {
  T number;
  std::memcpy(&number, bytes.data() + place, sizeof(number));
  return number;
}

inline constexpr size_t kTfRecordLengthBytes = 8;
inline constexpr size_t kTfRecordSumBytes = 4;

// Returns the masked CRC32C of the format, which is rotated so that checksums of data that contain
// checksums are no special case.
uint32_t TfRecordSum(std::string_view bytes);

std::string ToTfRecord(std::string_view bytes);

// Returns how many bytes at the front of a file are whole records with right checksums.
size_t WholeTfRecords(std::string_view file);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_TFRECORD_H_
