#include "capstan/objectstore/object_store.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace capstan {
namespace {

TEST(OpenObjectStoreTest, SaysClearlyThatS3IsNotThereYet) {
  const absl::Status status = OpenObjectStore("s3://ads/ctr").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("file:///folder"));
}

TEST(OpenObjectStoreTest, RefusesWhatIsNoAddress) {
  for (const char* uri : {"", "file://", "file://relative", "http://x/y"}) {
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
