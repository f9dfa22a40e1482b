#include "chief/duties/grant_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class GrantDutyTest : public DutyTest {
 protected:
  explicit GrantDutyTest(uint32_t lanes = 0)
      : DutyTest(CrewOptions{.tasks = 10, .eval_tasks = 1, .lanes = lanes}) {
    Run(2);
  }

  // An earlier chief has given task 0 to somebody.
  void BeginTask0() {
    Generations earlier(4);
    EXPECT_TRUE(job_.training.work.tasks()->Grant(TrainerId{7}, earlier));
    job_.training.work.Release(TrainerId{7});
  }
  // The numbers of the tasks, or lanes, that the worker holds.
  std::vector<uint32_t> WorkOf(const Worker& worker) const {
    std::vector<uint32_t> numbers;
    for (const v1::Lease& lease : job_.training.work.LeasesOf(worker.trainers[0].id)) {
      numbers.push_back(job_.training.work.has_lanes() ? lease.lane() : lease.task().index());
    }
    return numbers;
  }

  GrantDuty duty_{job_, orders_};
};

class LaneGrantDutyTest : public GrantDutyTest {
 protected:
  LaneGrantDutyTest() : GrantDutyTest(/*lanes=*/2) {}
};

TEST_F(GrantDutyTest, NothingIsGivenBeforeTheShardsOfAnEarlierChiefAreBack) {
  Worker& a = AddWorker("a");
  job_.takeover = Takeover(job_.placement.views.current(), absl::Seconds(10), now_);
  duty_.Grant(a, now_ + absl::Minutes(1));
  EXPECT_THAT(WorkOf(a), testing::IsEmpty());
  job_.takeover.Settle();
  duty_.Grant(a, now_ + absl::Minutes(1));
  EXPECT_THAT(WorkOf(a), testing::ElementsAre(0u, 1u));
}

TEST_F(GrantDutyTest, WhatAnEarlierChiefBeganIsGivenOnceItsWorkersHaveHadTimeToTellOfIt) {
  BeginTask0();
  v1::View before;
  before.add_trainers()->set_worker("not heard of");
  job_.takeover = Takeover(before, absl::Seconds(10), now_);
  Worker& a = AddWorker("a");
  Worker& b = AddWorker("b");
  duty_.Grant(a, now_ + absl::Seconds(9));
  EXPECT_THAT(WorkOf(a), testing::ElementsAre(1u, 2u));
  duty_.Grant(b, now_ + absl::Seconds(10));
  EXPECT_THAT(WorkOf(b), testing::ElementsAre(0u, 3u));
}

TEST_F(GrantDutyTest, WhoSaysThatATaskCannotBeDoneIsGivenItOnlyWhereNobodyElseIs) {
  BeginTask0();
  job_.training.accusations.Add({v1::LEASE_KIND_TASK, 0}, "a");
  Worker& a = AddWorker("a");
  Worker& b = AddWorker("b");
  duty_.Grant(a, now_);
  EXPECT_THAT(WorkOf(a), testing::ElementsAre(1u, 2u));
  duty_.Release(a.trainer_ids());
  b.draining = true;
  duty_.Grant(a, now_);
  EXPECT_THAT(WorkOf(a), testing::ElementsAre(0u, 1u));
}

TEST_F(LaneGrantDutyTest, ALaneGoesToAStragglerRatherThanBackToWhoSaysThatItCannotBeDone) {
  Worker& a = AddWorker("a");
  Worker& b = AddWorker("b");
  for (int second = 1; second <= 20; ++second) {
    job_.training.stragglers.Update({{"a", 1.0}, {"b", 10.0}}, now_ + absl::Seconds(second));
  }
  duty_.Grant(a, now_);
  EXPECT_THAT(WorkOf(a), testing::ElementsAre(0u, 1u)) << "the other is slow";
  job_.training.work.ReleaseAll();
  job_.training.accusations.Add({v1::LEASE_KIND_LANE, 0}, "a");
  duty_.Grant(a, now_);
  EXPECT_THAT(WorkOf(a), testing::ElementsAre(1u));
  EXPECT_THAT(WorkOf(b), testing::ElementsAre(0u));
}

TEST_F(GrantDutyTest, WhileTrainingRestsForAnEvaluationNothingElseIsGiven) {
  Worker& a = AddWorker("a");
  job_.training.standstill.step = Standstill::Step::kReached;
  job_.training.BeginEvaluation(/*at_barrier=*/true, /*final=*/false, now_);
  duty_.Grant(a, now_);
  EXPECT_THAT(job_.training.evaluations.LeasesOf(a.trainers[0].id), testing::SizeIs(1));
  EXPECT_THAT(WorkOf(a), testing::IsEmpty());
}

TEST_F(GrantDutyTest, AWorkerThatLeavesGivesBackWhatItHasNotHeardOf) {
  Worker& a = AddWorker("a");
  duty_.Grant(a, now_);
  const std::vector<v1::Lease> held = job_.training.work.LeasesOf(a.trainers[0].id);
  ASSERT_THAT(held, testing::SizeIs(2));
  v1::WorkerHeartbeatRequest request;
  *request.add_leases()->mutable_generation() = held[0].generation();
  EXPECT_THAT(duty_.Unmentioned(request, a), testing::IsEmpty()) << "it does not leave";
  a.draining = true;
  const std::vector<v1::LeaseReport> reports = duty_.Unmentioned(request, a);
  ASSERT_THAT(reports, testing::SizeIs(1));
  EXPECT_EQ(reports[0].generation().count(), held[1].generation().count());
  EXPECT_EQ(reports[0].timeline(), job_.placement.timeline());
  EXPECT_TRUE(reports[0].returned());
}

TEST_F(GrantDutyTest, TheEndWaitsForWhoHoldsWorkStillUnlessItIsStuck) {
  Worker& a = AddWorker("a");
  Worker& b = AddWorker("b");
  b.stuck = true;
  v1::WorkerHeartbeatRequest request;
  request.add_leases()->set_kind(v1::LEASE_KIND_TASK);
  duty_.Hear(request, a);
  EXPECT_THAT(job_.training.end.draining, testing::IsEmpty()) << "it may go on";
  job_.BeginEnd("");
  duty_.Hear(request, a);
  duty_.Hear(request, b);
  EXPECT_THAT(job_.training.end.draining, testing::ElementsAre("a"));
  request.mutable_leases(0)->set_finished(true);
  duty_.Hear(request, a);
  EXPECT_THAT(job_.training.end.draining, testing::IsEmpty());
}

TEST_F(GrantDutyTest, AWorkerWhoseDataDoNotComeLosesWhatItHolds) {
  Worker& a = AddWorker("a");
  duty_.Grant(a, now_);
  duty_.Hear({}, a);
  EXPECT_THAT(WorkOf(a), testing::ElementsAre(0u, 1u));
  a.stuck = true;
  duty_.Hear({}, a);
  EXPECT_THAT(WorkOf(a), testing::IsEmpty());
}

TEST_F(GrantDutyTest, AWorkerThatFallsSilentLosesWhatItHoldsAndIsNotWaitedFor) {
  duty_.Grant(AddWorker("a"), now_);
  job_.training.end.draining = {"a"};
  job_.outbox.Warn("the data of a", "a waits");
  duty_.ReleaseSilent(now_ + absl::Seconds(10));
  EXPECT_EQ(job_.training.work.totals().doing, 2u);
  duty_.ReleaseSilent(now_ + absl::Seconds(11));
  EXPECT_EQ(job_.training.work.totals().doing, 0u);
  EXPECT_EQ(job_.training.work.totals().todo, 10u);
  EXPECT_EQ(duty_.expirations(), 2u);
  EXPECT_THAT(job_.training.end.draining, testing::IsEmpty());
  EXPECT_EQ(Warning("the data of a"), "");
}

TEST_F(GrantDutyTest, ASpareIsGivenWhereThereIsMoreThanThoseWithoutWorkCanTake) {
  for (int i = 0; i < 9; ++i) AddWorker(absl::StrCat("other ", i));
  Worker& leaves = AddWorker("leaves");
  duty_.Grant(leaves, now_);
  EXPECT_THAT(WorkOf(leaves), testing::ElementsAre(0u)) << "nine tasks for nine others";
  v1::WorkerHeartbeatRequest heartbeat;
  heartbeat.set_draining(true);
  job_.training.workers.Hear(leaves, heartbeat, now_);
  Worker& first = job_.training.workers.live().at("other 0");
  Worker& second = job_.training.workers.live().at("other 1");
  duty_.Grant(first, now_);
  EXPECT_THAT(WorkOf(first), testing::ElementsAre(1u)) << "eight tasks for eight others";
  job_.training.workers.Hear(second, heartbeat, now_);
  duty_.Grant(first, now_);
  EXPECT_THAT(WorkOf(first), testing::ElementsAre(1u, 2u)) << "one of them is to leave";
}

TEST_F(LaneGrantDutyTest, LanesAreAssignedAnewWhenWorkersComeOrRestOrTurnSlow) {
  Worker& a = AddWorker("a");
  duty_.Grant(a, now_);
  EXPECT_THAT(WorkOf(a), testing::ElementsAre(0u, 1u));
  Worker& b = AddWorker("b");
  duty_.Grant(a, now_);
  EXPECT_THAT(WorkOf(b), testing::SizeIs(1));
  for (int second = 1; second <= 20; ++second) {
    job_.training.stragglers.Update({{"a", 10.0}, {"b", 1.0}}, now_ + absl::Seconds(second));
  }
  duty_.Grant(a, now_);
  EXPECT_THAT(WorkOf(b), testing::SizeIs(2)) << "the other is slow";
  v1::WorkerHeartbeatRequest heartbeat;
  heartbeat.set_draining(true);
  job_.training.workers.Hear(b, heartbeat, now_);
  duty_.Grant(a, now_);
  EXPECT_THAT(WorkOf(a), testing::SizeIs(2));
  job_.training.work.ReleaseAll();
  duty_.Grant(a, now_);
  EXPECT_THAT(WorkOf(a), testing::SizeIs(2)) << "they were taken from it";
}

}  // namespace
}  // namespace capstan::chief
