// What every runner does, whatever its lease is: it tells clocks, drains, and ends.
#include "worker/machines/runner_base.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/worker/machines/testing.h"

namespace capstan::worker {
namespace {

// Does nothing of its own.
class BareRunner : public RunnerBase {
 public:
  explicit BareRunner(const RunnerOptions& options) : RunnerBase(options) {}

  uint64_t needed_batch() const override { return 0; }
  std::unique_ptr<RunnerMachine> Clone() const override {
    return std::make_unique<BareRunner>(*this);
  }
  std::string DebugString() const override { return BaseDebugString(); }

  // What the lease's own work would say.
  std::vector<uint64_t> open_steps;
  bool pushing = false;

 private:
  void Handle(const Event&, const RunnerContext&) override {}
  void Pump(const RunnerContext&) override {}
  std::vector<uint64_t> OpenSteps() const override { return open_steps; }
  std::vector<const Call*> Calls() const override { return {}; }
  bool Pushing(ShardIndex) const override { return pushing; }
  void NameLease(SendClock& told) const override {
    told.stream = StreamPush{.stream = {55}, .generation = options_.generation};
  }
};

// Under ssp, of shards 0 and 1.
class RunnerBaseTest : public testing::Test {
 protected:
  explicit RunnerBaseTest(bool ssp = true)
      : RunnerBaseTest(std::make_unique<BareRunner>(
            RunnerOptions{.generation = {1, 7}, .shards = {kShard0, kShard1}, .ssp = ssp})) {}

  void Answer(const SendClock& told, const absl::Status& status = absl::OkStatus()) {
    driver_.Feed(ClockDone{told.ticket, status});
  }
  // All shards have been told that so many steps are over.
  void TellAll(uint64_t clock) {
    driver_.clock.AdvanceTo(clock);
    driver_.Feed(Tick{});
    for (const SendClock& told : driver_.TakeAll<SendClock>()) Answer(told);
  }

 private:
  explicit RunnerBaseTest(std::unique_ptr<BareRunner> runner)
      : runner_(*runner), driver_(std::move(runner)) {}

 protected:
  BareRunner& runner_;
  Driver driver_;
};

TEST_F(RunnerBaseTest, EachShardThatKnowsLessIsToldTheClockOnceUnderTheNameOfTheLease) {
  driver_.Feed(Tick{});
  EXPECT_TRUE(driver_.TakeAll<SendClock>().empty()) << "no step is over";
  driver_.clock.AdvanceTo(3);
  driver_.Feed(Tick{});
  const std::vector<SendClock> told = driver_.TakeAll<SendClock>();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].shard, kShard0);
  EXPECT_EQ(told[1].shard, kShard1);
  EXPECT_EQ(told[0].clock, 3u);
  EXPECT_EQ(told[0].stream->stream, StreamId{55});
  driver_.clock.AdvanceTo(4);
  driver_.Feed(Tick{});
  EXPECT_TRUE(driver_.TakeAll<SendClock>().empty()) << "both are under way";
  Answer(told[0]);
  const SendClock next = driver_.Take<SendClock>();
  EXPECT_EQ(next.shard, kShard0);
  EXPECT_EQ(next.clock, 4u);
  Answer(told[0]);  // Late, once more.
  EXPECT_TRUE(driver_.TakeAll<SendClock>().empty());
}

TEST_F(RunnerBaseTest, AShardThatGetsPushesIsToldByThem) {
  runner_.pushing = true;
  driver_.clock.AdvanceTo(3);
  driver_.Feed(Tick{});
  EXPECT_TRUE(driver_.TakeAll<SendClock>().empty());
}

TEST_F(RunnerBaseTest, AFailedCallIsTriedAgainAfterItsPauseWithTheClockOfThen) {
  driver_.clock.AdvanceTo(3);
  driver_.Feed(Tick{});
  for (const SendClock& told : driver_.TakeAll<SendClock>()) {
    Answer(told, told.shard == kShard0 ? absl::UnavailableError("away") : absl::OkStatus());
  }
  EXPECT_EQ(driver_.machine().NextWake(), driver_.now + absl::Milliseconds(20));
  driver_.now += absl::Milliseconds(19);
  driver_.Feed(Tick{});
  EXPECT_TRUE(driver_.TakeAll<SendClock>().empty());
  driver_.clock.AdvanceTo(9);
  driver_.Wake();
  const std::vector<SendClock> again = driver_.TakeAll<SendClock>();
  ASSERT_EQ(again.size(), 2u);
  EXPECT_EQ(again[0].clock, 9u);
}

TEST_F(RunnerBaseTest, ANewViewEndsThePause) {
  driver_.clock.AdvanceTo(3);
  driver_.Feed(Tick{});
  for (const SendClock& told : driver_.TakeAll<SendClock>()) {
    Answer(told, absl::FailedPreconditionError("another view"));
  }
  driver_.Feed(ViewOf({kShard0, kShard1}));
  EXPECT_EQ(driver_.TakeAll<SendClock>().size(), 2u);
}

TEST_F(RunnerBaseTest, WhoHasBegunAnewOrJoinedIsToldAndWhoHasLeftIsNot) {
  TellAll(3);
  driver_.Feed(ViewChanged{.shards = {kShard1, kShard2}, .restarted = {kShard1}});
  const std::vector<SendClock> told = driver_.TakeAll<SendClock>();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].shard, kShard1);
  EXPECT_EQ(told[1].shard, kShard2);
}

TEST_F(RunnerBaseTest, WherePartitionsHaveMovedAllAreToldAgainAndEarlierAnswersDoNotCount) {
  driver_.clock.AdvanceTo(3);
  driver_.Feed(Tick{});
  const std::vector<SendClock> before = driver_.TakeAll<SendClock>();
  ASSERT_EQ(before.size(), 2u);
  driver_.Feed(ViewChanged{.shards = {kShard0, kShard1}, .moved = true});
  EXPECT_EQ(driver_.TakeAll<SendClock>().size(), 2u);
  for (const SendClock& told : before) Answer(told);
  EXPECT_TRUE(driver_.clock.Behind(kShard0)) << "what the new owner knows is not answered yet";
}

TEST_F(RunnerBaseTest, ARevokedLeaseIsLostAndItsStepsHoldNobodyUp) {
  runner_.open_steps = {driver_.clock.BeginStep(), driver_.clock.BeginStep()};
  driver_.Feed(Revoked{});
  EXPECT_EQ(driver_.Take<Finished>().why, Finished::Why::kLost);
  EXPECT_EQ(driver_.clock.clock(), 2u);
  driver_.Feed(Tick{});
  driver_.Feed(Revoked{});
  EXPECT_TRUE(driver_.TakeAll<Finished>().empty()) << "it is over";
  EXPECT_TRUE(driver_.TakeAll<SendClock>().empty());
  EXPECT_EQ(driver_.machine().NextWake(), absl::InfiniteFuture());
}

TEST_F(RunnerBaseTest, TheEarliestDeadlineOfADrainCounts) {
  const absl::Time deadline = driver_.now + absl::Seconds(5);
  driver_.Feed(Drain{deadline});
  driver_.Feed(Drain{deadline + absl::Seconds(9)});
  EXPECT_EQ(driver_.machine().NextWake(), deadline);
  driver_.now = deadline - absl::Nanoseconds(1);
  driver_.Feed(Tick{});
  EXPECT_FALSE(driver_.machine().finished());
  driver_.Wake();
  EXPECT_EQ(driver_.Take<Finished>().why, Finished::Why::kReturned);
}

TEST_F(RunnerBaseTest, AnErrorThatNoRepetitionMendsEndsTheLeaseWithItsWords) {
  driver_.clock.AdvanceTo(3);
  driver_.Feed(Tick{});
  Answer(driver_.TakeAll<SendClock>().at(0), absl::InvalidArgumentError("no such trainer"));
  const Finished end = driver_.Take<Finished>();
  EXPECT_EQ(end.why, Finished::Why::kFailed);
  EXPECT_EQ(end.status.message(), "no such trainer");
}

class RunnerWithoutSspTest : public RunnerBaseTest {
 protected:
  RunnerWithoutSspTest() : RunnerBaseTest(/*ssp=*/false) {}
};

TEST_F(RunnerWithoutSspTest, TellsNoClocks) {
  driver_.clock.AdvanceTo(3);
  driver_.Feed(Tick{});
  EXPECT_TRUE(driver_.TakeAll<SendClock>().empty());
}

}  // namespace
}  // namespace capstan::worker
