#include "capstan/objectstore/s3/s3_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class S3ClientTest : public testing::Test {
 protected:
  std::unique_ptr<S3Client> Client() {
    return *S3Client::Create(world_.options, "ads", world_.World());
  }

  ScriptedWorld world_;
};

TEST_F(S3ClientTest, WhatIsWrongWithTheOptionsIsToldWhenItIsMade) {
  world_.options.endpoint = "ftp://s3.test";
  EXPECT_TRUE(
      absl::IsInvalidArgument(S3Client::Create(world_.options, "ads", world_.World()).status()));
  world_.options.endpoint = "http://s3.test";
  EXPECT_TRUE(
      absl::IsFailedPrecondition(S3Client::Create(world_.options, "ads", world_.World()).status()));
}

TEST_F(S3ClientTest, AKeyAndAQueryAreEncodedAndTheQueryIsInNoMessage) {
  world_.http.ThenError(400, "InvalidRequest");
  const S3Result result = Client()->Send(
      {.method = "POST", .key = "ctr/a b+\xC3\xBC", .query = {{"uploadId", "s3cret/="}}});
  EXPECT_EQ(world_.http.requests[0].url,
            "https://s3.test/ads/ctr/a%20b%2B%C3%BC?uploadId=s3cret%2F%3D");
  EXPECT_EQ(
      result.response.status(),
      absl::InvalidArgumentError("S3 POST ctr/a b+\xC3\xBC: HTTP 400 InvalidRequest (1 attempt)"));
}

TEST_F(S3ClientTest, WithoutAKeyTheBucketIsMeant) {
  world_.http.ThenError(403, "AccessDenied");
  EXPECT_EQ(Client()->Send({.method = "GET"}).response.status(),
            absl::PermissionDeniedError("S3 GET bucket: HTTP 403 AccessDenied (1 attempt)"));
  EXPECT_EQ(world_.http.requests[0].url, "https://s3.test/ads/");
}

TEST_F(S3ClientTest, WhatIsSentOnceIsNotTriedAgain) {
  world_.http.ThenError(503, "SlowDown");
  EXPECT_TRUE(absl::IsUnavailable(
      Client()->Send({.method = "DELETE", .key = "a", .once = true}).response.status()));
  EXPECT_THAT(world_.pauses, IsEmpty());
  world_.http.ThenError(403, "ExpiredToken");
  EXPECT_FALSE(Client()->Send({.method = "DELETE", .key = "a", .once = true}).response.ok());
}

TEST_F(S3ClientTest, SaysWhetherAnEarlierAttemptMayHaveBeenCarriedOut) {
  world_.http.Then(200);
  EXPECT_FALSE(Client()->Send({.method = "PUT", .key = "a"}).repeated);
  world_.http.Then(absl::UnavailableError("reset"));
  world_.http.Then(200);
  EXPECT_TRUE(Client()->Send({.method = "PUT", .key = "a"}).repeated);
  world_.http.ThenError(403, "ExpiredToken");
  world_.http.Then(200);
  EXPECT_FALSE(Client()->Send({.method = "PUT", .key = "a"}).repeated)
      << "what is refused is not carried out";
}

TEST_F(S3ClientTest, NothingIsSentOnceItIsCancelled) {
  const auto client = Client();
  client->Cancel();
  EXPECT_EQ(client->Send({.method = "GET", .key = "a"}).response.status(),
            absl::CancelledError("S3 GET a"));
  EXPECT_THAT(world_.http.requests, IsEmpty());
}

TEST_F(S3ClientTest, APauseThatIsCancelledIsTheLast) {
  const auto client = Client();
  world_.http.script.push_back([&client](const HttpRequest&) -> ScriptedHttp::Answer {
    client->Cancel();
    return absl::UnavailableError("reset");
  });
  EXPECT_TRUE(absl::IsCancelled(client->Send({.method = "GET", .key = "a"}).response.status()));
  EXPECT_EQ(world_.http.requests.size(), 1u);
}

TEST_F(S3ClientTest, WithoutASessionThereIsNoTokenOfOne) {
  world_.options.session_token.clear();
  world_.http.Then(200);
  ASSERT_TRUE(Client()->Send({.method = "GET", .key = "a"}).response.ok());
  EXPECT_EQ(world_.http.Header(0, "x-amz-security-token"), "");
  EXPECT_THAT(world_.http.Header(0, "authorization"), Not(HasSubstr("security-token")));
}

TEST_F(S3ClientTest, ACorrectedClockStaysCorrected) {
  const auto client = Client();
  world_.http.ThenError(403, "RequestTimeTooSkewed", {{"date", "Fri, 15 Jan 2027 09:00:00 GMT"}});
  world_.http.Then(200);
  world_.http.Then(200);
  ASSERT_TRUE(client->Send({.method = "GET", .key = "a"}).response.ok());
  ASSERT_TRUE(client->Send({.method = "GET", .key = "a"}).response.ok());
  EXPECT_EQ(world_.http.Header(0, "x-amz-date"), "20270115T080000Z");
  EXPECT_EQ(world_.http.Header(1, "x-amz-date"), "20270115T090000Z");
  EXPECT_EQ(world_.http.Header(2, "x-amz-date"), "20270115T090000Z");
}

TEST_F(S3ClientTest, AnErrorInAnAnswerOfSuccessIsOneWhereXmlIsExpected) {
  const std::string body = "<Error><Code>AccessDenied</Code></Error>";
  world_.http.Then(200, body);
  EXPECT_EQ(Client()->Send({.method = "GET", .key = "a"}).response->body, body)
      << "an object may hold anything";
  world_.http.Then(200, body);
  EXPECT_FALSE(Client()->Send({.method = "POST", .xml_answer = true}).response.ok());
}

TEST_F(S3ClientTest, WhatHasComeOfABrokenAnswerIsKeptOnlyIfItsVersionIsKnown) {
  const auto send = [this](HttpResponse partial) {
    world_.http.script.push_back([partial](const HttpRequest& request) -> ScriptedHttp::Answer {
      *request.partial = partial;
      return absl::UnavailableError("reset");
    });
    world_.http.Then(200, "whole");
    return Client()->Send({.method = "GET", .key = "a", .keeps_partial = true});
  };
  const S3Result kept = send({.status = 206, .headers = {{"etag", "\"7\""}}, .body = "who"});
  EXPECT_TRUE(absl::IsUnavailable(kept.response.status()));
  EXPECT_EQ(kept.partial.body, "who");
  world_.http.script.clear();
  for (const HttpResponse& partial :
       {HttpResponse{.status = 200, .headers = {}, .body = "who"},
        HttpResponse{.status = 200, .headers = {{"etag", "\"7\""}}, .body = ""},
        HttpResponse{.status = 500, .headers = {{"etag", "\"7\""}}, .body = "who"}}) {
    const S3Result result = send(partial);
    ASSERT_TRUE(result.response.ok()) << partial.status;
    EXPECT_EQ(result.response->body, "whole");
  }
}

TEST_F(S3ClientTest, AnIdOfAWriteHas128BitsAlsoAtTheEndsOfTheRange) {
  double drawn = 0;
  S3World world = world_.World();
  world.unit = [&drawn] { return drawn; };
  const auto client = *S3Client::Create(world_.options, "ads", world);
  EXPECT_EQ(client->NewWriteId(), std::string(32, '0'));
  drawn = 1 - 0x1p-53;
  EXPECT_EQ(client->NewWriteId(), std::string(32, 'f'));
}

}  // namespace
}  // namespace capstan
