#include "chief/work/bad_record_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(BadRecordCountTest, ARecordThatEveryEpochReadsCountsOnce) {
  BadRecordCount bad;
  bad.Add({.epoch = 0, .count = 2});
  bad.Add({.epoch = 0, .count = 3});
  EXPECT_EQ(bad.count(), 5u);
  bad.Add({.epoch = 1, .count = 4});
  EXPECT_EQ(bad.count(), 5u) << "the second epoch has not met more of them yet";
  bad.Add({.epoch = 1, .count = 2});
  EXPECT_EQ(bad.count(), 6u);
}

TEST(BadRecordCountTest, KeepsTheFirstTenDifferentExamples) {
  BadRecordCount bad;
  bad.Add({.count = 2, .examples = {"a:1", "a:2"}});
  bad.Add({.epoch = 1, .count = 2, .examples = {"a:2", "a:1"}});
  EXPECT_THAT(bad.examples(), ElementsAre("a:1", "a:2"));
  TaskBadRecords many{.epoch = 2, .count = 20};
  for (int line = 1; line <= 20; ++line) many.examples.push_back(absl::StrCat("b:", line));
  bad.Add(many);
  EXPECT_THAT(bad.examples(), SizeIs(10));
  EXPECT_EQ(bad.examples().back(), "b:8");
}

TEST(BadRecordCountTest, AfterARestartEpochsThatAreNotCompleteGoOnFromWhatTheyHad) {
  BadRecordCount before;
  before.Add({.epoch = 0, .count = 5, .examples = {"a:1"}});
  before.Add({.epoch = 1, .count = 4});
  v1::TaskProgress progress;
  before.Save(/*epochs_done=*/1, progress);
  ASSERT_EQ(progress.bad_records().epochs_size(), 1) << "no task of epoch 0 is to come";
  EXPECT_EQ(progress.bad_records().epochs().at(1), 4u);

  BadRecordCount after;
  after.Restore(progress);
  EXPECT_EQ(after.count(), 5u);
  EXPECT_THAT(after.examples(), ElementsAre("a:1"));
  after.Add({.epoch = 1, .count = 1});
  EXPECT_EQ(after.count(), 5u);
  after.Add({.epoch = 1, .count = 1});
  EXPECT_EQ(after.count(), 6u);
}

TEST(BadRecordCountTest, AReturnToACheckpointForgetsWhatCameAfterIt) {
  BadRecordCount bad;
  bad.Add({.count = 1, .examples = {"a:1"}});
  v1::TaskProgress checkpoint;
  bad.Save(0, checkpoint);
  bad.Add({.count = 9, .examples = {"a:2"}});
  bad.Restore(checkpoint);
  EXPECT_EQ(bad.count(), 1u);
  EXPECT_THAT(bad.examples(), ElementsAre("a:1"));
}

TEST(BadRecordCountTest, WithoutBadRecordsNothingIsStored) {
  BadRecordCount none;
  none.Add({.epoch = 3});
  v1::TaskProgress progress;
  none.Save(0, progress);
  EXPECT_FALSE(progress.has_bad_records());
}

}  // namespace
}  // namespace capstan::chief
