#include "capstan/data/formats/bad_records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan {
namespace {

using testing::ElementsAre;

TEST(BadRecordsTest, FailsWithTheVeryMessageWhenNoneIsTolerated) {
  BadRecords bad(/*limit=*/0);
  EXPECT_EQ(bad.Report("a:1: oops"), absl::InvalidArgumentError("a:1: oops"));
}

TEST(BadRecordsTest, ToleratesUpToTheLimit) {
  BadRecords bad(/*limit=*/2);
  EXPECT_TRUE(bad.Report("a:1: x").ok());
  EXPECT_TRUE(bad.Report("a:2: y").ok());
  EXPECT_EQ(bad.count(), 2u);
  EXPECT_EQ(
      bad.Report("a:3: z"),
      absl::InvalidArgumentError("a:3: z; more bad records than max_bad_records (2), the first "
                                 "ones: a:1: x; a:2: y; a:3: z"));
  EXPECT_THAT(bad.examples(), ElementsAre("a:1: x", "a:2: y", "a:3: z"));
}

TEST(BadRecordsTest, AddsUpThoseOfManyTasks) {
  BadRecords task(/*limit=*/2);
  ASSERT_TRUE(task.Report("a:1: x").ok());
  ASSERT_TRUE(task.Report("a:2: y").ok());
  BadRecords all(/*limit=*/3);
  EXPECT_TRUE(all.Add(BadRecords(3)).ok());
  EXPECT_TRUE(all.Add(task).ok());
  EXPECT_EQ(all.Add(task).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(all.count(), 4u);
}

TEST(BadRecordsTest, KeepsTheFirstOnesOnly) {
  BadRecords bad(/*limit=*/100);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(bad.Report(std::to_string(i)).ok());
  EXPECT_EQ(bad.count(), 50u);
  EXPECT_EQ(bad.examples().size(), BadRecords::kExamples);
  EXPECT_EQ(bad.examples().back(), "9");
}

}  // namespace
}  // namespace capstan
