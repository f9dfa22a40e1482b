#include "capstan/objectstore/s3/digest.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace capstan {
namespace {

TEST(DigestTest, KnowsTheVectorsOfTheStandards) {
  EXPECT_EQ(Hex(Sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(Md5("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(Hex(HmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(Crc32cText("123456789"), "4waSgw==");
}

TEST(UriEncodeTest, KeepsOnlyUnreservedCharacters) {
  EXPECT_EQ(UriEncode("a/b c+~\xC3\xBC", Slash::kKeep), "a/b%20c%2B~%C3%BC");
  EXPECT_EQ(UriEncode("a/b", Slash::kEncode), "a%2Fb");
  EXPECT_EQ(UriDecode("a/b%20c%2B+%C3%BC%"), "a/b c+ \xC3\xBC%");
}

TEST(DigestTest, NothingAndBytesOfAnyValueHaveDigests) {
  EXPECT_EQ(Hex(Sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Hex(Md5("")), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Hex(HmacSha256("", "")),
            "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
  EXPECT_NE(Sha256(std::string_view("\0", 1)), Sha256(""));
  EXPECT_EQ(Crc32cText(""), "AAAAAA==");
}

TEST(DigestTest, BytesAreWrittenInLowerCaseAndWithPadding) {
  EXPECT_EQ(Hex(std::string_view("\x00\x0A\xFF", 3)), "000aff");
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("\xFB\xFF\xFE"), "+//+") << "not the alphabet of addresses";
}

TEST(UriEncodeTest, EveryByteComesBack) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(UriDecode(UriEncode(all, Slash::kEncode)), all);
  EXPECT_EQ(UriDecode(UriEncode(all, Slash::kKeep)), all);
}

TEST(UriDecodeTest, WhatIsNoEscapeStaysAsItIs) {
  EXPECT_EQ(UriDecode("100%"), "100%");
  EXPECT_EQ(UriDecode("%4"), "%4");
  EXPECT_EQ(UriDecode("%g1%1g"), "%g1%1g");
  EXPECT_EQ(UriDecode("%%41"), "%A");
  EXPECT_EQ(UriDecode("%2541"), "%41") << "decoded once";
  EXPECT_EQ(UriDecode("%c3%BC"), "\xC3\xBC") << "in either case";
}

}  // namespace
}  // namespace capstan
