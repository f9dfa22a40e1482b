#include "capstan/objectstore/s3/s3_object_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/unit/objectstore/s3/scripted_world.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class S3ObjectStoreTest : public testing::Test {
 protected:
  ScriptedWorld world_;
  ScriptedHttp& http_ = world_.http;
  const std::unique_ptr<ObjectStore> store_ = world_.Open();
};

TEST_F(S3ObjectStoreTest, WhatIsWrittenHasAKeyOfOurs) {
  for (const std::string& key :
       {std::string(), std::string("a b"), std::string("a//b"), std::string("../a"),
        std::string("a/"), std::string(".hidden"), std::string(1025, 'a')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Put(key, "x"))) << key;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Create(key).status())) << key;
    const std::vector<std::string> keys = {"good", key};
    EXPECT_TRUE(absl::IsInvalidArgument(store_->DeleteAll(keys))) << key;
  }
  EXPECT_THAT(http_.requests, IsEmpty()) << "not even the good one is deleted";
}

TEST_F(S3ObjectStoreTest, WhatOthersHaveStoredIsReadUnlessItsKeyMeansAnotherPlace) {
  for (const std::string& key :
       {std::string(), std::string("a//b"), std::string("/a"), std::string("a/../b"),
        std::string("a\nb"), std::string("a\0b", 3), std::string(1025, 'a')}) {
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Get(key).status())) << key;
    EXPECT_TRUE(absl::IsInvalidArgument(store_->Stat(key).status())) << key;
  }
  EXPECT_THAT(http_.requests, IsEmpty());
  http_.Then(200, "x", {{"etag", "\"1\""}});
  EXPECT_EQ(*store_->Get("Jahr 2026/\xC3\xBC [1]?.csv"), "x");
  EXPECT_EQ(http_.requests[0].url, "https://s3.test/ads/ctr/Jahr%202026/%C3%BC%20%5B1%5D%3F.csv");
}

TEST_F(S3ObjectStoreTest, AnObjectHasTheLengthThatItsHeadSays) {
  http_.Then(200, "", {{"content-length", "18446744073709551615"}});
  EXPECT_EQ(*store_->Stat("a"), (ObjectInfo{"a", UINT64_MAX}));
  for (const char* length : {"", "-1", "x", "1.5"}) {
    http_.Then(200, "", {{"content-length", length}});
    EXPECT_EQ(store_->Stat("a").status(), absl::DataLossError("a: the answer has no length"));
  }
}

TEST_F(S3ObjectStoreTest, AListingHasTheKeysAsTheStoreNamesThem) {
  const std::string page =
      "<ListBucketResult><Contents><Key>ctr/b/c</Key><Size>1</Size></Contents></ListBucketResult>";
  http_.Then(200, page);
  EXPECT_THAT(*store_->ListPage("b", "b/a", 5), ElementsAre(ObjectInfo{"b/c", 1}));
  EXPECT_EQ(http_.requests[0].url,
            "https://s3.test/ads/?encoding-type=url&list-type=2&max-keys=5&prefix=ctr%2Fb&"
            "start-after=ctr%2Fb%2Fa");
}

TEST_F(S3ObjectStoreTest, WithoutAPrefixTheStoreIsTheWholeBucket) {
  const auto bucket = *OpenS3ObjectStore({"ads", ""}, world_.options, world_.World());
  http_.Then(200, "x", {{"etag", "\"1\""}});
  EXPECT_EQ(*bucket->Get("a"), "x");
  EXPECT_EQ(http_.requests[0].url, "https://s3.test/ads/a");
}

TEST_F(S3ObjectStoreTest, ACancelledStoreAsksNobody) {
  store_->Cancel();
  EXPECT_TRUE(absl::IsCancelled(store_->Get("a").status()));
  EXPECT_TRUE(absl::IsCancelled(store_->Put("a", "x")));
  EXPECT_THAT(http_.requests, IsEmpty());
}

}  // namespace
}  // namespace capstan
