#include "capstan/objectstore/s3/flat_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"

namespace capstan {
namespace {

TEST(ParseFlatJsonTest, RefusesWhatIsNoObjectOfTexts) {
  for (const char* bad :
       {"", "{", "{\"a\"}", "{\"a\":}", "{\"a\":\"b\"", "{\"a\":\"b\"}x", "{\"a\":{}}",
        "{\"a\":[1]}", "{\"a\":\"\\x\"}", "{\"a\":\"\n\"}", "{\"a\":\"b\",}", "{a:\"b\"}"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseFlatJson(bad).status())) << bad;
  }
  EXPECT_THAT(*ParseFlatJson(R"({ "a\n" : "\u00e9\"" , "b":true })"),
              testing::ElementsAre(testing::Pair("a\n", "\u00e9\"")));
}

TEST(ParseFlatJsonTest, WhatIsNoTextIsPassedOver) {
  EXPECT_THAT(
      *ParseFlatJson(R"({"a": 1, "b": -2.5e3, "c": true, "d": null, "e": "text", "f": ""})"),
      testing::ElementsAre(testing::Pair("e", "text"), testing::Pair("f", "")));
  EXPECT_THAT(*ParseFlatJson("{}"), testing::IsEmpty());
}

TEST(ParseFlatJsonTest, NoMessageShowsASecret) {
  for (const char* document : {"{\"key\": \"s3cret\"", "[\"s3cret\"]", "s3cret",
                               "{\"key\": {\"nested\": \"s3cret\"}}", "{\"s3cret\": \"\xFF\"}"}) {
    const absl::Status status = ParseFlatJson(document).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << document;
    EXPECT_THAT(std::string(status.message()), testing::Not(testing::HasSubstr("s3cret")));
  }
}

TEST(ParseFlatJsonTest, DeepNestingIsRefusedLikeAnyOther) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_TRUE(absl::IsDataLoss(ParseFlatJson(deep).status()));
  EXPECT_TRUE(absl::IsDataLoss(ParseFlatJson("{\"a\":" + deep + "}").status()));
}

}  // namespace
}  // namespace capstan
