#include "capstan/data/formats/tfrecord.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "tests/unit/data/bytes_of.h"

namespace capstan {
namespace {

TEST(ToTfRecordTest, WritesWhatTensorFlowWrites) {
  // tf.io.TFRecordWriter of a record of no bytes.
  EXPECT_EQ(ToTfRecord(""),
            BytesOf({0, 0, 0, 0, 0, 0, 0, 0, 0x29, 0x03, 0x98, 0x07, 0xD8, 0xEA, 0x82, 0xA2}));
  // The CRC32C of these digits is E3069283; rotated by 15 bits and with the format's number added
  // it is this.
  EXPECT_EQ(TfRecordSum("123456789"), 0xC78AB0E5u);
  const std::string record = ToTfRecord("123456789");
  EXPECT_EQ(record.size(), 8u + 4 + 9 + 4);
  EXPECT_EQ(LittleEndianAt<uint64_t>(record, 0), 9u);
  EXPECT_EQ(LittleEndianAt<uint32_t>(record, 21), 0xC78AB0E5u);
}

TEST(WholeTfRecordsTest, ARecordThatIsCutDoesNotCount) {
  const std::string first = ToTfRecord("one");
  const std::string file = first + ToTfRecord("") + ToTfRecord("three");
  const size_t second = first.size() + 16;
  EXPECT_EQ(WholeTfRecords(file), file.size());
  for (size_t size = 0; size < file.size(); ++size) {
    const size_t whole = size < first.size() ? 0 : size < second ? first.size() : second;
    EXPECT_EQ(WholeTfRecords(file.substr(0, size)), whole) << size;
  }
}

TEST(WholeTfRecordsTest, NothingCountsFromTheFirstDamageOn) {
  const std::string first = ToTfRecord("one");
  const std::string second = ToTfRecord("two");
  for (size_t i = 0; i < second.size(); ++i) {
    std::string damaged = second;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x40);
    EXPECT_EQ(WholeTfRecords(first + damaged + first), first.size()) << i;
  }
}

TEST(WholeTfRecordsTest, ALengthThatLiesIsNoRecordThoughItsSumIsRight) {
  for (const uint64_t length :
       {uint64_t{4}, uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{0} - 15, ~uint64_t{0} - 11}) {
    const std::string bytes(reinterpret_cast<const char*>(&length), sizeof(length));
    const uint32_t sum = TfRecordSum(bytes);
    const std::string front = bytes + std::string(reinterpret_cast<const char*>(&sum), sizeof(sum));
    EXPECT_EQ(WholeTfRecords(front + "one" + std::string(4, '\0')), 0u) << length;
  }
}

}  // namespace
}  // namespace capstan
