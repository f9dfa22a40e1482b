#include "chief/shell/job_planning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "capstan/data/tasks/tasks.h"
#include "chief/shell/job_store.h"
#include "chief/work/work.h"
#include "tests/lib/test_folder.h"

namespace capstan::chief {
namespace {

// A job of one file of 100 rows, with a store.
class JobPlanningTest : public testing::Test {
 protected:
  JobPlanningTest() {
    AddRows(100);
    std::ofstream(folder_ + "/job.yaml") << "job: ctr\n"
                                         << "data: {format: csv, train: [" << folder_
                                         << "/a.csv], schema: {label: 0, numeric: \"1\"}}\n"
                                         << "model: {towers: [{kind: linear}], loss: logistic}\n"
                                         << "checkpoint: {uri: " << folder_ << "/models}\n";
  }

  void AddRows(int rows) {
    std::ofstream file(folder_ + "/a.csv", std::ios::app);
    for (int i = 0; i < rows; ++i) file << i % 2 << ",0." << i % 10 << "\n";
  }

  JobPlan Planned(const std::string& job = "job.yaml") {
    absl::StatusOr<JobPlan> plan = PlanJob(folder_ + "/" + job, {});
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  }

  // As a chief leaves the job that trains by this plan.
  void Begin(const JobPlan& plan) {
    const auto store = *JobStore::Open(plan.spec.checkpoint().uri(), "ctr");
    ASSERT_TRUE(store->ReadState().ok());
    ASSERT_TRUE(store->KeepTasks(TasksFingerprint(plan), plan.train).ok());
    v1::ChiefState state;
    state.set_format(1);
    state.set_term(1);
    state.set_state(v1::JOB_STATE_RUNNING);
    *state.mutable_job() = plan.spec;
    state.mutable_progress()->set_tasks_fingerprint(TasksFingerprint(plan));
    ASSERT_TRUE(store->WriteState(state).ok());
  }

  const TestFolder temporary_;
  const std::string folder_ = temporary_.path();
};

// With records as no plan has them that is made of the file.
TaskRanges Miscounted(const TaskRanges& ranges) {
  std::vector<v1::Task> tasks = ranges.Tasks();
  tasks.front().set_expected_records(12345);
  return tasks;
}

TEST_F(JobPlanningTest, AStoredPlanIsReadAndNotMadeAgain) {
  JobPlan plan = Planned();
  plan.train = Miscounted(plan.train);
  Begin(plan);
  const JobPlan again = Planned();
  ASSERT_EQ(again.train.size(), plan.train.size());
  EXPECT_EQ(again.train[0].expected_records, 12345u);
  EXPECT_EQ(TasksFingerprint(again), TasksFingerprint(plan));
}

TEST_F(JobPlanningTest, AStoredPlanByRecordsIsReadAsLongAsTheListingIsTheSame) {
  JobPlan plan = Planned();
  std::vector<v1::TaskRun> runs(plan.train.runs().begin(), plan.train.runs().end());
  for (v1::TaskRun& run : runs) run.set_by_records(true);  // As those of a compressed file are.
  plan.train = TaskRanges(runs, plan.train.listing());
  Begin(plan);
  EXPECT_TRUE(Planned().train[0].by_records());
  AddRows(50);
  EXPECT_FALSE(Planned().train[0].by_records());
}

TEST_F(JobPlanningTest, APlanIsMadeAgainWhereAFileHasGrown) {
  JobPlan plan = Planned();
  plan.train = Miscounted(plan.train);
  Begin(plan);
  AddRows(50);
  EXPECT_NEAR(static_cast<double>(Planned().train.expected_records()), 150, 10);
}

TEST_F(JobPlanningTest, APlanIsMadeAgainForOtherSettings) {
  JobPlan plan = Planned();
  plan.train = Miscounted(plan.train);
  plan.spec.mutable_train()->set_batch_size(7);
  Begin(plan);
  EXPECT_NE(Planned().train[0].expected_records, 12345u);
}

// The rows have the categories 0.0 to 0.9, all of them in every batch.
TEST_F(JobPlanningTest, TheKeysOfABatchAreCountedWhereGradientsWaitForOthers) {
  for (const std::string aggregate : {"1", "4"}) {
    std::ofstream(folder_ + "/rows" + aggregate + ".yaml")
        << "job: ctr\n"
        << "data: {format: csv, train: [" << folder_
        << "/a.csv], schema: {label: 0, categorical: \"1\"}}\n"
        << "model: {towers: [{kind: linear}], loss: logistic}\n"
        << "train: {batch_size: 50}\n"
        << "update: {sparse: {policy: async, aggregate: " << aggregate << "}}\n";
  }
  EXPECT_EQ(Planned("rows4.yaml").keys_a_batch, 10u);
  EXPECT_EQ(Planned("rows1.yaml").keys_a_batch, 0u) << "nobody has to know";
}

}  // namespace
}  // namespace capstan::chief
