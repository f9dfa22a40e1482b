#include "capstan/objectstore/object_store.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(OpenObjectStoreTest, OpensABucketWithTheOptionsItIsGiven) {
  EXPECT_TRUE(OpenObjectStore("s3://ads/ctr", {.access_key = "id", .secret_key = "key"}).ok());
}

TEST(OpenObjectStoreTest, SaysWhichCredentialsAreMissing) {
  const absl::Status status = OpenObjectStore("s3://ads/ctr", S3Options()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("AWS_ACCESS_KEY_ID"));
}

TEST(OpenObjectStoreTest, RefusesWhatIsNoAddress) {
  for (const char* uri :
       {"", "file://", "file://relative", "http://x/y", "gs://ads/ctr", "s3://", "s3://A/b"}) {
    EXPECT_EQ(OpenObjectStore(uri).status().code(), absl::StatusCode::kInvalidArgument) << uri;
  }
}

TEST(OpenObjectStoreTest, TakesPathsAndFileAddresses) {
  EXPECT_TRUE(OpenObjectStore("file:///nowhere/yet").ok());
  EXPECT_TRUE(OpenObjectStore("some/folder").ok());
}

TEST(CheckObjectKeyTest, AcceptsNamesBetweenSlashes) {
  for (const char* key :
       {"a", "a/b/c", "ctr/checkpoints/000012-0f/partition-0001.capstan", "A_b+c=d@e"}) {
    EXPECT_TRUE(CheckObjectKey(key).ok()) << key;
  }
}

TEST(CheckObjectKeyTest, RefusesWhatCouldLeadElsewhere) {
  for (const std::string& key :
       {std::string(), std::string("/a"), std::string("a/"), std::string("a//b"), std::string(".."),
        std::string("a/../b"), std::string("./a"), std::string(".hidden"), std::string("a b"),
        std::string("a\0b", 3), std::string("a\\b"), std::string("a\n"), std::string("ä"),
        std::string(201, 'a'), std::string(1025, 'a')}) {
    EXPECT_EQ(CheckObjectKey(key).code(), absl::StatusCode::kInvalidArgument) << key;
  }
}

}  // namespace
}  // namespace capstan
