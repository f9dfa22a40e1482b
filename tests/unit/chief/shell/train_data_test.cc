#include "chief/shell/train_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capstan/data/tasks/tasks.h"

namespace capstan::chief {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

v1::Task Range(const std::string& file, uint64_t begin, uint64_t end) {
  v1::Task task;
  task.set_file(file);
  task.set_begin(begin);
  task.set_end(end);
  return task;
}

TEST(CompareTrainDataTest, TheSameFilesCutInAnotherWayAreNoChange) {
  const std::vector<v1::Task> begun = {Range("a", 0, 50), Range("a", 50, 100)};
  const TrainDataChange change = CompareTrainData(begun, std::vector{Range("a", 0, 100)});
  EXPECT_TRUE(change.empty());
  EXPECT_EQ(TrainDataNote(change), "");
}

TEST(CompareTrainDataTest, FilesThatHaveComeOrGrownTakeNothingAway) {
  const TrainDataChange change = CompareTrainData(
      std::vector{Range("b", 0, 100)}, std::vector{Range("a", 0, 7), Range("b", 0, 101)});
  EXPECT_THAT(change.more, ElementsAre("a"));
  EXPECT_THAT(change.longer, ElementsAre("b"));
  EXPECT_TRUE(change.keeps_all());
  EXPECT_FALSE(change.empty());
  EXPECT_THAT(TrainDataNote(change), HasSubstr("1 file more (a), 1 file longer (b)"));
}

TEST(CompareTrainDataTest, FilesThatAreGoneOrShorterTakeRecordsAway) {
  const TrainDataChange change = CompareTrainData(std::vector{Range("a", 0, 7), Range("b", 0, 100)},
                                                  std::vector{Range("b", 0, 99)});
  EXPECT_THAT(change.gone, ElementsAre("a"));
  EXPECT_THAT(change.shorter, ElementsAre("b"));
  EXPECT_FALSE(change.keeps_all());
}

TEST(CompareTrainDataTest, AnEstimatedLengthIsComparedWithNothing) {
  const std::vector<v1::Task> open = {Range("a.gz", 0, 100), Range("a.gz", 100, kToTheEnd)};
  const std::vector<v1::Task> counted = {Range("a.gz", 0, 60)};
  EXPECT_TRUE(CompareTrainData(open, counted).empty());
  EXPECT_TRUE(CompareTrainData(counted, open).empty());
}

TEST(CompareTrainDataTest, OfManyFilesAFewAreNamed) {
  std::vector<v1::Task> now;
  for (const char* file : {"a", "b", "c", "d", "e"}) now.push_back(Range(file, 0, 1));
  EXPECT_EQ(CompareTrainData({}, now).ToString(), "5 files more (a, b, c, ...)");
  EXPECT_THAT(CompareTrainData(now, now).more, IsEmpty());
}

}  // namespace
}  // namespace capstan::chief
