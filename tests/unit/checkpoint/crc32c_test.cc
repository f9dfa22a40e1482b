#include "capstan/base/crc32c.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

// From RFC 3720, B.4.
TEST(Crc32cTest, GivesThePublishedValues) {
  EXPECT_EQ(Crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(Crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(Crc32cTest, IsTheSameWithAndWithoutTheProcessorsInstruction) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(Crc32c(bytes), PortableCrc32c(bytes)) << i;
    EXPECT_EQ(Crc32c(bytes, 77), PortableCrc32c(bytes, 77)) << i;
    bytes.push_back(static_cast<char>(i * 31));
  }
}

TEST(Crc32cTest, ContinuesFromThePrecedingBytes) {
  EXPECT_EQ(Crc32c("56789", Crc32c("1234")), Crc32c("123456789"));
}

}  // namespace
}  // namespace capstan
