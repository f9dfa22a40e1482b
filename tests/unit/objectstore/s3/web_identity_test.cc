// What the token service is asked, and what is made of its answers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "capstan/objectstore/s3/credentials.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::HasSubstr;
using testing::Not;

class WebIdentityTest : public testing::Test {
 protected:
  WebIdentityTest() { WriteToken("first-token"); }

  void WriteToken(const std::string& token) { std::ofstream(token_file_) << token << "\n"; }
  static std::string Answer(const std::string& id, const std::string& secret) {
    return absl::StrCat(
        "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
        "<AccessKeyId>",
        id, "</AccessKeyId><SecretAccessKey>", secret,
        "</SecretAccessKey><SessionToken>session</SessionToken>"
        "<Expiration>2027-01-15T09:00:00Z</Expiration>"
        "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>");
  }

  const TestFolder temporary_;
  const std::string token_file_ = temporary_.Path("token");
  ScriptedHttp http_;
  const S3Options options_ = {.region = "eu-west-1",
                              .role_arn = "arn:aws:iam::1:role/r",
                              .web_identity_token_file = token_file_};
  const std::string answer_ = Answer("id", "secret");
};

TEST_F(WebIdentityTest, TradesTheTokenOfTheFileEachTime) {
  http_.Then(200, answer_);
  const S3Credentials credentials = *FetchWebIdentity(options_, http_);
  EXPECT_EQ(credentials.access_key + credentials.secret_key + credentials.session_token,
            "idsecretsession");
  EXPECT_EQ(credentials.expires, absl::FromUnixSeconds(1'800'000'000) + absl::Hours(1));
  EXPECT_EQ(http_.requests[0].url, "https://sts.eu-west-1.amazonaws.com/");
  EXPECT_EQ(http_.bodies[0],
            "Action=AssumeRoleWithWebIdentity&RoleArn=arn%3Aaws%3Aiam%3A%3A1%3Arole%2Fr&"
            "RoleSessionName=capstan&Version=2011-06-15&WebIdentityToken=first-token");
  WriteToken("second-token");
  http_.Then(200, answer_);
  ASSERT_TRUE(FetchWebIdentity(options_, http_).ok());
  EXPECT_THAT(http_.bodies[1], HasSubstr("WebIdentityToken=second-token"));
}

TEST_F(WebIdentityTest, SaysWhyItIsRefusedWithoutTheToken) {
  http_.Then(403,
             "<ErrorResponse><Error><Code>AccessDenied</Code><Message>Not you</Message>"
             "</Error></ErrorResponse>");
  const absl::Status status = FetchWebIdentity(options_, http_).status();
  EXPECT_EQ(status, absl::PermissionDeniedError(
                        "AssumeRoleWithWebIdentity: HTTP 403 AccessDenied: Not you"));
  EXPECT_THAT(http_.requests[0].url, Not(HasSubstr("token")));
}

TEST_F(WebIdentityTest, RefusesAnAnswerWithoutCredentialsAndAPlainAddress) {
  http_.Then(200, "<AssumeRoleWithWebIdentityResponse/>");
  EXPECT_TRUE(absl::IsDataLoss(FetchWebIdentity(options_, http_).status()));
  S3Options plain = options_;
  plain.sts_endpoint = "http://sts";
  EXPECT_TRUE(absl::IsFailedPrecondition(FetchWebIdentity(plain, http_).status()));
  S3Options absent = options_;
  absent.web_identity_token_file = "/no/such";
  EXPECT_TRUE(absl::IsFailedPrecondition(FetchWebIdentity(absent, http_).status()));
}

TEST_F(WebIdentityTest, KeysThatAreEmptyAreNoCredentials) {
  for (const std::string& answer : {Answer("", "secret"), Answer("id", "")}) {
    http_.Then(200, answer);
    const absl::Status status = FetchWebIdentity(options_, http_).status();
    EXPECT_EQ(status,
              absl::DataLossError("AssumeRoleWithWebIdentity: the answer holds no credentials"));
  }
}

TEST_F(WebIdentityTest, AnAnswerThatIsDamagedShowsNothingOfItself) {
  std::string without_end = answer_;
  without_end.replace(without_end.find("2027-01"), 7, "never");
  for (const std::string& answer : {std::string("<html>"), std::string(), without_end}) {
    http_.Then(200, answer);
    const absl::Status status = FetchWebIdentity(options_, http_).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << answer;
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret"))) << answer;
  }
}

TEST_F(WebIdentityTest, TheServiceIsThatOfTheRegionOrTheOneThatIsNamed) {
  const auto url_with = [this](S3Options options) {
    http_.Then(200, answer_);
    EXPECT_TRUE(FetchWebIdentity(options, http_).ok());
    return http_.requests.back().url;
  };
  S3Options options = options_;
  options.region = "cn-north-1";
  EXPECT_EQ(url_with(options), "https://sts.cn-north-1.amazonaws.com.cn/");
  options.sts_endpoint = "https://sts.example:8443";
  EXPECT_EQ(url_with(options), "https://sts.example:8443/");
  options.sts_endpoint = "https://sts.example:8443/";
  EXPECT_EQ(url_with(options), "https://sts.example:8443/");
  options.sts_endpoint = "http://sts.example";
  options.allow_http = true;
  EXPECT_EQ(url_with(options), "http://sts.example/");
}

TEST_F(WebIdentityTest, AServiceThatIsAwayIsWorthARetry) {
  http_.Then(503);
  EXPECT_TRUE(absl::IsUnavailable(FetchWebIdentity(options_, http_).status()));
  http_.Then(absl::UnavailableError("no route"));
  EXPECT_EQ(FetchWebIdentity(options_, http_).status(), absl::UnavailableError("no route"));
}

}  // namespace
}  // namespace capstan
