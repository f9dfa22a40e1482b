#include "capstan/data/tasks/row_estimate.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/tasks.h"
#include "tests/lib/test_folder.h"

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

// Batches of four records: all have one key in the first column, and two in the second.
v1::JobSpec JobOf(int records, const std::string& path) {
  std::ofstream file(path);
  for (int i = 0; i < records; ++i) file << "1,same," << i / 2 << "\n";
  v1::JobSpec job;
  job.mutable_train()->set_batch_size(4);
  job.mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  job.mutable_data()->add_train(path);
  for (const uint32_t column : {1, 2}) job.mutable_data()->add_categorical()->set_column(column);
  job.add_tables()->set_name("rows");
  return job;
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
  const RowEstimate estimate = EstimateOf(JobOf(/*records=*/16, folder.Path("sixteen.csv")));
  EXPECT_GE(estimate.rows, 9u) << "how many records there are is estimated, too";
  EXPECT_EQ(estimate.keys_a_batch, 3u);
}

TEST(EstimateRowsTest, TheSmallBatchAtTheEndOfATaskIsNoMeasureOfOthers) {
  const TestFolder folder;
  v1::JobSpec six = JobOf(/*records=*/6, folder.Path("six.csv"));
  six.mutable_data()->set_task_bytes(1000);
  EXPECT_EQ(EstimateOf(six).keys_a_batch, 3u) << "its last batch has two records, and two keys";
  v1::JobSpec two = JobOf(/*records=*/2, folder.Path("two.csv"));
  two.mutable_data()->set_task_bytes(1000);
  EXPECT_EQ(EstimateOf(two).keys_a_batch, 2u) << "there is no other";
}

}  // namespace
}  // namespace capstan
