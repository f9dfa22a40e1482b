#include "chief/work/held_out.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace capstan::chief {
namespace {

v1::Task Range(const std::string& file, uint64_t bytes) {
  v1::Task task;
  task.set_file(file);
  task.set_end(bytes);
  return task;
}

JobPlan PlanOfFile(const std::string& file, uint64_t bytes) {
  JobPlan plan;
  plan.spec.mutable_data()->add_eval(file);
  plan.eval = std::vector{Range(file, bytes)};
  return plan;
}

TEST(HeldOutTest, OtherFilesLengthsGroupsAndSetsAreOtherRecords) {
  const uint64_t before = HeldOutFingerprint(PlanOfFile("a", 100));
  EXPECT_NE(before, 0u);
  EXPECT_EQ(HeldOutFingerprint(JobPlan()), 0u) << "nothing is held out";
  EXPECT_EQ(HeldOutFingerprint(PlanOfFile("a", 100)), before);
  EXPECT_NE(HeldOutFingerprint(PlanOfFile("b", 100)), before);
  EXPECT_NE(HeldOutFingerprint(PlanOfFile("a", 101)), before);
  JobPlan other = PlanOfFile("a", 100);
  other.spec.mutable_data()->mutable_group()->set_name("user");
  EXPECT_NE(HeldOutFingerprint(other), before);
  other = PlanOfFile("a", 100);
  v1::EvalSet& set = *other.spec.mutable_data()->add_eval_sets();
  set.set_name("recent");
  set.set_files(1);
  EXPECT_NE(HeldOutFingerprint(other), before);
}

TEST(HeldOutTest, RecordsThatWereTrainedAreNoPartOfIt) {
  JobPlan plan = PlanOfFile("a", 100);
  const uint64_t before = HeldOutFingerprint(plan);
  plan.train = std::vector{Range("train", 1000)};
  EXPECT_EQ(HeldOutFingerprint(plan), before);
}

TEST(HeldOutTest, MetricsOfAnEarlierVersionAreOfTheSameRecordsWhereTheJobNamesTheSame) {
  const JobPlan plan = PlanOfFile("a", 100);
  const uint64_t now = HeldOutFingerprint(plan);
  EXPECT_EQ(MeasuredOn(0, plan.spec, plan), now);
  EXPECT_EQ(MeasuredOn(0, PlanOfFile("b", 100).spec, plan), kUnknownHeldOut);
  EXPECT_EQ(MeasuredOn(kUnknownHeldOut, plan.spec, plan), kUnknownHeldOut) << "it stays so";
  EXPECT_EQ(MeasuredOn(now + 1, plan.spec, plan), now + 1) << "it is known";
}

}  // namespace
}  // namespace capstan::chief
