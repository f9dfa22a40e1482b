#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class S3DeleteTest : public testing::Test {
 protected:
  absl::Status Delete(const std::vector<std::string>& keys) {
    return DeleteS3Objects(*client_, keys);
  }
  static std::string Failed(const std::string& key, const std::string& code) {
    return absl::StrCat("<Error><Key>", key, "</Key><Code>", code, "</Code></Error>");
  }
  void ThenResult(const std::string& errors) {
    world_.http.Then(200, absl::StrCat("<DeleteResult>", errors, "</DeleteResult>"));
  }

  ScriptedWorld world_;
  const std::unique_ptr<S3Client> client_ =
      *S3Client::Create(world_.options, "ads", world_.World());
};

TEST_F(S3DeleteTest, NothingIsAskedForNoKeys) {
  EXPECT_TRUE(Delete({}).ok());
  EXPECT_TRUE(world_.http.requests.empty());
}

TEST_F(S3DeleteTest, OneObjectNeedsNoBatchAndMayBeGone) {
  world_.http.Then(204);
  world_.http.ThenError(404, "NoSuchKey");
  EXPECT_TRUE(Delete({"ctr/a"}).ok());
  EXPECT_TRUE(Delete({"ctr/a"}).ok());
  EXPECT_EQ(world_.http.requests[0].method, "DELETE");
  EXPECT_EQ(world_.http.requests[0].url, "https://s3.test/ads/ctr/a");
}

TEST_F(S3DeleteTest, AnIngressWithoutAStoreBehindItHasDeletedNothing) {
  world_.options.attempts = 1;
  const auto client = *S3Client::Create(world_.options, "ads", world_.World());
  world_.http.Then(404, "<html>no route</html>");
  const std::vector<std::string> one = {"ctr/a"};
  EXPECT_TRUE(absl::IsUnavailable(DeleteS3Objects(*client, one)));
}

TEST_F(S3DeleteTest, AThousandKeysAreOneRequestAndOneMoreIsAnother) {
  std::vector<std::string> keys;
  for (int i = 0; i < 1001; ++i) keys.push_back(absl::StrCat("ctr/", i));
  ThenResult("");
  ThenResult("");
  ASSERT_TRUE(Delete(keys).ok());
  ASSERT_EQ(world_.http.bodies.size(), 2u);
  EXPECT_THAT(world_.http.bodies[0], HasSubstr("<Key>ctr/999</Key>"));
  EXPECT_THAT(world_.http.bodies[0], Not(HasSubstr("<Key>ctr/1000</Key>")));
  EXPECT_THAT(world_.http.bodies[1], HasSubstr("<Object><Key>ctr/1000</Key></Object></Delete>"));
  EXPECT_EQ(world_.http.requests[1].url, "https://s3.test/ads/?delete=");
}

TEST_F(S3DeleteTest, AKeyIsWrittenSoThatItIsNoMarkup) {
  ThenResult("");
  ASSERT_TRUE(Delete({"a<b>&c", "d"}).ok());
  EXPECT_THAT(world_.http.bodies[0], HasSubstr("<Key>a&lt;b&gt;&amp;c</Key>"));
}

TEST_F(S3DeleteTest, WhatIsGoneAlreadyIsNoErrorAndWhatStaysIsNamed) {
  ThenResult(Failed("ctr/a", "NoSuchKey"));
  EXPECT_TRUE(Delete({"ctr/a", "ctr/b"}).ok());
  ThenResult(absl::StrCat(Failed("ctr/a", "NoSuchKey"), Failed("ctr/b", "AccessDenied")));
  EXPECT_EQ(Delete({"ctr/a", "ctr/b"}),
            absl::PermissionDeniedError("ctr/b: not deleted: AccessDenied"));
  ThenResult(Failed("ctr/b", "InternalError"));
  EXPECT_EQ(Delete({"ctr/a", "ctr/b"}),
            absl::UnavailableError("ctr/b: not deleted: InternalError"));
}

TEST_F(S3DeleteTest, AFailedBatchEndsTheDeletion) {
  const std::vector<std::string> keys(1001, "ctr/a");
  ThenResult(Failed("ctr/a", "AccessDenied"));
  EXPECT_TRUE(absl::IsPermissionDenied(Delete(keys)));
  EXPECT_EQ(world_.http.requests.size(), 1u);
}

TEST_F(S3DeleteTest, APageOfSomebodyElseIsNoAnswerOfTheStore) {
  for (const char* page : {"<html><body>Sign in</body></html>", "<ListBucketResult/>", "", "ok"}) {
    world_.http.Then(200, page);
    EXPECT_TRUE(absl::IsDataLoss(Delete({"ctr/a", "ctr/b"}))) << page;
  }
}

TEST_F(S3DeleteTest, AnErrorInAnAnswerOfSuccessIsTriedAgain) {
  world_.http.Then(200, "<Error><Code>InternalError</Code></Error>");
  ThenResult("");
  EXPECT_TRUE(Delete({"ctr/a", "ctr/b"}).ok());
  EXPECT_THAT(world_.pauses, ElementsAre(absl::Milliseconds(50)));
}

}  // namespace
}  // namespace capstan
