// What is alike for a job's work, whether it is of tasks or of lanes.
#include "chief/work/work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/unit/chief/crew.h"

namespace capstan::chief {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr TrainerId kFirst{1};
constexpr TrainerId kSecond{2};
constexpr uint32_t kLanesOfWork = 3;

// The work of a job of 4 tasks of 2 batches, and what the trainers 1 and 2 have of it.
class WorkTest : public testing::Test {
 protected:
  void Give(Work& work, TrainerId trainer) {
    if (work.has_lanes()) {
      const std::vector<TrainerId> all = {trainer};
      work.lanes()->Assign(all, generations_);
      return;
    }
    ASSERT_TRUE(work.tasks()->Grant(trainer, generations_).has_value());
  }
  Generations generations_{1};
  Work tasks_{PlanOf(CrewOptions())};
  Work lanes_{PlanOf({.lanes = kLanesOfWork})};
};

TEST_F(WorkTest, IsOfLanesWhereAPartIsSynchronousAndOfTasksElsewhere) {
  EXPECT_FALSE(tasks_.has_lanes());
  EXPECT_EQ(tasks_.lanes(), nullptr);
  EXPECT_EQ(tasks_.batches_a_step(), 1u);
  EXPECT_TRUE(lanes_.has_lanes());
  EXPECT_EQ(lanes_.tasks(), nullptr);
  EXPECT_EQ(lanes_.batches_a_step(), kLanesOfWork);
  JobPlan mixed = PlanOf(CrewOptions());
  mixed.spec.add_tensors();
  mixed.spec.mutable_dense_update()->set_kind(v1::POLICY_KIND_SYNC);
  mixed.spec.mutable_dense_update()->set_lanes(2);
  EXPECT_EQ(Work(mixed).batches_a_step(), 2u);
}

TEST_F(WorkTest, WhoHoldsALeaseHoldsItUntilItIsReleased) {
  for (Work* work : {&tasks_, &lanes_}) {
    EXPECT_FALSE(work->Holds(kFirst));
    EXPECT_THAT(work->LeasesOf(kFirst), IsEmpty());
    Give(*work, kFirst);
    EXPECT_TRUE(work->Holds(kFirst));
    EXPECT_FALSE(work->Holds(kSecond));
    EXPECT_THAT(work->LeasesOf(kFirst), SizeIs(work->has_lanes() ? kLanesOfWork : 1));
    work->Release(kSecond);
    EXPECT_TRUE(work->Holds(kFirst));
    work->Release(kFirst);
    EXPECT_FALSE(work->Holds(kFirst));
    Give(*work, kSecond);
    work->ReleaseAll();
    EXPECT_THAT(work->LeasesOf(kSecond), IsEmpty());
  }
}

TEST_F(WorkTest, AReportIsOfWorkThatOneOfTheWorkersTrainersHoldsAndOfNoOther) {
  for (Work* work : {&tasks_, &lanes_}) {
    Give(*work, kFirst);
    const v1::LeaseReport report = Crew::Partly(work->LeasesOf(kFirst).front(), 0);
    const std::vector<TrainerId> others = {kSecond};
    EXPECT_FALSE(work->Report(others, report).known);
    const std::vector<TrainerId> own = {kSecond, kFirst};
    EXPECT_TRUE(work->Report(own, report).known);
    const Generation generation = {report.generation().term(), report.generation().count()};
    EXPECT_TRUE(work->NameOf(own, generation).has_value());
    EXPECT_FALSE(work->NameOf(others, generation).has_value());
  }
}

TEST_F(WorkTest, ALeaseOfTheOtherKindIsAdoptedNowhere) {
  Give(tasks_, kFirst);
  Give(lanes_, kFirst);
  const v1::LeaseReport task = Crew::Partly(tasks_.LeasesOf(kFirst).front(), 0);
  v1::LeaseReport lane = Crew::Partly(lanes_.LeasesOf(kFirst).front(), 0);
  EXPECT_TRUE(tasks_.NameOfAdopted(task).has_value());
  EXPECT_TRUE(lanes_.NameOfAdopted(lane).has_value());
  EXPECT_FALSE(lanes_.NameOfAdopted(task).has_value());
  EXPECT_FALSE(tasks_.NameOfAdopted(lane).has_value());
  lane.set_lane(kLanesOfWork);
  EXPECT_FALSE(lanes_.NameOfAdopted(lane).has_value()) << "the job has no such lane";
}

TEST_F(WorkTest, WhatIsSavedNamesItsTasksAndTheNextChiefGoesOnWithIt) {
  const CrewOptions of_lanes = {.lanes = kLanesOfWork};
  for (const CrewOptions& options : {CrewOptions{}, of_lanes}) {
    Work before(PlanOf(options));
    Give(before, kFirst);
    const v1::Lease lease = before.LeasesOf(kFirst).front();
    const std::vector<TrainerId> own = {kFirst};
    ASSERT_TRUE(before.Report(own, Crew::Partly(lease, /*batches=*/1)).held);
    v1::TaskProgress progress;
    before.Save(progress);
    EXPECT_EQ(progress.tasks_fingerprint(), TasksFingerprint(PlanOf(options)));
    Work after(PlanOf(options));
    after.Restore(progress);
    EXPECT_EQ(before.totals().examples, kCrewBatchSize);
    EXPECT_EQ(after.totals().examples, kCrewBatchSize);
    EXPECT_FALSE(after.all_done());
    EXPECT_FALSE(after.Holds(kFirst)) << "leases are adopted, not stored";
  }
}

TEST_F(WorkTest, OtherTasksHaveAnotherFingerprint) {
  EXPECT_NE(TasksFingerprint(PlanOf({.tasks = 4})), TasksFingerprint(PlanOf({.tasks = 5})));
  EXPECT_EQ(TasksFingerprint(PlanOf({.tasks = 4})),
            TasksFingerprint(PlanOf({.tasks = 4, .lanes = kLanesOfWork})))
      << "it is of the data alone";
}

TEST_F(WorkTest, AnEpochsExamplesAreThoseOfAllItsTasksOnceTheyAreCounted) {
  for (Work* work : {&tasks_, &lanes_}) {
    EXPECT_EQ(work->ExpectedExamples(), 4 * kCrewBatches * kCrewBatchSize);
    EXPECT_TRUE(work->counted());
    EXPECT_FALSE(work->all_done());
    EXPECT_EQ(work->totals().total, 4u);
  }
  EXPECT_FALSE(Work(PlanOf({.counted = false})).counted());
}

}  // namespace
}  // namespace capstan::chief
