#include "cli/model/read_cost.h"

#include <gtest/gtest.h>

#include "capstan/data/tasks/tasks.h"
#include "tests/lib/test_folder.h"
#include "tests/unit/data/tasks/small_csv_job.h"

namespace capstan::cli {
namespace {

TEST(ReadCostTest, ABatchTakesTimeAndDataThatCannotBeReadTakeNone) {
  const TestFolder folder;
  v1::JobSpec job = SmallCsvJob(/*records=*/16, folder.Path("sixteen.csv"));
  const auto files = NewLocalFiles();
  ASSERT_TRUE(DeriveDataSpec(*files, *job.mutable_data()).ok());
  const auto train = PlanTasks(*files, job.data(), {.split = Split::kTrain, .batch_size = 4});
  ASSERT_TRUE(train.ok()) << train.status();
  EXPECT_GT(ReadSecondsABatch(job, *files, *train), 0);
  EXPECT_EQ(ReadSecondsABatch(job, *files, TaskRanges()), 0);
}

}  // namespace
}  // namespace capstan::cli
