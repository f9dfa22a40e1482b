#include "worker/lease_course.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace capstan::worker {
namespace {

// Says what it is told to.
class Holder final : public HolderMachine {
 public:
  explicit Holder(HolderProgress& progress) : progress_(progress) {}
  Actions On(const Event&, const HolderContext&) override { return {}; }
  absl::Time NextWake() const override { return absl::InfiniteFuture(); }
  HolderProgress progress() const override { return progress_; }
  bool finished() const override { return false; }
  std::unique_ptr<HolderMachine> Clone() const override { return nullptr; }
  std::string DebugString() const override { return ""; }

 private:
  HolderProgress& progress_;
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

class LeaseCourseTest : public ::testing::Test {
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
    course_.OnOpened(
        {.answer = answer, .round = round, .closed = {round - 1, {}}, .cursor = cursor});
  }

  HolderProgress progress_;
  Tasks tasks_;
  LeaseCourse course_{LaneLease(), /*max_rounds=*/6, std::make_unique<Holder>(progress_), tasks_};
};

TEST_F(LeaseCourseTest, EventsThatAnActionBringsAboutWaitForTheirTurn) {
  std::vector<size_t> handled;
  std::function<void(const Event&)> handle = [&](const Event& event) {
    if (handled.empty()) course_.Deliver(Revoked(), handle);
    handled.push_back(event.index());
  };
  course_.Deliver(Tick(), handle);
  EXPECT_EQ(handled, (std::vector<size_t>{Event(Tick()).index(), Event(Revoked()).index()}));
}

TEST_F(LeaseCourseTest, AMachineThatIsOverHearsOfNothing) {
  course_.OnFinished({.why = Finished::Why::kReturned});
  course_.Deliver(Tick(), [](const Event&) { ADD_FAILURE(); });
  EXPECT_TRUE(course_.over());
  EXPECT_TRUE(course_.Report().returned());
}

TEST_F(LeaseCourseTest, ATaskOfALaneIsDoneWhenTheRoundOfItsLastBatchIsClosedAndThatIsNews) {
  Open(/*round=*/2, /*cursor=*/1);
  progress_.batches_done = 2;  // Counted by the keeper, in a round that is open.
  EXPECT_FALSE(course_.HasNews());
  EXPECT_EQ(course_.Report().lane_tasks_done_size(), 0);
  Open(/*round=*/3, /*cursor=*/2);
  EXPECT_TRUE(course_.HasNews());
  EXPECT_EQ(course_.Report().lane_tasks_done_size(), 1);
  EXPECT_FALSE(course_.HasNews());
  EXPECT_EQ(course_.Report().lane_tasks_done_size(), 1) << "until the chief is seen to know";
  v1::Lease further = LaneLease();
  further.add_lane_tasks()->set_ordinal(1);
  course_.OnExtended(further);
  EXPECT_EQ(course_.Report().lane_tasks_done_size(), 0);
}

TEST_F(LeaseCourseTest, TheClosingOfTheLastRoundIsNewsAndToldThoughNoneOpensAfterIt) {
  Open(/*round=*/6, /*cursor=*/1);
  EXPECT_FALSE(course_.HasNews());
  EXPECT_EQ(course_.Report().round(), 6u);
  Open(/*round=*/7, /*cursor=*/0, v1::OpenRoundReply::ANSWER_WAIT);
  EXPECT_TRUE(course_.HasNews());
  EXPECT_EQ(course_.Report().round(), 7u);
  Open(/*round=*/7, /*cursor=*/0, v1::OpenRoundReply::ANSWER_WAIT);
  EXPECT_FALSE(course_.HasNews()) << "told before";
}

TEST_F(LeaseCourseTest, ALaneIsFinishedOnceItsTasksAreReadToTheEnd) {
  progress_.total_batches = 4;
  progress_.batches_done = 4;
  EXPECT_FALSE(course_.OnFinished({.why = Finished::Why::kDone}));
  EXPECT_FALSE(course_.Report().finished());
  course_.End();
  const v1::LeaseReport report = course_.Report();
  EXPECT_TRUE(report.finished());
  EXPECT_EQ(report.lane_tasks_done_size(), 2);
}

TEST_F(LeaseCourseTest, ATaskThatIsDoneTellsWhatTheWholeOfItHeldAndWhichRecordsWereBad) {
  v1::Lease lease = LaneLease();
  lease.set_kind(v1::LEASE_KIND_TASK);
  lease.set_first_batch(7);
  LeaseCourse course(lease, /*max_rounds=*/0, std::make_unique<Holder>(progress_), tasks_);
  EXPECT_EQ(course.Report().bad_records(), 0u);
  course.OnFinished({.why = Finished::Why::kDone});
  const v1::LeaseReport report = course.Report();
  EXPECT_EQ(report.total_examples(), 100u);
  EXPECT_EQ(report.bad_records(), 1u);
  EXPECT_THAT(report.bad_record_examples(), testing::ElementsAre("a.csv:3: no label"));
}

TEST_F(LeaseCourseTest, WhatIsLostIsGivenBackAndWhatFailsSaysWhy) {
  course_.OnFinished({.why = Finished::Why::kLost});
  EXPECT_TRUE(course_.Report().returned());
  EXPECT_FALSE(course_.Report().finished());
  course_.Fail(absl::NotFoundError("a.csv is gone"), /*bad_data=*/true);
  EXPECT_EQ(course_.Report().error(), "a.csv is gone");
  EXPECT_TRUE(course_.Report().bad_data());
}

}  // namespace
}  // namespace capstan::worker
