#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "capstan/objectstore/s3/digest.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

class S3ReadTest : public testing::Test {
 protected:
  absl::StatusOr<Object> Read(const ReadRange& range = {}) {
    return ReadS3Object(*client_, "ctr/a", range);
  }
  // The front of an answer whose connection breaks then.
  void ThenBreaks(int status, const std::string& front, HttpHeaders headers) {
    world_.http.script.push_back([=](const HttpRequest& request) -> ScriptedHttp::Answer {
      EXPECT_NE(request.partial, nullptr);
      *request.partial = {.status = status, .headers = headers, .body = front};
      return absl::UnavailableError("reset");
    });
  }

  ScriptedWorld world_;
  const std::unique_ptr<S3Client> client_ =
      *S3Client::Create(world_.options, "ads", world_.World());
};

TEST_F(S3ReadTest, AWholeObjectIsAskedForWithoutARangeAndWithItsChecksum) {
  world_.http.Then(200, "bytes",
                   {{"etag", "\"7\""}, {"x-amz-checksum-crc32c", Crc32cText("bytes")}});
  const absl::StatusOr<Object> object = Read();
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->bytes, "bytes");
  EXPECT_EQ(object->size, 5u);
  EXPECT_EQ(object->version.token, "\"7\"");
  EXPECT_EQ(world_.http.Header(0, "range"), "");
  EXPECT_EQ(world_.http.Header(0, "x-amz-checksum-mode"), "ENABLED");
}

TEST_F(S3ReadTest, OtherBytesThanWereStoredAreDamage) {
  world_.http.Then(200, "bytes",
                   {{"etag", "\"7\""}, {"x-amz-checksum-crc32c", Crc32cText("others")}});
  EXPECT_TRUE(absl::IsDataLoss(Read().status()));
  // The checksum of the parts of an upload says nothing of the bytes.
  world_.http.Then(200, "bytes", {{"etag", "\"7\""}, {"x-amz-checksum-crc32c", "AAAAAA==-3"}});
  EXPECT_TRUE(Read().ok());
  world_.http.Then(200, "bytes",
                   {{"etag", "\"7\""},
                    {"x-amz-checksum-crc32c", "AAAAAA=="},
                    {"x-amz-checksum-type", "COMPOSITE"}});
  EXPECT_TRUE(Read().ok());
}

TEST_F(S3ReadTest, ARangeOfNothingIsAskedForByItsHead) {
  for (int i = 0; i < 3; ++i) {
    world_.http.Then(200, "", {{"etag", "\"7\""}, {"content-length", "5"}});
  }
  const absl::StatusOr<Object> nothing = Read({.offset = 5, .length = 0});
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_EQ(nothing->bytes, "");
  EXPECT_EQ(nothing->size, 5u);
  EXPECT_EQ(nothing->version.token, "\"7\"");
  EXPECT_TRUE(absl::IsOutOfRange(Read({.offset = 6, .length = 0}).status()));
  EXPECT_TRUE(absl::IsAborted(Read({.length = 0, .version = {"\"6\""}}).status()))
      << "another version is stored";
  for (const HttpRequest& request : world_.http.requests) EXPECT_EQ(request.method, "HEAD");
}

TEST_F(S3ReadTest, WhereTheRangeBeginsAtTheEndThereIsNothingToRead) {
  const auto out_of_range = [this] { world_.http.ThenError(416, "InvalidRange"); };
  const auto head = [this] {
    world_.http.Then(200, "", {{"etag", "\"7\""}, {"content-length", "5"}});
  };
  out_of_range();
  head();
  EXPECT_EQ(Read({.offset = 5})->bytes, "");
  out_of_range();
  head();
  EXPECT_EQ(Read({.offset = 5, .length = 9, .may_be_short = true})->bytes, "");
  out_of_range();
  head();
  EXPECT_TRUE(absl::IsOutOfRange(Read({.offset = 5, .length = 1}).status()));
  out_of_range();
  head();
  EXPECT_TRUE(absl::IsAborted(Read({.offset = 4, .length = 1}).status()))
      << "it has grown since it was refused";
}

TEST_F(S3ReadTest, ABrokenReadGoesOnWithTheSameVersion) {
  ThenBreaks(200, "01234", {{"etag", "\"7\""}});
  world_.http.Then(206, "56789", {{"etag", "\"7\""}, {"content-range", "bytes 5-9/10"}});
  EXPECT_EQ(Read()->bytes, "0123456789");
  EXPECT_EQ(world_.http.Header(1, "range"), "bytes=5-");
  EXPECT_EQ(world_.http.Header(1, "if-match"), "\"7\"");
}

TEST_F(S3ReadTest, WhatWasReplacedMeanwhileIsReadAnewAndNotMixed) {
  ThenBreaks(200, "01234", {{"etag", "\"7\""}});
  world_.http.ThenError(412, "PreconditionFailed");
  world_.http.Then(200, "abc", {{"etag", "\"8\""}});
  const absl::StatusOr<Object> object = Read();
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ(object->bytes, "abc");
  EXPECT_EQ(object->version.token, "\"8\"");
}

TEST_F(S3ReadTest, WhatIsReplacedAgainAndAgainIsGivenUp) {
  for (int i = 0; i < 3; ++i) {
    ThenBreaks(200, "01234", {{"etag", "\"7\""}});
    world_.http.ThenError(412, "PreconditionFailed");
  }
  EXPECT_TRUE(absl::IsAborted(Read().status()));
}

TEST_F(S3ReadTest, TheVersionThatWasAskedForIsNeverAnother) {
  ThenBreaks(206, "01", {{"etag", "\"7\""}, {"content-range", "bytes 0-3/9"}});
  world_.http.ThenError(412, "PreconditionFailed");
  EXPECT_TRUE(absl::IsAborted(Read({.length = 4, .version = {"\"7\""}}).status()));
  EXPECT_EQ(world_.http.Header(0, "if-match"), "\"7\"");
}

TEST_F(S3ReadTest, ARangeThatTheServerDidNotKeepToIsDamage) {
  const auto read_with = [this](const std::string& content_range, const std::string& body) {
    world_.http.Then(206, body, {{"etag", "\"7\""}, {"content-range", content_range}});
    return Read({.offset = 2, .length = 4}).status();
  };
  EXPECT_TRUE(read_with("bytes 2-5/10", "2345").ok());
  for (const char* wrong : {"bytes 2-5/5", "bytes 2-4/10", "bytes 1-4/10", "bytes 5-2/10",
                            "bytes 2-5/*", "bytes 2-5", "2-5/10", "bytes 2-5/10/1", ""}) {
    EXPECT_TRUE(absl::IsDataLoss(read_with(wrong, "2345"))) << wrong;
  }
  EXPECT_TRUE(absl::IsDataLoss(read_with("bytes 2-5/10", "234")));
  EXPECT_TRUE(absl::IsDataLoss(read_with("bytes 2-5/10", "23456")));
}

TEST_F(S3ReadTest, AnObjectThatEndsWithinTheRangeIsOutOfItUnlessItMayBeShort) {
  const HttpHeaders headers = {{"etag", "\"7\""}, {"content-range", "bytes 2-4/5"}};
  world_.http.Then(206, "234", headers);
  world_.http.Then(200, "", {{"etag", "\"7\""}, {"content-length", "5"}});
  EXPECT_TRUE(absl::IsOutOfRange(Read({.offset = 2, .length = 4}).status()));
  world_.http.Then(206, "234", headers);
  const absl::StatusOr<Object> shorter = Read({.offset = 2, .length = 4, .may_be_short = true});
  ASSERT_TRUE(shorter.ok()) << shorter.status();
  EXPECT_EQ(shorter->bytes, "234");
  EXPECT_EQ(shorter->size, 5u);
}

}  // namespace
}  // namespace capstan
