#include "worker/session/lease_lifecycle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace capstan::worker {
namespace {

// Says what it is told to.
class Runner final : public RunnerMachine {
 public:
  explicit Runner(RunnerProgress& progress) : progress_(progress) {}
  Actions On(const Event&, const RunnerContext&) override { return {}; }
  absl::Time NextWake() const override { return absl::InfiniteFuture(); }
  RunnerProgress progress() const override { return progress_; }
  uint64_t needed_batch() const override { return progress_.batches_done; }
  bool finished() const override { return false; }
  std::unique_ptr<RunnerMachine> Clone() const override {
    return std::make_unique<Runner>(progress_);
  }
  std::string DebugString() const override { return ""; }

 private:
  RunnerProgress& progress_;
};

// Of a lane with tasks of two batches each.
class Tasks final : public TasksRead {
 public:
  std::vector<v1::LaneTaskDone> TakeDone(uint64_t cursor) override {
    std::vector<v1::LaneTaskDone> done;
    while (HasDone(cursor)) done.emplace_back().set_ordinal(told_++);
    return done;
  }
  bool HasDone(uint64_t cursor) const override { return 2 * (told_ + 1) <= cursor; }
  uint64_t tasks_known() const override { return 9; }
  FedTask OnlyTask() const override {
    BadRecords bad(/*limit=*/2);
    EXPECT_TRUE(bad.Report("a.csv:3: no label").ok());
    return {.loaded = true,
            .batches = 10,
            .examples = 100,
            .bad_records = std::make_shared<const BadRecords>(bad)};
  }

 private:
  uint64_t told_ = 0;
};

class LeaseLifecycleTest : public ::testing::Test {
 protected:
  static v1::Lease LaneLease() {
    v1::Lease lease;
    lease.set_kind(v1::LEASE_KIND_LANE);
    lease.mutable_generation()->set_term(1);
    lease.mutable_generation()->set_count(4);
    return lease;
  }
  // Whoever opens `round`, or waits for it, hears so of the one before.
  void Open(uint64_t round, uint64_t cursor,
            v1::OpenRoundReply::Answer answer = v1::OpenRoundReply::ANSWER_OPEN) {
    lifecycle_.OnOpened({.answer = answer,
                         .round = round,
                         .closed = {round > 0 ? round - 1 : 0, {}},
                         .cursor = cursor});
  }

  RunnerProgress progress_;
  Tasks tasks_;
  LeaseLifecycle lifecycle_{LaneLease(), /*max_rounds=*/6, std::make_unique<Runner>(progress_),
                            tasks_};
};

TEST_F(LeaseLifecycleTest, EventsThatAnActionBringsAboutWaitForTheirTurn) {
  std::vector<size_t> handled;
  std::function<void(const Event&)> handle = [&](const Event& event) {
    if (handled.empty()) lifecycle_.Deliver(Revoked(), handle);
    handled.push_back(event.index());
  };
  lifecycle_.Deliver(Tick(), handle);
  EXPECT_EQ(handled, (std::vector<size_t>{Event(Tick()).index(), Event(Revoked()).index()}));
}

TEST_F(LeaseLifecycleTest, AMachineThatIsOverHearsOfNothing) {
  lifecycle_.OnFinished({.why = Finished::Why::kReturned});
  lifecycle_.Deliver(Tick(), [](const Event&) { ADD_FAILURE(); });
  EXPECT_TRUE(lifecycle_.over());
  EXPECT_TRUE(lifecycle_.Report().returned());
}

TEST_F(LeaseLifecycleTest, ATaskOfALaneIsDoneWhenTheRoundOfItsLastBatchIsClosedAndThatIsNews) {
  Open(/*round=*/2, /*cursor=*/1);
  progress_.batches_done = 2;  // Counted by the coordinator, in a round that is open.
  EXPECT_FALSE(lifecycle_.HasNews());
  EXPECT_EQ(lifecycle_.Report().lane_tasks_done_size(), 0);
  Open(/*round=*/3, /*cursor=*/2);
  EXPECT_TRUE(lifecycle_.HasNews());
  EXPECT_EQ(lifecycle_.Report().lane_tasks_done_size(), 1);
  EXPECT_FALSE(lifecycle_.HasNews());
  EXPECT_EQ(lifecycle_.Report().lane_tasks_done_size(), 1) << "until the chief is seen to know";
  v1::Lease further = LaneLease();
  further.add_lane_tasks()->set_ordinal(1);
  lifecycle_.OnExtended(further);
  EXPECT_EQ(lifecycle_.Report().lane_tasks_done_size(), 0);
}

TEST_F(LeaseLifecycleTest, TheClosingOfTheLastRoundIsNewsAndToldThoughNoneOpensAfterIt) {
  Open(/*round=*/6, /*cursor=*/1);
  EXPECT_FALSE(lifecycle_.HasNews());
  EXPECT_EQ(lifecycle_.Report().round(), 6u);
  Open(/*round=*/7, /*cursor=*/0, v1::OpenRoundReply::ANSWER_WAIT);
  EXPECT_TRUE(lifecycle_.HasNews());
  EXPECT_EQ(lifecycle_.Report().round(), 7u);
  Open(/*round=*/7, /*cursor=*/0, v1::OpenRoundReply::ANSWER_WAIT);
  EXPECT_FALSE(lifecycle_.HasNews()) << "told before";
}

TEST_F(LeaseLifecycleTest, ALaneIsFinishedOnceItsTasksAreReadToTheEnd) {
  progress_.total_batches = 4;
  progress_.batches_done = 4;
  EXPECT_FALSE(lifecycle_.OnFinished({.why = Finished::Why::kDone}));
  EXPECT_FALSE(lifecycle_.Report().finished());
  lifecycle_.End();
  const v1::LeaseReport report = lifecycle_.Report();
  EXPECT_TRUE(report.finished());
  EXPECT_EQ(report.lane_tasks_done_size(), 2);
}

TEST_F(LeaseLifecycleTest, ALaneThatHadEndedBeforeTellsOfItsTasksWhileItReadsOn) {
  Open(/*round=*/0, /*cursor=*/4, v1::OpenRoundReply::ANSWER_ENDED);
  EXPECT_TRUE(lifecycle_.HasNews());
  progress_.total_batches = 4;
  progress_.batches_done = 4;
  EXPECT_FALSE(lifecycle_.OnFinished({.why = Finished::Why::kDone}));
  const v1::LeaseReport report = lifecycle_.Report();
  EXPECT_FALSE(report.finished()) << "the chief names further tasks only when it knows of these";
  EXPECT_EQ(report.lane_tasks_done_size(), 2);
}

TEST_F(LeaseLifecycleTest, ATaskThatIsDoneTellsWhatTheWholeOfItHeldAndWhichRecordsWereBad) {
  v1::Lease lease = LaneLease();
  lease.set_kind(v1::LEASE_KIND_TASK);
  lease.set_first_batch(7);
  LeaseLifecycle lifecycle(lease, /*max_rounds=*/0, std::make_unique<Runner>(progress_), tasks_);
  EXPECT_EQ(lifecycle.Report().bad_records(), 0u);
  lifecycle.OnFinished({.why = Finished::Why::kDone});
  const v1::LeaseReport report = lifecycle.Report();
  EXPECT_EQ(report.total_examples(), 100u);
  EXPECT_EQ(report.bad_records(), 1u);
  EXPECT_THAT(report.bad_record_examples(), testing::ElementsAre("a.csv:3: no label"));
}

TEST_F(LeaseLifecycleTest, WhatIsLostIsGivenBackAndWhatFailsSaysWhy) {
  lifecycle_.OnFinished({.why = Finished::Why::kLost});
  EXPECT_TRUE(lifecycle_.Report().returned());
  EXPECT_FALSE(lifecycle_.Report().finished());
  lifecycle_.Fail(absl::NotFoundError("a.csv is gone"), /*bad_data=*/true);
  EXPECT_EQ(lifecycle_.Report().error(), "a.csv is gone");
  EXPECT_TRUE(lifecycle_.Report().bad_data());
}

TEST_F(LeaseLifecycleTest, ACopyGoesOnFromWhereTheOtherIsAndByItself) {
  Open(/*round=*/3, /*cursor=*/2);
  EXPECT_EQ(lifecycle_.Report().lane_tasks_done_size(), 1);
  Tasks tasks = tasks_;
  LeaseLifecycle copy(lifecycle_, tasks);
  EXPECT_EQ(copy.DebugString(), lifecycle_.DebugString());
  EXPECT_EQ(copy.Report().ShortDebugString(), lifecycle_.Report().ShortDebugString());
  copy.OnFinished({.why = Finished::Why::kReturned});
  EXPECT_TRUE(copy.Report().returned());
  EXPECT_NE(copy.DebugString(), lifecycle_.DebugString());
  EXPECT_FALSE(lifecycle_.over());
}

}  // namespace
}  // namespace capstan::worker
