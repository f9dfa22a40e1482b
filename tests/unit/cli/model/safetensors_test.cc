#include "cli/model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A file with this header and as many bytes of data.
std::string FileOf(const std::string& header, size_t data) {
  std::string file(8, '\0');
  for (int i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return file + header + std::string(data, '\0');
}

// Why the array of this description, in a file of 16 bytes of data, is refused; empty: it is not.
std::string RefusalOfArray(std::string_view array) {
  const absl::Status status =
      ReadSafetensorsIndex(FileOf(absl::StrCat("{\"w\":{", std::string(array), "}}"), 16)).status();
  EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
  return std::string(status.message());
}

TEST(SafetensorsTest, ComeBackWithTheirPlaces) {
  std::vector<SafeTensor> tensors = {{.name = "a \"b\"", .dtype = "U64", .shape = {3}},
                                     {.name = "w", .dtype = "F32", .shape = {2, 5}}};
  PlaceTensors(tensors);
  const std::string header = SafetensorsHeader(tensors, {{"job", "x"}});
  EXPECT_EQ(header.size() % 8, 0u);
  const auto index = ReadSafetensorsIndex(header + std::string(64, '\0'));
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_EQ(index->data_begin, header.size());
  EXPECT_EQ(index->tensors.at("w").begin, 24u);
  EXPECT_EQ(index->tensors.at("w").end, 64u);
  EXPECT_THAT(index->tensors.at("a \"b\"").shape, ElementsAre(3));
}

TEST(SafetensorsTest, RefuseWhatDoesNotLieWithinTheFile) {
  std::vector<SafeTensor> tensors = {{.name = "w", .dtype = "F32", .shape = {4}}};
  PlaceTensors(tensors);
  const std::string file = SafetensorsHeader(tensors, {});
  EXPECT_TRUE(absl::IsDataLoss(ReadSafetensorsIndex(file + std::string(15, '\0')).status()));
  EXPECT_TRUE(absl::IsDataLoss(ReadSafetensorsIndex("").status()));
  EXPECT_TRUE(absl::IsDataLoss(ReadSafetensorsIndex(std::string(8, '\xFF') + "{}").status()));
  std::string broken = file + std::string(16, '\0');
  broken[8] = '[';
  EXPECT_TRUE(absl::IsDataLoss(ReadSafetensorsIndex(broken).status()));
}

TEST(SafetensorsTest, ReadAnArrayOfTheWholeFile) {
  EXPECT_EQ(RefusalOfArray(R"("dtype":"F32","shape":[2,2],"data_offsets":[0,16])"), "");
  EXPECT_EQ(RefusalOfArray(R"("dtype":"U64","shape":[],"data_offsets":[8,16])"), "");
  EXPECT_EQ(RefusalOfArray(R"("dtype":"F32","shape":[7,0],"data_offsets":[16,16])"), "");
}

TEST(SafetensorsTest, RefuseAShapeThatIsNotThatOfTheBytes) {
  for (
      const char* array : {
          R"("dtype":"F32","shape":[4],"data_offsets":[0,15])",
          R"("dtype":"F32","shape":[1],"data_offsets":[0,7])",
          R"("dtype":"U64","shape":[4],"data_offsets":[0,16])",
          R"("dtype":"F32","shape":[],"data_offsets":[0,0])",
          R"("dtype":"F32","shape":[0],"data_offsets":[0,16])",
          // Their products are 0 and 4 in 64 bits.
          R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])",
          R"("dtype":"F32","shape":[4294967297,4294967295,4294967297,4294967295,4],"data_offsets":[0,16])",
      }) {
    EXPECT_THAT(RefusalOfArray(array), HasSubstr("w: its shape and its bytes do not agree"))
        << array;
  }
}

TEST(SafetensorsTest, RefuseSizesThatAreNone) {
  for (const char* array : {
           R"("dtype":"F32","shape":["4"],"data_offsets":[0,16])",
           R"("dtype":"F32","shape":[4.5],"data_offsets":[0,16])",
           R"("dtype":"F32","shape":[-4],"data_offsets":[0,16])",
           R"("dtype":"F32","shape":[1e300],"data_offsets":[0,16])",
           R"("dtype":"F32","shape":4,"data_offsets":[0,16])",
           R"("dtype":"F32","shape":[4],"data_offsets":[0,16,16])",
           R"("dtype":"F32","shape":[4],"data_offsets":"0,16")",
       }) {
    EXPECT_THAT(RefusalOfArray(array), HasSubstr("w: its shape or its data_offsets are no sizes"))
        << array;
  }
  EXPECT_THAT(RefusalOfArray(R"("dtype":"F32","shape":[0],"data_offsets":[16,0])"),
              HasSubstr("w does not lie within the file"));
}

TEST(SafetensorsTest, RefuseATypeThatNoExportHas) {
  EXPECT_THAT(RefusalOfArray(R"("dtype":"BF16","shape":[8],"data_offsets":[0,16])"),
              HasSubstr("w is of type BF16"));
  EXPECT_THAT(RefusalOfArray(R"("shape":[4],"data_offsets":[0,16])"), HasSubstr("w lacks dtype"));
}

TEST(SafetensorsTest, AHeaderThatIsTooLargeIsNotSaidToBeLongerThanTheFile) {
  const std::string large = FileOf(std::string((100 << 20) + 1, ' '), 0);
  EXPECT_THAT(std::string(ReadSafetensorsIndex(large).status().message()),
              HasSubstr("the header has 104857601 bytes; expected at most 104857600"));
  EXPECT_THAT(std::string(ReadSafetensorsIndex(large.substr(0, 100)).status().message()),
              HasSubstr("the header is longer than the file"));
}

TEST(SafetensorsTest, WhatIsSaidOfTheFileIsNoArray) {
  const auto index = ReadSafetensorsIndex(FileOf(R"({"__metadata__":{"format":"pt"}})", 0));
  ASSERT_TRUE(index.ok()) << index.status();
  EXPECT_TRUE(index->tensors.empty());
}

}  // namespace
}  // namespace capstan::cli
