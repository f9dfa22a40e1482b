#include "capstan/data/formats/tf_example.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "tests/unit/data/bytes_of.h"

namespace capstan {
namespace {

constexpr int kBytesList = 1;
constexpr int kFloatList = 2;
constexpr int kInt64List = 3;

// A field that holds bytes or a message.
std::string Nested(int number, const std::string& content) {
  return BytesOf({number << 3 | 2, static_cast<int>(content.size())}) + content;
}

// An entry of the map of features.
std::string EntryOf(const std::string& name, int kind, const std::string& list) {
  return Nested(1, Nested(1, name) + Nested(2, Nested(kind, list)));
}

// The value of feature x, which is "A" if it is a text.
std::optional<FeatureValue> ValueIn(const std::string& entries) {
  const std::string message = Nested(1, entries);
  TwoFeatures found;
  EXPECT_TRUE(FindFeatures(message, "x", "", found));
  if (found.first && std::holds_alternative<std::string_view>(*found.first)) {
    EXPECT_EQ(std::get<std::string_view>(*found.first), "A");
  }
  return found.first;
}

bool IsExample(const std::string& message) {
  TwoFeatures found;
  return FindFeatures(message, "x", "y", found);
}

TEST(TfExampleTest, TheFirstValueOfAListCounts) {
  EXPECT_TRUE(ValueIn(EntryOf("x", kBytesList, Nested(1, "A") + Nested(1, "B"))).has_value());
  EXPECT_EQ(ValueIn(EntryOf("x", kInt64List, BytesOf({0x08, 5, 0x08, 6}))),
            FeatureValue(int64_t{5}));
  EXPECT_EQ(ValueIn(EntryOf("x", kInt64List, Nested(1, BytesOf({0x80, 0x01, 6})))),
            FeatureValue(int64_t{128}));
  EXPECT_EQ(ValueIn(EntryOf("x", kFloatList, BytesOf({0x0D, 0, 0, 0, 0x3F}))), FeatureValue(0.5F));
}

TEST(TfExampleTest, AListWithoutValuesHasNone) {
  for (const int kind : {kBytesList, kFloatList, kInt64List}) {
    EXPECT_EQ(ValueIn(EntryOf("x", kind, "")), std::nullopt);
  }
  EXPECT_EQ(ValueIn(EntryOf("x", kFloatList, Nested(1, ""))), std::nullopt);
  EXPECT_EQ(ValueIn(EntryOf("x", kInt64List, Nested(1, ""))), std::nullopt);
  EXPECT_EQ(ValueIn(EntryOf("other", kInt64List, BytesOf({0x08, 5}))), std::nullopt);
}

// As protobuf takes a field of another kind for one that it does not know.
TEST(TfExampleTest, ANumberThatIsWrittenAsAnotherKindIsNoValueOfItsList) {
  const std::string eight_bytes = BytesOf({0x09, 1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(ValueIn(EntryOf("x", kInt64List, eight_bytes)), std::nullopt);
  EXPECT_EQ(ValueIn(EntryOf("x", kFloatList, eight_bytes)), std::nullopt);
  EXPECT_EQ(ValueIn(EntryOf("x", kFloatList, BytesOf({0x08, 5}))), std::nullopt);
  EXPECT_EQ(ValueIn(EntryOf("x", kBytesList, BytesOf({0x08, 5}))), std::nullopt);
  EXPECT_EQ(ValueIn(EntryOf("x", kInt64List, eight_bytes + BytesOf({0x08, 5}))),
            FeatureValue(int64_t{5}));
}

TEST(TfExampleTest, OfTwoFeaturesOfOneNameTheLaterOneCounts) {
  const std::string five = EntryOf("x", kInt64List, BytesOf({0x08, 5}));
  const std::string six = EntryOf("x", kInt64List, BytesOf({0x08, 6}));
  EXPECT_EQ(ValueIn(five + six), FeatureValue(int64_t{6}));
  EXPECT_EQ(ValueIn(five + EntryOf("x", kInt64List, "")), std::nullopt);
}

TEST(TfExampleTest, FieldsThatNobodyKnowsArePassedOver) {
  const std::string unknown = BytesOf({0x78, 0x96, 0x01}) + Nested(9, "bytes") +
                              BytesOf({0x4D, 1, 2, 3, 4}) + BytesOf({0x49, 1, 2, 3, 4, 5, 6, 7, 8});
  TwoFeatures found;
  ASSERT_TRUE(FindFeatures(
      unknown + Nested(1, unknown + EntryOf("x", kInt64List, unknown + BytesOf({0x08, 5}))), "x",
      "x", found));
  EXPECT_EQ(found.first, FeatureValue(int64_t{5}));
  EXPECT_EQ(found.second, FeatureValue(int64_t{5}));
}

TEST(TfExampleTest, LengthsThatLieAndGroupsAreNoExample) {
  EXPECT_TRUE(IsExample(""));
  EXPECT_TRUE(IsExample(Nested(1, "")));
  EXPECT_FALSE(IsExample(BytesOf({0x0A, 5, 0x0A})));
  EXPECT_FALSE(IsExample(BytesOf({0x0A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1})));
  EXPECT_FALSE(IsExample(BytesOf({0x0B})));
  EXPECT_FALSE(IsExample(BytesOf({0x80})));
  EXPECT_FALSE(IsExample(Nested(1, EntryOf("x", kFloatList, Nested(1, "abc")))));
  EXPECT_FALSE(IsExample(Nested(1, EntryOf("y", kInt64List, Nested(1, "\x80")))));
  EXPECT_FALSE(IsExample(Nested(1, Nested(1, BytesOf({0x0A, 9})))));
}

}  // namespace
}  // namespace capstan
