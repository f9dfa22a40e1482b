#include "capstan/objectstore/s3/credentials.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::HasSubstr;

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

}  // namespace
}  // namespace capstan
