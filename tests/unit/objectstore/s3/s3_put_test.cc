#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

class S3PutTest : public testing::Test {
 protected:
  absl::StatusOr<ObjectVersion> Put(WriteCondition::Kind kind = WriteCondition::Kind::kAlways) {
    return PutS3Object(*client_, "ctr/a", "bytes", {.kind = kind, .version = {"\"7\""}});
  }
  void LoseAnAnswer() { world_.http.Then(absl::UnavailableError("reset")); }
  // The random id of each write of this world.
  std::string WriteId() const { return world_.http.Header(0, kWriteIdHeader); }

  ScriptedWorld world_;
  const std::unique_ptr<S3Client> client_ =
      *S3Client::Create(world_.options, "ads", world_.World());
};

TEST_F(S3PutTest, AConditionIsAskedOfTheServer) {
  for (int i = 0; i < 3; ++i) world_.http.Then(200, "", {{"etag", "\"8\""}});
  EXPECT_EQ(*Put(), ObjectVersion{"\"8\""});
  ASSERT_TRUE(Put(WriteCondition::Kind::kAbsent).ok());
  ASSERT_TRUE(Put(WriteCondition::Kind::kMatches).ok());
  EXPECT_EQ(world_.http.Header(0, "if-none-match"), "");
  EXPECT_EQ(world_.http.Header(0, "if-match"), "");
  EXPECT_EQ(world_.http.Header(1, "if-none-match"), "*");
  EXPECT_EQ(world_.http.Header(2, "if-match"), "\"7\"");
}

TEST_F(S3PutTest, ARefusalSaysWhichConditionDoesNotHold) {
  world_.http.ThenError(412, "PreconditionFailed");
  EXPECT_TRUE(absl::IsAlreadyExists(Put(WriteCondition::Kind::kAbsent).status()));
  world_.http.ThenError(412, "PreconditionFailed");
  EXPECT_TRUE(absl::IsAborted(Put(WriteCondition::Kind::kMatches).status()));
  world_.http.ThenError(404, "NoSuchKey");
  EXPECT_TRUE(absl::IsAborted(Put(WriteCondition::Kind::kMatches).status()))
      << "there is none that could match";
  EXPECT_EQ(world_.http.requests.size(), 3u) << "no refusal is asked about, or repeated";
}

TEST_F(S3PutTest, ABucketThatIsNotThereIsNoConditionThatFails) {
  world_.http.ThenError(404, "NoSuchBucket");
  EXPECT_TRUE(absl::IsFailedPrecondition(Put(WriteCondition::Kind::kMatches).status()));
}

TEST_F(S3PutTest, ItsOwnWriteWhoseAnswerWasLostIsNoRivals) {
  LoseAnAnswer();
  world_.http.ThenError(412, "PreconditionFailed");
  world_.http.script.push_back([this](const HttpRequest& request) {
    EXPECT_EQ(request.method, "HEAD");
    return HttpResponse{.status = 200, .headers = {{kWriteIdHeader, WriteId()}, {"etag", "\"8\""}}};
  });
  EXPECT_EQ(*Put(WriteCondition::Kind::kMatches), ObjectVersion{"\"8\""});
}

TEST_F(S3PutTest, ARefusalStandsWhereAnotherWriteOrNoneIsStored) {
  LoseAnAnswer();
  world_.http.ThenError(412, "PreconditionFailed");
  world_.http.Then(200, "", {{kWriteIdHeader, "a rival's"}, {"etag", "\"8\""}});
  EXPECT_TRUE(absl::IsAlreadyExists(Put(WriteCondition::Kind::kAbsent).status()));
  LoseAnAnswer();
  world_.http.ThenError(412, "PreconditionFailed");
  world_.http.Then(404);
  world_.http.ThenError(404, "NoSuchKey");  // To the GET, which asks who says so.
  EXPECT_TRUE(absl::IsAborted(Put(WriteCondition::Kind::kMatches).status()));
}

TEST_F(S3PutTest, AnOutcomeThatCannotBeFoundOutIsNoRefusal) {
  LoseAnAnswer();
  world_.http.ThenError(412, "PreconditionFailed");
  world_.http.otherwise = [](const HttpRequest&) { return absl::UnavailableError("away"); };
  EXPECT_TRUE(absl::IsUnavailable(Put(WriteCondition::Kind::kAbsent).status()));
}

TEST_F(S3PutTest, AnAnswerWithoutAVersionOrOfOtherBytesIsDamage) {
  world_.http.Then(200, "<html/>");
  EXPECT_TRUE(absl::IsDataLoss(Put().status())) << "an answer of somebody else";
  world_.http.Then(200, "", {{"etag", "\"8\""}, {"x-amz-checksum-crc32c", "AAAAAA=="}});
  EXPECT_EQ(Put().status(),
            absl::DataLossError("ctr/a: the server has stored other bytes than we sent"));
}

TEST_F(S3PutTest, ServersThatRefuseChecksumsGetNone) {
  world_.options.checksums = false;
  const auto client = *S3Client::Create(world_.options, "ads", world_.World());
  world_.http.Then(200, "", {{"etag", "\"8\""}});
  ASSERT_TRUE(PutS3Object(*client, "ctr/a", "bytes", {}).ok());
  EXPECT_EQ(world_.http.Header(0, "x-amz-checksum-crc32c"), "");
}

}  // namespace
}  // namespace capstan
