#include "chief/duties/takeover_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

// The chief before this one has left shards at work; each that may come back has ten seconds.
class TakeoverDutyTest : public DutyTest {
 protected:
  explicit TakeoverDutyTest(const CrewOptions& options = TenTasks()) : DutyTest(options) {}

  void Inherit(uint32_t shards, const std::string& worker = "") {
    Run(shards);
    for (uint32_t index = 0; index < shards; ++index) shard(index).present = false;
    v1::View view = job_.placement.views.current();
    if (!worker.empty()) view.add_trainers()->set_worker(worker);
    job_.takeover = Takeover(view, absl::Seconds(10), now_);
  }
  // The shard is heard of, and has what it had.
  void ComeBack(uint32_t index) {
    AddShard(index);
    shard(index).loaded_timeline = job_.placement.timeline();
  }
  void ComeAnew(uint32_t index) { AddShard(index, /*incarnation=*/200 + index); }

  TakeoverDuty duty_{job_, orders_};
};

class LaneTakeoverDutyTest : public TakeoverDutyTest {
 protected:
  LaneTakeoverDutyTest() : TakeoverDutyTest(TenTasks(/*lanes=*/2)) {}
};

class PartialTakeoverDutyTest : public TakeoverDutyTest {
 protected:
  PartialTakeoverDutyTest() : TakeoverDutyTest(CrewOptions{.tasks = 10, .partial = true}) {}
};

class ThreeShardsTakeoverDutyTest : public TakeoverDutyTest {
 protected:
  ThreeShardsTakeoverDutyTest() : TakeoverDutyTest(CrewOptions{.tasks = 10, .shards = 3}) {}
};

TEST_F(TakeoverDutyTest, ThisChiefGoesOnOnceAllShardsAreBackWithWhatTheyHad) {
  Inherit(2);
  ComeBack(0);
  duty_.Advance(now_ + absl::Minutes(1));
  EXPECT_FALSE(job_.takeover.settled()) << "those that own partitions are waited for";
  ComeBack(1);
  duty_.Advance(now_ + absl::Minutes(1));
  EXPECT_TRUE(job_.takeover.settled());
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
}

TEST_F(TakeoverDutyTest, AJobThatDoesNotRunIsNotTakenOver) {
  Inherit(2);
  ComeBack(0);
  ComeBack(1);
  job_.state = v1::JOB_STATE_FAILED;
  duty_.Advance(now_);
  EXPECT_FALSE(job_.takeover.settled());
}

TEST_F(TakeoverDutyTest, OneThatHasComeBackWithoutWhatItHadSendsAllBackWithoutWaitingForThem) {
  Inherit(2);
  ComeAnew(1);
  duty_.Advance(now_);
  EXPECT_THAT(orders_.orders, testing::ElementsAre("go on: chief and shards were started anew"));
}

TEST_F(TakeoverDutyTest, OneThatHasComeBackWithWhatItHadLosesThatByTheReturn) {
  Inherit(2);
  ComeBack(0);
  ComeAnew(1);
  duty_.Advance(now_);
  EXPECT_THAT(orders_.orders,
              testing::ElementsAre("return: chief and shards were started anew (0)"));
}

TEST_F(TakeoverDutyTest, TheSameProcessThatHoldsAnotherTimelineIsWithoutWhatItHad) {
  Inherit(2);
  ComeBack(0);
  ComeBack(1);
  shard(1).loaded_timeline = job_.placement.timeline() - 1;
  duty_.Advance(now_);
  EXPECT_THAT(orders_.orders, testing::SizeIs(1));
}

TEST_F(LaneTakeoverDutyTest, RoundsThatTheChiefBeforeHeldBackGoOn) {
  Inherit(2);
  ComeBack(0);
  ComeBack(1);
  duty_.Advance(now_);
  const std::vector<CallShard> calls = Calls();
  ASSERT_THAT(calls, testing::SizeIs(1));
  EXPECT_EQ(calls[0].shard, job_.placement.views.coordinator());
  EXPECT_FALSE(calls[0].request.Get<v1::HoldRoundsRequest>().hold());
}

TEST_F(PartialTakeoverDutyTest, NobodyReturnsAloneWhileAnotherMayComeAnewAsWell) {
  Inherit(2);
  ComeAnew(1);
  duty_.Advance(now_ + absl::Minutes(1));
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
  EXPECT_FALSE(job_.takeover.settled());
}

TEST_F(PartialTakeoverDutyTest, AShardReturnsAloneOnceTheWorkersHaveToldHowFarTheyAre) {
  Inherit(2, /*worker=*/"w");
  ComeBack(0);
  ComeAnew(1);
  duty_.Advance(now_ + absl::Seconds(9));
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
  job_.takeover.OnReport("w");
  duty_.Advance(now_ + absl::Seconds(9));
  EXPECT_THAT(orders_.orders, testing::ElementsAre("recover partially: 1"));
  EXPECT_TRUE(job_.takeover.settled());
}

TEST_F(PartialTakeoverDutyTest, WhereAllAreAnewNothingIsLostThatCanBeTrainedAgain) {
  Inherit(2);
  ComeAnew(0);
  ComeAnew(1);
  duty_.Advance(now_);
  EXPECT_THAT(orders_.orders, testing::ElementsAre("go on: chief and shards were started anew"));
}

TEST_F(TakeoverDutyTest, AMapOverMoreShardsThanAreWishedIsOverWhenTheyHaveHadTheirTime) {
  Inherit(3);
  ComeBack(0);
  ComeBack(1);
  duty_.Advance(now_ + absl::Seconds(9));
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  duty_.Advance(now_ + absl::Seconds(10));
  EXPECT_EQ(job_.state, v1::JOB_STATE_PENDING);
  EXPECT_FALSE(job_.placement.views.has_map());
  EXPECT_TRUE(job_.takeover.settled());
}

TEST_F(TakeoverDutyTest, OneThatIsAnewSendsNobodyBackWhileOneBeyondThoseWishedMayYetCome) {
  Inherit(3);
  ComeAnew(0);
  ComeBack(1);
  duty_.Advance(now_ + absl::Seconds(9));
  EXPECT_THAT(orders_.orders, testing::IsEmpty());
  ComeBack(2);
  duty_.Advance(now_ + absl::Seconds(9));
  EXPECT_THAT(orders_.orders, testing::SizeIs(1)) << "over the three that there were";
  EXPECT_TRUE(job_.placement.views.has_map());
}

TEST_F(ThreeShardsTakeoverDutyTest, WhereAllAreAnewTheMapIsMadeOverAllThatAreWished) {
  Inherit(2);
  ComeAnew(0);
  ComeAnew(1);
  duty_.Advance(now_ + absl::Seconds(9));
  EXPECT_THAT(orders_.orders, testing::IsEmpty()) << "the third may yet come";
  AddShard(2);
  duty_.Advance(now_ + absl::Seconds(9));
  EXPECT_EQ(job_.state, v1::JOB_STATE_PENDING);
  EXPECT_FALSE(job_.placement.views.has_map());
}

TEST_F(ThreeShardsTakeoverDutyTest, WhereTheThirdDoesNotComeTheTwoThatThereWereReturnAlone) {
  Inherit(2);
  ComeAnew(0);
  ComeAnew(1);
  duty_.Advance(now_ + absl::Seconds(10));
  EXPECT_THAT(orders_.orders, testing::SizeIs(1));
  EXPECT_THAT(job_.placement.Owners(), testing::ElementsAre(0u, 1u));
}

TEST_F(ThreeShardsTakeoverDutyTest, ShardsThatHaveWhatTheyHadGoOnThoughMoreAreWished) {
  Inherit(2);
  ComeBack(0);
  ComeBack(1);
  AddShard(2);
  duty_.Advance(now_ + absl::Seconds(10));
  EXPECT_TRUE(job_.takeover.settled());
  EXPECT_EQ(job_.state, v1::JOB_STATE_RUNNING);
  EXPECT_THAT(job_.placement.Owners(), testing::ElementsAre(0u, 1u));
}

}  // namespace
}  // namespace capstan::chief
