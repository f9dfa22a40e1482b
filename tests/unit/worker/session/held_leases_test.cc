#include "worker/session/held_leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace capstan::worker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr uint64_t kTimeline = 3;

class HeldLeasesTest : public ::testing::Test {
 protected:
  // Work that does nothing until it is told to end.
  class Work : public LeaseWork {
   public:
    Work(HeldLeasesTest& test, v1::Lease lease) : test_(test), lease_(std::move(lease)) {
      test_.at_work_.push_back(lease_.generation().count());
    }
    ~Work() override { std::erase(test_.at_work_, lease_.generation().count()); }
    void Deliver(Event event) override {
      if (std::holds_alternative<Revoked>(event)) {
        test_.revoked_.push_back(lease_.generation().count());
      }
      if (std::holds_alternative<Tick>(event)) {
        test_.woken_.push_back(lease_.generation().count());
        if (test_.ends_when_woken_) test_.clock_.Over(*test_.ends_when_woken_);
      }
    }
    void Extend(const v1::Lease&) override {}
    void OnView(const std::vector<ShardIndex>&) override {}
    absl::Time NextWake() const override { return absl::InfiniteFuture(); }
    bool over() const override { return test_.over_ == lease_.generation().count(); }
    bool HasReadAll() const override { return test_.read_ == lease_.generation().count(); }
    bool HasNews() const override { return test_.news_ == lease_.generation().count(); }
    v1::LeaseReport Report() override {
      v1::LeaseReport report;
      *report.mutable_generation() = lease_.generation();
      report.set_finished(over());
      return report;
    }

   private:
    HeldLeasesTest& test_;
    const v1::Lease lease_;
  };

  void Place(uint64_t timeline) {
    v1::View view;
    view.set_timeline(timeline);
    view.add_owners(0);
    leases_.OnView(view, {});
  }
  void Grant(uint64_t count, uint64_t timeline = kTimeline, uint64_t start_clock = 0) {
    v1::Lease lease;
    lease.set_start_clock(start_clock);
    lease.set_kind(v1::LEASE_KIND_TASK);
    lease.mutable_generation()->set_term(1);
    lease.mutable_generation()->set_count(count);
    lease.set_timeline(timeline);
    leases_.Grant(lease);
  }

  std::vector<uint64_t> at_work_;  // Their counts.
  std::vector<uint64_t> revoked_;
  std::vector<uint64_t> woken_;
  std::optional<uint64_t> ends_when_woken_;  // A step that is over then.
  uint64_t over_ = 0;
  uint64_t read_ = 0;
  uint64_t news_ = 0;
  SessionMachine session_{{.name = "w", .trainers = {TrainerId{1}}}};
  TrainerClock clock_;
  HeldLeases leases_{TrainerId{1}, clock_, [this](const v1::Lease& lease) {
                       return std::make_unique<Work>(*this, lease);
                     }};
};

TEST_F(HeldLeasesTest, TheNewsOfOneLeaseAreNews) {
  Place(kTimeline);
  Grant(1);
  Grant(2);
  EXPECT_FALSE(leases_.HasNews());
  news_ = 1;
  EXPECT_TRUE(leases_.HasNews());
}

TEST_F(HeldLeasesTest, NothingBeginsBeforeTheViewSaysWhereThePartitionsAre) {
  Grant(1);
  EXPECT_THAT(at_work_, IsEmpty());
  Place(kTimeline);
  EXPECT_THAT(at_work_, ElementsAre(1));
}

TEST_F(HeldLeasesTest, ASpareTaskBeginsWhenTheOneBeforeItIsOver) {
  Place(kTimeline);
  Grant(1);
  Grant(2);
  EXPECT_THAT(at_work_, ElementsAre(1));
  over_ = 1;
  EXPECT_TRUE(leases_.HasEnded());
  leases_.ReportTo(session_, /*step_seconds=*/0.1);
  EXPECT_THAT(at_work_, ElementsAre(2));
  EXPECT_FALSE(leases_.HasEnded());
}

TEST_F(HeldLeasesTest, ASpareTaskBeginsOnceAllOfTheOneBeforeItHasBeenRead) {
  Place(kTimeline);
  Grant(1);
  Grant(2);
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(at_work_, ElementsAre(1));
  read_ = 1;
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(at_work_, ElementsAre(1, 2));
  Grant(3);
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(at_work_, ElementsAre(1, 2)) << "the second is being read";
}

// A task may wait for steps of another, which nobody else would tell it of.
TEST_F(HeldLeasesTest, TasksAreWokenWheneverStepsAreOver) {
  Place(kTimeline);
  Grant(1);
  read_ = 1;
  Grant(2);
  const uint64_t first = clock_.BeginStep(), second = clock_.BeginStep();
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(woken_, IsEmpty());
  clock_.Over(second);
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(woken_, ElementsAre(1, 2));
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(woken_, ElementsAre(1, 2)) << "only once";
  clock_.Over(first);
  over_ = 1;
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(woken_, ElementsAre(1, 2, 2)) << "also if that was the end of the other";
}

TEST_F(HeldLeasesTest, ATaskIsWokenWhenTheStepsItWaitsForGoWithTheirLease) {
  Place(kTimeline);
  Grant(1);
  read_ = 1;
  Grant(2);
  const uint64_t step = clock_.BeginStep();
  leases_.Wake(absl::UnixEpoch());
  leases_.Revoke(Generation{.term = 1, .count = 1});
  clock_.Over(step);  // As its runner says when it is revoked.
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(woken_, ElementsAre(2));
}

// Waking one task may end another: of that, too, the first is told at once.
TEST_F(HeldLeasesTest, TasksAreWokenUntilNoMoreStepsAreOver) {
  Place(kTimeline);
  Grant(1);
  const uint64_t first = clock_.BeginStep(), second = clock_.BeginStep();
  clock_.Over(first);
  ends_when_woken_ = second;
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(woken_, ElementsAre(1, 1));
}

// Under ssp it would count steps of the task before as over that are not.
TEST_F(HeldLeasesTest, ASpareTaskThatBeginsAtALaterClockWaitsForTheStepsBefore) {
  Place(kTimeline);
  Grant(1);
  const uint64_t step = clock_.BeginStep();
  Grant(2, kTimeline, /*start_clock=*/5);
  read_ = 1;
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(at_work_, ElementsAre(1));
  clock_.Over(step);
  leases_.Wake(absl::UnixEpoch());
  EXPECT_THAT(at_work_, ElementsAre(1, 2));
  EXPECT_EQ(clock_.clock(), 5u);
}

TEST_F(HeldLeasesTest, ALeaseOfATimelineToComeWaitsForItsView) {
  Place(kTimeline);
  Grant(1, kTimeline + 1);
  EXPECT_THAT(at_work_, IsEmpty());
  Place(kTimeline + 1);
  EXPECT_THAT(at_work_, ElementsAre(1));
}

TEST_F(HeldLeasesTest, WhatWasGrantedInAnEarlierTimelineIsVoid) {
  Place(kTimeline);
  Grant(1);
  Grant(2);
  leases_.ForgetBefore(kTimeline + 1);
  EXPECT_THAT(revoked_, ElementsAre(1));
  Place(kTimeline + 1);
  Grant(3);  // From a heartbeat that was on its way.
  EXPECT_THAT(at_work_, IsEmpty());
  Grant(4, kTimeline + 1);
  EXPECT_THAT(at_work_, ElementsAre(4));
}

TEST_F(HeldLeasesTest, WhoDrainsBeginsNothingAndGivesBackWhatWaits) {
  Place(kTimeline);
  Grant(1);
  Grant(2);
  leases_.BeginDrain(absl::UnixEpoch());
  EXPECT_TRUE(leases_.HasEnded());
  leases_.ReportTo(session_, /*step_seconds=*/0.1);
  over_ = 1;
  leases_.ReportTo(session_, /*step_seconds=*/0.1);
  EXPECT_THAT(at_work_, IsEmpty());
}

TEST_F(HeldLeasesTest, ACopyGoesOnFromWhereTheOtherIsAndByItself) {
  Place(kTimeline);
  Grant(1);
  Grant(2);
  const std::string before = leases_.DebugString();
  HeldLeases copy(
      leases_, clock_,
      [this](const v1::Lease& lease) { return std::make_unique<Work>(*this, lease); },
      [](const LeaseWork& work) {
        return std::make_unique<Work>(dynamic_cast<const Work&>(work));
      });
  EXPECT_EQ(copy.DebugString(), before);
  copy.Revoke(Generation{.term = 1, .count = 1});
  copy.ReportTo(session_, /*step_seconds=*/0.1);
  EXPECT_THAT(revoked_, ElementsAre(1));
  EXPECT_THAT(at_work_, ElementsAre(2)) << "the copy has begun the spare task";
  EXPECT_NE(copy.DebugString(), before);
  EXPECT_EQ(leases_.DebugString(), before);
}

}  // namespace
}  // namespace capstan::worker
