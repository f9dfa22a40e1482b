// The object store over S3 against a real server: the contract of every store, and what only S3
// has. Skipped where there is no server; see tests/lib/s3_server.h.
#include <atomic>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/objectstore/s3/s3_object_store.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/lib/object_store_contract.h"
#include "tests/lib/s3_server.h"

namespace capstan {
namespace {

S3Server* server = nullptr;  // Of the whole program; null: there is none.

class ServerOfTheProgram : public testing::Environment {
 public:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<S3Server>> started = S3Server::Start();
    if (absl::IsNotFound(started.status())) GTEST_SKIP() << started.status().message();
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    server = server_.get();
  }
  void TearDown() override {
    server = nullptr;
    server_.reset();
  }

 private:
  std::unique_ptr<S3Server> server_;
};

const testing::Environment* const environment =
    testing::AddGlobalTestEnvironment(new ServerOfTheProgram);

// Each in a folder of its own.
std::unique_ptr<ObjectStore> OpenStore(const S3Options& options) {
  static std::atomic<int> stores = 0;
  return *OpenS3ObjectStore({"capstan", absl::StrCat("test-", stores++, "/a b ü")}, options);
}

INSTANTIATE_TEST_SUITE_P(S3, ObjectStoreContract,
                         testing::Values([] { return OpenStore(server->options()); }));

INSTANTIATE_TEST_SUITE_P(S3WithoutChecksums, ObjectStoreContract, testing::Values([] {
                           S3Options options = server->options();
                           options.checksums = false;
                           return OpenStore(options);
                         }));

TEST(RealS3Test, WritesWithinParts) {
  S3Options options = server->options();
  options.part_bytes = uint64_t{5} << 20;
  const auto store = OpenStore(options);
  for (const size_t bytes : {(size_t{5} << 20) - 1, size_t{5} << 20, (size_t{5} << 20) + 1}) {
    const std::string content(bytes, 'x');
    auto writer = *store->Create("a");
    ASSERT_TRUE(writer->Append(content).ok());
    ASSERT_TRUE(writer->Commit().ok());
    EXPECT_EQ(store->Stat("a")->bytes, bytes);
    EXPECT_EQ(*store->Get("a"), content);
  }
}

TEST(RealS3Test, ListsMoreObjectsThanOnePageHolds) {
  const auto store = OpenStore(server->options());
  std::vector<std::string> keys;
  for (int i = 0; i < 1203; ++i) keys.push_back(absl::StrCat("many/", 10000 + i));
  for (const std::string& key : keys) ASSERT_TRUE(store->Put(key, "").ok());
  const std::vector<ObjectInfo> found = *store->List("many/");
  ASSERT_EQ(found.size(), keys.size());
  for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(found[i].key, keys[i]);
  EXPECT_TRUE(store->DeleteAll(keys).ok());
  EXPECT_THAT(*store->List(""), testing::IsEmpty());
}

TEST(RealS3Test, IsRefusedWithAWrongSecretThatNoMessageShows) {
  S3Options options = server->options();
  options.secret_key = "another-secret-key";
  const absl::Status status = OpenStore(options)->Put("a", "x");
  EXPECT_TRUE(absl::IsPermissionDenied(status)) << status;
  EXPECT_THAT(status.ToString(), testing::HasSubstr("SignatureDoesNotMatch"));
  EXPECT_THAT(status.ToString(), testing::Not(testing::HasSubstr("another-secret-key")));
}

TEST(RealS3Test, NamesABucketThatIsNotThere) {
  const auto store = *OpenS3ObjectStore({"no-such-bucket", "x"}, server->options());
  EXPECT_TRUE(absl::IsFailedPrecondition(store->Get("a").status())) << store->Get("a").status();
}

TEST(RealS3Test, CorrectsAClockThatIsWrong) {
  const std::unique_ptr<Http> http = NewCurlHttp({.allow_http = true});
  const SteadyClock clock;
  const S3World world{.http = *http,
                      .clock = clock,
                      .now = [] { return absl::Now() - absl::Hours(5); },
                      .sleep = [](absl::Duration) {},
                      .unit = [] { return 0.5; }};
  const auto store = *OpenS3ObjectStore({"capstan", "skewed"}, server->options(), world);
  EXPECT_TRUE(store->Put("a", "x").ok()) << store->Put("a", "x");
  EXPECT_EQ(*store->Get("a"), "x");
}

}  // namespace
}  // namespace capstan
