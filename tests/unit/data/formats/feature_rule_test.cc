#include "capstan/data/formats/feature_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::FeatureSpec Ids() {
  v1::FeatureSpec spec;
  spec.set_kind(v1::KEY_KIND_ID);
  return spec;
}

v1::FeatureSpec ManyIds() {
  v1::FeatureSpec spec = Ids();
  spec.set_many(true);
  spec.set_separator("|");
  spec.set_most(3);
  return spec;
}

std::vector<uint64_t> KeysOf(const v1::FeatureSpec& spec, std::string_view cell) {
  std::vector<uint64_t> keys;
  std::string error;
  EXPECT_TRUE(FeatureRule(spec).Append(cell, keys, error)) << error;
  return keys;
}

std::string ErrorOf(const v1::FeatureSpec& spec, std::string_view cell) {
  std::vector<uint64_t> keys;
  std::string error;
  EXPECT_FALSE(FeatureRule(spec).Append(cell, keys, error)) << cell;
  return error;
}

TEST(FeatureRuleTest, AnIdIsItsKey) {
  EXPECT_THAT(KeysOf(Ids(), "0"), ElementsAre(0));
  EXPECT_THAT(KeysOf(Ids(), "18446744073709551615"), ElementsAre(18446744073709551615u));
  EXPECT_THAT(KeysOf(Ids(), ""), IsEmpty());
}

TEST(FeatureRuleTest, WhatIsNoIdIsToldAsItStands) {
  EXPECT_EQ(ErrorOf(Ids(), "-5"), "\"-5\" is not an id: a whole number from 0 to 2^64-1");
  for (const char* cell : {"18446744073709551616", "1.0", " 1", "1 ", "x", "0x10", "+1"}) {
    EXPECT_NE(ErrorOf(Ids(), cell), "") << cell;
  }
  EXPECT_NE(ErrorOf(ManyIds(), "1|2|x"), "");
}

TEST(FeatureRuleTest, AHashedValueHasTheKeyOfItsTextWhicheverItsColumn) {
  v1::FeatureSpec spec;
  spec.set_column(7);
  EXPECT_THAT(KeysOf(spec, "zurich"), ElementsAre(HashText("zurich")));
  EXPECT_THAT(KeysOf(spec, ""), ElementsAre(HashText(""))) << "a value of its own";
}

TEST(FeatureRuleTest, OfManyValuesTheFirstCountAndEmptyOnesAreNone) {
  EXPECT_THAT(KeysOf(ManyIds(), "7"), ElementsAre(7));
  EXPECT_THAT(KeysOf(ManyIds(), "7|8|7"), ElementsAre(7, 8, 7));
  EXPECT_THAT(KeysOf(ManyIds(), "1|2|3|4|not read any more"), ElementsAre(1, 2, 3));
  EXPECT_THAT(KeysOf(ManyIds(), "||5||6|"), ElementsAre(5, 6));
  EXPECT_THAT(KeysOf(ManyIds(), ""), IsEmpty());
  EXPECT_THAT(KeysOf(ManyIds(), "|"), IsEmpty());
}

TEST(FeatureRuleTest, BucketsBoundTheKeys) {
  v1::FeatureSpec spec = ManyIds();
  spec.set_buckets(10);
  EXPECT_THAT(KeysOf(spec, "7|10|123"), ElementsAre(7, 0, 3));
}

}  // namespace
}  // namespace capstan
