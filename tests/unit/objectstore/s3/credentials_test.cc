#include "capstan/objectstore/s3/credentials.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/synchronization/notification.h"
#include "capstan/objectstore/s3/flat_json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::HasSubstr;
using testing::Not;

class CacheTest : public testing::Test {
 protected:
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  int fetched_ = 0;
  absl::Status failure_;
  S3CredentialsCache cache_{[this]() -> absl::StatusOr<S3Credentials> {
                              ++fetched_;
                              if (!failure_.ok()) return failure_;
                              return S3Credentials{.access_key = absl::StrCat("key-", fetched_),
                                                   .secret_key = "secret",
                                                   .expires = now_ + absl::Hours(1)};
                            },
                            [this] { return now_; }};
};

TEST_F(CacheTest, FetchesOnceAndAgainBeforeTheyExpire) {
  EXPECT_EQ(cache_.Get()->access_key, "key-1");
  now_ += absl::Minutes(50);
  EXPECT_EQ(cache_.Get()->access_key, "key-1");
  now_ += absl::Minutes(6);
  EXPECT_EQ(cache_.Get()->access_key, "key-2");
}

TEST_F(CacheTest, KeepsGoodOnesWhenFetchingFails) {
  ASSERT_TRUE(cache_.Get().ok());
  failure_ = absl::UnavailableError("token service");
  now_ += absl::Minutes(57);
  EXPECT_EQ(cache_.Get()->access_key, "key-1");
  now_ += absl::Minutes(4);
  EXPECT_EQ(cache_.Get().status(), failure_);
}

TEST_F(CacheTest, FetchesAnewWhenTheServerRefusesThem) {
  const S3Credentials first = *cache_.Get();
  cache_.Refuse(first);
  EXPECT_EQ(cache_.Get()->access_key, "key-2");
  cache_.Refuse(first);  // By a request that was sent before.
  EXPECT_EQ(cache_.Get()->access_key, "key-2");
}

TEST(CacheThreadsTest, LetsOneFetchWhileOthersWait) {
  absl::Notification fetching;
  absl::Notification go_on;
  int fetched = 0;
  S3CredentialsCache cache(
      [&]() -> absl::StatusOr<S3Credentials> {
        ++fetched;
        fetching.Notify();
        go_on.WaitForNotification();
        return S3Credentials{.access_key = "key", .secret_key = "secret"};
      },
      [] { return absl::FromUnixSeconds(1'800'000'000); });
  std::thread first([&] { EXPECT_EQ(cache.Get()->access_key, "key"); });
  fetching.WaitForNotification();
  std::thread second([&] { EXPECT_EQ(cache.Get()->access_key, "key"); });
  go_on.Notify();
  first.join();
  second.join();
  EXPECT_EQ(fetched, 1);
}

TEST(CacheThreadsTest, NobodyWaitsForAnotherOnceItIsCancelled) {
  absl::Notification fetching;
  absl::Notification go_on;
  std::atomic<bool> cancelled = false;
  S3CredentialsCache cache(
      [&]() -> absl::StatusOr<S3Credentials> {
        fetching.Notify();
        go_on.WaitForNotification();
        return absl::CancelledError("fetch");
      },
      [] { return absl::FromUnixSeconds(1'800'000'000); }, &cancelled);
  std::thread first([&] { EXPECT_TRUE(absl::IsCancelled(cache.Get().status())); });
  fetching.WaitForNotification();
  cancelled = true;
  EXPECT_EQ(cache.Get().status(), absl::CancelledError("credentials"));
  go_on.Notify();
  first.join();
}

class FetchTest : public testing::Test {
 protected:
  FetchTest() { WriteToken("first-token"); }

  void WriteToken(const std::string& token) { std::ofstream(token_file_) << token << "\n"; }

  const TestFolder temporary_;
  const std::string token_file_ = temporary_.Path("token");
  ScriptedHttp http_;
};

class WebIdentityTest : public FetchTest {
 protected:
  const S3Options options_ = {.region = "eu-west-1",
                              .role_arn = "arn:aws:iam::1:role/r",
                              .web_identity_token_file = token_file_};
  const std::string answer_ =
      "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
      "<AccessKeyId>id</AccessKeyId><SecretAccessKey>secret</SecretAccessKey>"
      "<SessionToken>session</SessionToken><Expiration>2027-01-15T09:00:00Z</Expiration>"
      "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
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

class ContainerCredentialsTest : public FetchTest {
 protected:
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

TEST(MakeCredentialsTest, TriesAgainWhileTheTokenServiceIsAwayAndSignsWithItsKeys) {
  const TestFolder folder;
  ScriptedWorld world;
  world.options.access_key.clear();
  world.options.session_token.clear();
  world.options.role_arn = "arn";
  world.options.web_identity_token_file = folder.Write("token", "token");
  world.http.Then(absl::UnavailableError("away"));
  const auto grant = [&](const std::string& key) {
    world.http.Then(
        200, absl::StrCat("<R><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>", key,
                          "</AccessKeyId><SecretAccessKey>s</SecretAccessKey>"
                          "<SessionToken>t</SessionToken><Expiration>"
                          "2027-01-15T09:00:00Z</Expiration></Credentials>"
                          "</AssumeRoleWithWebIdentityResult></R>"));
  };
  grant("first");
  world.http.ThenError(400, "ExpiredToken");
  grant("second");
  world.http.Then(200, "x");
  EXPECT_EQ(*world.Open()->Get("a"), "x");
  EXPECT_THAT(world.http.Header(2, "authorization"), HasSubstr("Credential=first/"));
  EXPECT_THAT(world.http.Header(4, "authorization"), HasSubstr("Credential=second/"));
}

TEST(MakeCredentialsTest, AClientThatIsCancelledDoesNotWaitForItsCredentials) {
  const TestFolder folder;
  const std::string token = folder.Write("token", "token");
  for (const bool container : {false, true}) {
    ScriptedWorld world;
    world.options.access_key.clear();
    world.options.role_arn = container ? "" : "arn";
    world.options.web_identity_token_file = token;
    world.options.container_credentials_uri = container ? "http://127.0.0.1/" : "";
    const auto store = world.Open();
    world.http.otherwise = [&](const HttpRequest& request) -> ScriptedHttp::Answer {
      store->Cancel();
      EXPECT_TRUE(request.cancelled != nullptr && *request.cancelled);
      return absl::CancelledError("http");
    };
    EXPECT_TRUE(absl::IsCancelled(store->Get("a").status()));
    EXPECT_EQ(world.http.requests.size(), 1u);
  }
}

// A Secret as the kubelet mounts it: the files are links through one link to a folder.
class KeysTest : public testing::Test {
 protected:
  KeysTest() {
    for (const char* name : {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) {
      std::filesystem::create_symlink(std::string("..data/") + name, folder_ / name);
    }
  }

  void Mount(const std::string& version, const std::string& access, const std::string& secret) {
    std::filesystem::create_directory(folder_ / version);
    std::ofstream(folder_ / version / "AWS_ACCESS_KEY_ID") << access << "\n";
    std::ofstream(folder_ / version / "AWS_SECRET_ACCESS_KEY") << secret;
    std::filesystem::remove(folder_ / "..data");
    std::filesystem::create_directory_symlink(version, folder_ / "..data");
  }

  const TestFolder temporary_;
  const std::filesystem::path folder_ = temporary_.path();
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  ScriptedHttp http_;
};

TEST_F(KeysTest, ASecretThatIsCorrectedIsReadWithoutARestart) {
  Mount("wrong", "AKIAWRONG", "x");
  const auto cache = MakeCredentials(
      {.access_key = "of the environment", .secret_key = "y", .keys_folder = folder_}, http_,
      [this] { return now_; });
  ASSERT_TRUE(cache.ok());
  EXPECT_EQ((*cache)->Get()->access_key, "AKIAWRONG");
  Mount("right", "AKIARIGHT", "secret");
  now_ += absl::Seconds(5);
  EXPECT_EQ((*cache)->Get()->access_key, "AKIAWRONG") << "not at every request";
  now_ += absl::Seconds(6);
  EXPECT_EQ((*cache)->Get()->access_key, "AKIARIGHT");
  EXPECT_EQ((*cache)->Get()->secret_key, "secret");
}

TEST_F(KeysTest, AKeyThatHasBeenReplacedIsReadAnewAtItsFirstRefusal) {
  ScriptedWorld world;
  world.options.keys_folder = folder_;
  Mount("old", "AKIAOLD", "x");
  world.http.Then(200, "x");
  world.http.ThenError(403, "InvalidAccessKeyId");
  world.http.Then(200, "y");
  const auto store = world.Open();
  EXPECT_EQ(*store->Get("a"), "x");
  Mount("new", "AKIANEW", "y");
  EXPECT_EQ(*store->Get("a"), "y");
  EXPECT_THAT(world.http.Header(2, "authorization"), HasSubstr("Credential=AKIANEW/"));
  for (int i = 0; i < 2; ++i) world.http.ThenError(403, "SignatureDoesNotMatch");
  EXPECT_TRUE(absl::IsPermissionDenied(store->Get("a").status())) << "once a call";
}

TEST_F(KeysTest, ASecretThatIsNotThereYetIsNamedAndReadWhenItIs) {
  const auto cache = MakeCredentials({.keys_folder = folder_}, http_, [this] { return now_; });
  ASSERT_TRUE(cache.ok());
  const absl::Status why = (*cache)->Get().status();
  EXPECT_TRUE(absl::IsUnauthenticated(why));
  EXPECT_THAT(std::string(why.message()), HasSubstr("expected the files AWS_ACCESS_KEY_ID"));
  Mount("first", "AKIA", "secret");
  EXPECT_EQ((*cache)->Get()->access_key, "AKIA");
}

TEST(ParseFlatJsonTest, RefusesWhatIsNoObjectOfTexts) {
  for (const char* bad :
       {"", "{", "{\"a\"}", "{\"a\":}", "{\"a\":\"b\"", "{\"a\":\"b\"}x", "{\"a\":{}}",
        "{\"a\":[1]}", "{\"a\":\"\\x\"}", "{\"a\":\"\n\"}", "{\"a\":\"b\",}", "{a:\"b\"}"}) {
    EXPECT_TRUE(absl::IsDataLoss(ParseFlatJson(bad).status())) << bad;
  }
  EXPECT_THAT(*ParseFlatJson(R"({ "a\n" : "\u00e9\"" , "b":true })"),
              testing::ElementsAre(testing::Pair("a\n", "\u00e9\"")));
}

}  // namespace
}  // namespace capstan
