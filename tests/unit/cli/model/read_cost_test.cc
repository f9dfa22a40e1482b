#include "cli/model/read_cost.h"

#include <gtest/gtest.h>

#include <fstream>

#include "capstan/data/tasks/tasks.h"
#include "tests/lib/test_folder.h"

namespace capstan::cli {
namespace {

// Four batches of four records of two columns.
v1::JobSpec JobOfSixteenRecords(const std::string& path) {
  std::ofstream file(path);
  for (int i = 0; i < 16; ++i) file << "1,same," << i / 2 << "\n";
  v1::JobSpec job;
  job.mutable_train()->set_batch_size(4);
  job.mutable_data()->set_format(v1::DATA_FORMAT_CSV);
  job.mutable_data()->add_train(path);
  for (const uint32_t column : {1, 2}) job.mutable_data()->add_categorical()->set_column(column);
  job.add_tables()->set_name("rows");
  return job;
}

TEST(ReadCostTest, ABatchTakesTimeAndDataThatCannotBeReadTakeNone) {
  const TestFolder folder;
  v1::JobSpec job = JobOfSixteenRecords(folder.Path("sixteen.csv"));
  const auto files = NewLocalFiles();
  ASSERT_TRUE(DeriveDataSpec(*files, *job.mutable_data()).ok());
  const auto train = PlanTasks(*files, job.data(), {.split = Split::kTrain, .batch_size = 4});
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_GT(ReadSecondsABatch(job, *files, *train), 0);
  EXPECT_EQ(ReadSecondsABatch(job, *files, TaskRanges()), 0);
}

}  // namespace
}  // namespace capstan::cli
