#include "capstan/data/tasks/row_estimate.h"

#include <gtest/gtest.h>

#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/tasks.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/tasks/small_csv_job.h"

namespace capstan {
namespace {

TEST(ExpectedRowsTest, OfDataThatWereReadWholeIsWhatTheyHold) {
  EXPECT_EQ(ExpectedRows({.records = 100, .rows = 40, .rows_of_half = 30}, 100), 40u);
}

TEST(ExpectedRowsTest, OfAVocabularyThatIsKnownIsItsSize) {
  EXPECT_EQ(ExpectedRows({.records = 100, .rows = 40, .rows_of_half = 40}, 1000000), 40u);
}

TEST(ExpectedRowsTest, WhereEveryKeyIsNewGrowsAsTheRecordsDo) {
  EXPECT_EQ(ExpectedRows({.records = 100, .rows = 400, .rows_of_half = 200}, 1000), 4000u);
}

TEST(ExpectedRowsTest, WhereHalfOfTheNewKeysAreKnownGrowsWithTheSquareRoot) {
  const RowCount count{.records = 100, .rows = 141421, .rows_of_half = 100000};
  EXPECT_NEAR(static_cast<double>(ExpectedRows(count, 10000)), 1414210, 1500);
}

RowEstimate EstimateOf(v1::JobSpec job) {
  const auto files = NewLocalFiles();
  EXPECT_TRUE(DeriveDataSpec(*files, *job.mutable_data()).ok());
  const auto train = PlanTasks(*files, job.data(), {.split = Split::kTrain, .batch_size = 4});
  EXPECT_TRUE(train.ok()) << train.status();
  return EstimateRows(job, *files, *train);
}

TEST(EstimateRowsTest, TellsTheKeysOfABatchAndTheRowsOfAllRecords) {
  const TestFolder folder;
  const RowEstimate estimate = EstimateOf(SmallCsvJob(/*records=*/16, folder.Path("sixteen.csv")));
  EXPECT_GE(estimate.rows, 9u) << "how many records there are is estimated, too";
  EXPECT_EQ(estimate.keys_a_batch, 3u);
}

// A record has its label, where its keys begin, and which ones they are: 4 bytes each. All records
// share 201 different keys.
TEST(EstimateRowsTest, TellsTheMemoryOfARecordWhoseKeysArePacked) {
  const TestFolder folder;
  v1::JobSpec job = SmallCsvJob(/*records=*/400, folder.Path("many.csv"));
  job.mutable_data()->set_task_bytes(1 << 20);
  EXPECT_EQ(EstimateOf(job).packed_record_bytes, 3u * 4 + 201 * 8 / 400 + 1);
}

TEST(EstimateRowsTest, TheSmallBatchAtTheEndOfATaskIsNoMeasureOfOthers) {
  const TestFolder folder;
  v1::JobSpec six = SmallCsvJob(/*records=*/6, folder.Path("six.csv"));
  six.mutable_data()->set_task_bytes(1000);
  EXPECT_EQ(EstimateOf(six).keys_a_batch, 3u) << "its last batch has two records, and two keys";
  v1::JobSpec two = SmallCsvJob(/*records=*/2, folder.Path("two.csv"));
  two.mutable_data()->set_task_bytes(1000);
  EXPECT_EQ(EstimateOf(two).keys_a_batch, 2u) << "there is no other";
}

}  // namespace
}  // namespace capstan
