#include "chief/state/membership.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <string>

#include "chief/state/term.h"

namespace capstan::chief {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1'000'000);

class MembershipTest : public testing::Test {
 protected:
  Worker& Register(const std::string& name, uint64_t incarnation, absl::Time now) {
    v1::RegisterWorkerRequest request;
    request.set_name(name);
    request.set_incarnation(incarnation);
    return *trainers_.Register(request, /*peer=*/"", now)->worker;
  }

  void HearClock(Worker& worker, uint64_t clock, absl::Time now) {
    v1::WorkerHeartbeatRequest request;
    v1::TrainerReport& report = *request.add_trainers();
    report.set_trainer(Raw(worker.trainers[0].id));
    report.set_clock(clock);
    trainers_.Hear(worker, request, now);
    worker.trainers[0].training = true;
  }

  Membership trainers_{{.term = 7, .threads = 1, .lease = absl::Seconds(10), .max_workers = 100}};
};

TEST_F(MembershipTest, AClockBeyondAllStepsIsOneThatCanStillBeCountedOn) {
  Worker& worker = Register("liar", 1, kStart);
  HearClock(worker, 0, kStart);
  HearClock(worker, ~uint64_t{0}, kStart + absl::Nanoseconds(1));
  EXPECT_EQ(trainers_.FastestClock(), uint64_t{1} << 48);
  EXPECT_EQ(trainers_.SlowestClock(kStart + absl::Seconds(9)), uint64_t{1} << 49);
}

TEST_F(MembershipTest, AClockGoesOnAtItsRateBetweenReports) {
  Worker& worker = Register("w", 1, kStart);
  HearClock(worker, 0, kStart);
  HearClock(worker, 20, kStart + absl::Seconds(2));
  EXPECT_EQ(trainers_.SlowestClock(kStart + absl::Seconds(3)), 30u);
  EXPECT_EQ(trainers_.SlowestClock(kStart + absl::Seconds(300)), 120u) << "for a lease at most";
}

TEST_F(MembershipTest, OfAReportOfManyMegabytesLittleIsKept) {
  Worker& worker = Register("w", 1, kStart);
  v1::WorkerHeartbeatRequest heartbeat;
  heartbeat.mutable_report()->set_stalled_on(std::string(1 << 20, 'x'));
  heartbeat.mutable_report()
      ->GetReflection()
      ->MutableUnknownFields(heartbeat.mutable_report())
      ->AddLengthDelimited(1000, std::string(1 << 20, 'x'));
  trainers_.Hear(worker, heartbeat, kStart);
  EXPECT_LT(worker.report.SpaceUsedLong(), size_t{16} << 10);
}

// Nobody could parse a status that holds half of one.
TEST_F(MembershipTest, NoCharacterOfSeveralBytesIsCut) {
  Worker& worker = Register("w", 1, kStart);
  v1::WorkerHeartbeatRequest heartbeat;
  std::string on = "x";
  while (on.size() < 10000) on += "\xC3\xA9";
  heartbeat.mutable_report()->set_stalled_on(on);
  trainers_.Hear(worker, heartbeat, kStart);
  EXPECT_EQ(worker.report.stalled_on(), on.substr(0, 4095));
}

TEST_F(MembershipTest, HowLongDataHaveNotComeIsBoundedWhateverNumberItIs) {
  using Limits = std::numeric_limits<double>;
  Worker& worker = Register("liar", 1, kStart);
  const auto heard = [&](double seconds) {
    v1::WorkerHeartbeatRequest heartbeat;
    heartbeat.mutable_report()->set_stalled_seconds(seconds);
    trainers_.Hear(worker, heartbeat, kStart);
    return worker.report.stalled_seconds();
  };
  EXPECT_EQ(heard(2.5), 2.5);
  EXPECT_EQ(heard(Limits::quiet_NaN()), 0);
  EXPECT_EQ(heard(-1), 0);
  EXPECT_EQ(heard(Limits::infinity()), 365.0 * 24 * 60 * 60);
}

TEST_F(MembershipTest, StepsMadeBeforeItRegisteredAreNoRate) {
  Worker& worker = Register("w", 1, kStart);
  HearClock(worker, 5000, kStart + absl::Milliseconds(100));
  EXPECT_EQ(trainers_.SlowestClock(kStart + absl::Seconds(3)), 5000u);
}

TEST_F(MembershipTest, StepsBeforeAJoinersStartAreNoRate) {
  Worker& worker = Register("w", 1, kStart);
  HearClock(worker, 0, kStart);
  worker.trainers[0].start_clock = 5000;
  HearClock(worker, 5001, kStart + absl::Seconds(1));
  EXPECT_EQ(trainers_.SlowestClock(kStart + absl::Seconds(3)), 5003u);
}

TEST_F(MembershipTest, TrainersAreThoseOfTheTermThatGaveThem) {
  const Worker& worker = Register("w", 1, kStart);
  EXPECT_EQ(TermOfNumber(Raw(worker.trainers[0].id)), 7u);
}

TEST_F(MembershipTest, AWorkerThatIsLostAgainAndAgainIsToldOfOnce) {
  absl::Time now = kStart;
  for (uint64_t incarnation = 1; incarnation <= 3; ++incarnation) {
    Register("w", incarnation, now);
    now += absl::Seconds(11);
    EXPECT_EQ(trainers_.TakeSilent(now).size(), 1u);
  }
  ASSERT_EQ(trainers_.lost().size(), 1u);
  EXPECT_EQ(trainers_.lost()[0].incarnation, Incarnation{3});
}

TEST_F(MembershipTest, HowManyMayWorkIsKnownAsWorkersComeRestAndGo) {
  uint64_t changes = trainers_.eligible_changes();
  const auto expect = [&](size_t eligible, bool changed) {
    EXPECT_EQ(trainers_.eligible_trainers(), eligible);
    EXPECT_EQ(trainers_.Eligible().size(), eligible);
    EXPECT_EQ(trainers_.eligible_changes() != changes, changed);
    changes = trainers_.eligible_changes();
  };
  Worker& a = Register("a", 1, kStart);
  Register("b", 2, kStart);
  expect(2, /*changed=*/true);
  v1::WorkerHeartbeatRequest heartbeat;
  trainers_.Hear(a, heartbeat, kStart);
  expect(2, /*changed=*/false);
  heartbeat.set_draining(true);
  trainers_.Hear(a, heartbeat, kStart + absl::Seconds(5));
  expect(1, /*changed=*/true);
  EXPECT_TRUE(trainers_.resting().contains("a"));
  trainers_.Hear(a, heartbeat, kStart + absl::Seconds(6));
  expect(1, /*changed=*/false);
  (void)trainers_.TakeSilent(kStart + absl::Seconds(11));
  expect(0, /*changed=*/true);
  (void)trainers_.TakeSilent(kStart + absl::Seconds(30));
  expect(0, /*changed=*/true);
  EXPECT_TRUE(trainers_.resting().empty()) << "it is gone";
}

TEST_F(MembershipTest, AStuckWorkerMayWorkAgainWhenItsDataCome) {
  Membership workers({.term = 7, .threads = 2, .data_stall = absl::Seconds(5), .max_workers = 9});
  v1::RegisterWorkerRequest request;
  request.set_name("w");
  request.set_incarnation(1);
  Worker& worker = *workers.Register(request, /*peer=*/"", kStart)->worker;
  EXPECT_EQ(workers.eligible_trainers(), 2u);
  v1::WorkerHeartbeatRequest heartbeat;
  heartbeat.mutable_report()->set_stalled_seconds(6);
  workers.Hear(worker, heartbeat, kStart);
  EXPECT_EQ(workers.eligible_trainers(), 0u);
  heartbeat.mutable_report()->set_stalled_seconds(0);
  workers.Hear(worker, heartbeat, kStart);
  EXPECT_EQ(workers.eligible_trainers(), 2u);
}

TEST_F(MembershipTest, ATrainerIsFoundByItsNumberAsLongAsItsProcessIsThere) {
  const TrainerId first = Register("w", 1, kStart).trainers[0].id;
  ASSERT_NE(trainers_.Find(first), nullptr);
  EXPECT_EQ(trainers_.Find(first)->id, first);
  const TrainerId second = Register("w", 2, kStart + absl::Seconds(1)).trainers[0].id;
  EXPECT_EQ(trainers_.Find(first), nullptr);
  const Membership copy = trainers_;
  EXPECT_NE(Membership(copy).Find(second), trainers_.Find(second)) << "a copy has its own";
  (void)trainers_.TakeSilent(kStart + absl::Minutes(1));
  EXPECT_EQ(trainers_.Find(second), nullptr);
}

TEST(TermTest, OfChiefsAMillisecondApartDiffer) {
  EXPECT_LT(TermByTime(kStart), TermByTime(kStart + absl::Milliseconds(1)));
  const uint64_t term = TermByTime(absl::FromUnixSeconds(4'000'000'000));  // In 2096.
  EXPECT_EQ(TermOfNumber(NumberInTerm(term, kMostNumbers)), term);
}

}  // namespace
}  // namespace capstan::chief
