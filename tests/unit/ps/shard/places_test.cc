#include "ps/shard/places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

using testing::HasSubstr;

TEST(PlacesTest, BeforeTheChiefHasSaidAnythingNothingIsWrittenAndNothingRead) {
  const Places places;
  EXPECT_FALSE(places.CheckWrite("/models/job/checkpoints/1").ok());
  EXPECT_FALSE(places.CheckRead("/models").ok());
}

TEST(PlacesTest, AShardWritesUnderTheCheckpointUriAndNowhereElse) {
  Places places;
  places.Learn({.checkpoints = "file:///models/", .from = "/other/best"});
  EXPECT_TRUE(places.CheckWrite("/models/job/checkpoints/000001-a").ok());
  EXPECT_TRUE(places.CheckWrite("file:///models/job/checkpoints/000001-a").ok());
  for (const char* elsewhere : {"/modelsandmore/1", "/models/../etc", "/models/a/../../etc", "/etc",
                                "s3://models/job", "", "/", "/other/best"}) {
    EXPECT_EQ(places.CheckWrite(elsewhere).code(), absl::StatusCode::kPermissionDenied)
        << elsewhere;
  }
  EXPECT_THAT(places.CheckWrite("/etc").message(), HasSubstr("writing to /etc: this shard's"));
}

TEST(PlacesTest, ItReadsWhatTheJobBeganWithAsWell) {
  Places places;
  places.Learn({.checkpoints = "s3://models", .from = "s3://others/best"});
  EXPECT_TRUE(places.CheckRead("s3://models/job/checkpoints/1").ok());
  EXPECT_TRUE(places.CheckRead("s3://others/best").ok());
  EXPECT_FALSE(places.CheckRead("s3://others/worst").ok());
}

TEST(PlacesTest, WhatItsFlagsSayNoChiefCanChange) {
  Places places({.checkpoints = "/models", .from = ""});
  places.Learn({.checkpoints = "/etc", .from = "/other"});
  EXPECT_FALSE(places.CheckWrite("/etc/passwd").ok());
  EXPECT_TRUE(places.CheckWrite("/models/1").ok());
  EXPECT_TRUE(places.CheckRead("/other").ok());
}

}  // namespace
}  // namespace capstan::ps
