#include "capstan/data/formats/tfrecord.h"

#include <bit>

#include "capstan/base/crc32c.h"

namespace capstan {
namespace {

template <typename T>
void AppendNumber(T number, std::string& to) {
  to.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// Returns the size of the record at the beginning of `rest`; 0 if there is no complete record.
size_t FirstRecord(std::string_view rest) {
  constexpr size_t kFront = kTfRecordLengthBytes + kTfRecordSumBytes;
  if (rest.size() < kFront + kTfRecordSumBytes) return 0;
  const auto sum = LittleEndianAt<uint32_t>(rest, kTfRecordLengthBytes);
  if (TfRecordSum(rest.substr(0, kTfRecordLengthBytes)) != sum) return 0;
  const auto length = LittleEndianAt<uint64_t>(rest, 0);
  if (length > rest.size() - kFront - kTfRecordSumBytes) return 0;
  const auto data_sum = LittleEndianAt<uint32_t>(rest, kFront + length);
  if (TfRecordSum(rest.substr(kFront, length)) != data_sum) return 0;
  return kFront + length + kTfRecordSumBytes;
}

}  // namespace

uint32_t TfRecordSum(std::string_view bytes) { return std::rotr(Crc32c(bytes), 15) + 0xA282EAD8u; }

std::string ToTfRecord(std::string_view bytes) {
  std::string record;
  AppendNumber(uint64_t{bytes.size()}, record);
  AppendNumber(TfRecordSum(record), record);
  record += bytes;
  AppendNumber(TfRecordSum(bytes), record);
  return record;
}

size_t WholeTfRecords(std::string_view file) {
  size_t whole = 0;
  while (const size_t next = FirstRecord(file.substr(whole))) whole += next;
  return whole;
}

}  // namespace capstan
