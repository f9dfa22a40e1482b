// The duties together: when each of them acts.
#include "chief/duties/duties.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <variant>

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class DutiesTest : public DutyTest {
 protected:
  DutiesTest() : DutyTest(CrewOptions{.tasks = 10}) {}

  Duties duties_{job_};
};

TEST_F(DutiesTest, AJobBeginsOnceAllOfItsShardsAreThere) {
  AddShard(0);
  duties_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_PENDING);
  EXPECT_THAT(Taken<CallShard>(), testing::IsEmpty());
  AddShard(1);
  for (int turn = 0; turn < 3; ++turn) duties_.Advance(now_);
  EXPECT_EQ(job_.state, v1::JOB_STATE_RESTORING);
  EXPECT_THAT(Taken<CallShard>(), testing::SizeIs(2)) << "each is to load its partitions, once";
}

TEST_F(DutiesTest, AChiefThatAnotherHasSupersededDoesNothingAnyMore) {
  AddShard(0);
  AddShard(1);
  job_.writer.OnStored(absl::AbortedError("another chief has written"), now_);
  duties_.Advance(now_);
  duties_.Tick(now_ + absl::Minutes(1));
  EXPECT_EQ(job_.state, v1::JOB_STATE_PENDING);
  for (const Action& action : job_.outbox.Take()) {
    EXPECT_FALSE(std::holds_alternative<PublishView>(action));
    EXPECT_FALSE(std::holds_alternative<CallShard>(action));
  }
}

// So an event that comes late, after the time at which somebody should have been heard of, still
// counts.
TEST_F(DutiesTest, OnlyATickFindsThatAWorkerIsSilent) {
  Run(2);
  Worker& worker = AddWorker("a");
  duties_.grants.Grant(worker, now_);
  const TrainerId trainer = worker.trainers[0].id;
  now_ += absl::Seconds(11);  // Its lease is of ten.
  duties_.Advance(now_);
  EXPECT_TRUE(job_.training.work.Holds(trainer));
  duties_.Tick(now_);
  EXPECT_FALSE(job_.training.work.Holds(trainer));
}

}  // namespace
}  // namespace capstan::chief
