// What the agent of a container is asked, and who is told the token.
#include <gtest/gtest.h>

#include <string>

#include "absl/status/status.h"
#include "capstan/objectstore/s3/credentials.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

class ContainerCredentialsTest : public testing::Test {
 protected:
  const TestFolder temporary_;
  const std::string token_file_ = temporary_.Write("token", "first-token\n");
  ScriptedHttp http_;
  S3Options options_ = {.container_credentials_uri = "http://169.254.170.23/v1/credentials",
                        .container_token_file = token_file_};
};

TEST_F(ContainerCredentialsTest, AsksTheAgentWithTheTokenOfTheFile) {
  http_.Then(200,
             R"({"AccessKeyId": "id", "SecretAccessKey": "sec\/ret", "Token": "session",
                 "Expiration": "2027-01-15T09:00:00Z", "AccountId": null, "N": 1.5})");
  const S3Credentials credentials = *FetchContainerCredentials(options_, http_);
  EXPECT_EQ(credentials.access_key + credentials.secret_key + credentials.session_token,
            "idsec/retsession");
  EXPECT_EQ(http_.Header(0, "authorization"), "first-token");
  EXPECT_TRUE(http_.requests[0].direct);
}

TEST_F(ContainerCredentialsTest, GivesTheTokenToNobodyElseInTheClear) {
  for (const char* uri :
       {"http://example.com/", "http://127.0.0.1.example.com/", "ftp://127.0.0.1/"}) {
    options_.container_credentials_uri = uri;
    EXPECT_TRUE(absl::IsFailedPrecondition(FetchContainerCredentials(options_, http_).status()))
        << uri;
  }
}

TEST_F(ContainerCredentialsTest, RefusesWhatHoldsNoCredentials) {
  for (const char* body : {"", "{}", "[]", R"({"AccessKeyId": "id", "SecretAccessKey": "s"})"}) {
    http_.Then(200, body);
    EXPECT_TRUE(absl::IsDataLoss(FetchContainerCredentials(options_, http_).status())) << body;
  }
}

TEST_F(ContainerCredentialsTest, AUserOfAnotherHostIsNotThisMachine) {
  for (const char* uri :
       {"http://127.0.0.1:80@example.com/", "http://localhost:x@example.com", "http://[::1]@e.com/",
        "http://169.254.170.2:80@example.com/v1", "http://169.254.170.23@example.com/"}) {
    options_.container_credentials_uri = uri;
    EXPECT_TRUE(absl::IsFailedPrecondition(FetchContainerCredentials(options_, http_).status()))
        << uri;
  }
  EXPECT_TRUE(http_.requests.empty()) << "the token would have gone there in the clear";
}

TEST_F(ContainerCredentialsTest, TheAgentsOfThisMachineMayBeAsked) {
  for (const char* uri :
       {"http://127.0.0.1", "http://localhost:9/x", "http://[::1]:80/a@b",
        "http://169.254.170.2/v2?id=1", "http://[fd00:ec2::23]/v1", "https://agent.example/x"}) {
    options_.container_credentials_uri = uri;
    http_.Then(200, R"({"AccessKeyId": "id", "SecretAccessKey": "s",
                        "Expiration": "2027-01-15T09:00:00Z"})");
    const absl::StatusOr<S3Credentials> credentials = FetchContainerCredentials(options_, http_);
    ASSERT_TRUE(credentials.ok()) << uri << ": " << credentials.status();
    EXPECT_EQ(credentials->session_token, "") << "there is none";
    EXPECT_EQ(http_.requests.back().url, uri);
  }
}

TEST_F(ContainerCredentialsTest, WithoutATokenTheAgentIsAskedWithoutOne) {
  options_.container_token_file.clear();
  http_.Then(503);
  EXPECT_TRUE(absl::IsUnavailable(FetchContainerCredentials(options_, http_).status()));
  EXPECT_TRUE(http_.requests.at(0).headers.empty());
}

TEST_F(ContainerCredentialsTest, ATokenThatCannotBeReadIsNotLeftOut) {
  options_.container_token_file = temporary_.Path("none");
  EXPECT_TRUE(absl::IsFailedPrecondition(FetchContainerCredentials(options_, http_).status()));
  options_.container_token_file = temporary_.Write("blank", " \n");
  EXPECT_TRUE(absl::IsFailedPrecondition(FetchContainerCredentials(options_, http_).status()));
  EXPECT_TRUE(http_.requests.empty());
}

}  // namespace
}  // namespace capstan
