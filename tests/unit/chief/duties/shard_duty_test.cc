#include "chief/duties/shard_duty.h"

#include "tests/unit/chief/duties/duty_test.h"

namespace capstan::chief {
namespace {

class ShardDutyTest : public DutyTest {
 protected:
  static v1::RegisterShardRequest RequestOf(uint32_t index, uint64_t incarnation = 1) {
    v1::RegisterShardRequest request;
    request.set_wire_version(kWireVersion);
    request.set_index(index);
    request.set_address(absl::StrCat("shard-", index, ":1"));
    request.set_incarnation(incarnation);
    return request;
  }
  static v1::ShardHeartbeatRequest HeartbeatOf(uint32_t index, uint64_t incarnation) {
    v1::ShardHeartbeatRequest request;
    request.set_index(index);
    request.set_incarnation(incarnation);
    return request;
  }

  ShardDuty duty_{job_, orders_};
};

TEST_F(ShardDutyTest, AProcessIsNewOrTheSameOrReplacesTheOneBefore) {
  job_.placement.heard_of_shards = false;
  EXPECT_EQ(*duty_.Register(RequestOf(0, /*incarnation=*/1), now_), ShardTable::Arrival::kNew);
  EXPECT_TRUE(job_.placement.heard_of_shards);
  EXPECT_THAT(Taken<LogEvent>(), testing::SizeIs(1));
  EXPECT_EQ(*duty_.Register(RequestOf(0, /*incarnation=*/1), now_), ShardTable::Arrival::kSame);
  EXPECT_THAT(Taken<LogEvent>(), testing::IsEmpty()) << "it has said so before";
  EXPECT_EQ(*duty_.Register(RequestOf(0, /*incarnation=*/2), now_), ShardTable::Arrival::kReplaced);
  EXPECT_THAT(Taken<LogEvent>(), testing::SizeIs(1));
}

TEST_F(ShardDutyTest, AShardThatSpeaksAnotherWireVersionIsRefusedAndIsNoSpare) {
  v1::RegisterShardRequest request = RequestOf(8);
  request.set_wire_version(kWireVersion + 1);
  EXPECT_EQ(duty_.Register(request, now_).status().code(), absl::StatusCode::kFailedPrecondition);
  duty_.WatchSpares(now_);
  EXPECT_EQ(Warning("spare shards"), "");
}

TEST_F(ShardDutyTest, WhoHasRegisteredIsToldTheJobTheKeyOfItsSealsAndWhatItBeganWith) {
  job_.recovery.from = "/models/other/checkpoints/c";
  const v1::RegisterShardReply welcome = duty_.Welcome();
  EXPECT_EQ(welcome.job().job(), job_.plan.spec.job());
  EXPECT_EQ(welcome.seal_key(), "the key");
  EXPECT_EQ(welcome.from(), "/models/other/checkpoints/c");
}

TEST_F(ShardDutyTest, ACertificateWithoutANumberIsBelievedUntilOneWithItWasShown) {
  EXPECT_TRUE(duty_.MayBeUnnumbered(1));
  duty_.NoteNumbered(1);
  EXPECT_FALSE(duty_.MayBeUnnumbered(1));
  EXPECT_TRUE(duty_.MayBeUnnumbered(0)) << "that is another shard";
}

TEST_F(ShardDutyTest, ACertificateWithoutANumberMayBeBelievedAlwaysOrNever) {
  duty_.NoteNumbered(1);
  job_.options.unnumbered_shards = UnnumberedShards::kAccept;
  EXPECT_TRUE(duty_.MayBeUnnumbered(1));
  job_.options.unnumbered_shards = UnnumberedShards::kRefuse;
  EXPECT_FALSE(duty_.MayBeUnnumbered(0));
}

TEST_F(ShardDutyTest, OnlyTheProcessThatHasRegisteredIsHeard) {
  Run(2);
  now_ += absl::Seconds(1);
  job_.placement.heard_of_shards = false;
  EXPECT_EQ(duty_.Hear(HeartbeatOf(1, /*incarnation=*/7), now_), nullptr);
  EXPECT_FALSE(job_.placement.heard_of_shards);
  EXPECT_EQ(duty_.Hear(HeartbeatOf(1, 101), now_), &shard(1));
  EXPECT_EQ(shard(1).heard, now_);
  EXPECT_TRUE(job_.placement.heard_of_shards);
}

TEST_F(ShardDutyTest, OfAProcessThatIsHeardOfAndWatchesTheViewTheIndexIsNotFree) {
  Run(2);
  job_.placement.hearing.Listen(job_.placement.shards, now_);
  const absl::Status taken = duty_.CheckFree(1, /*watched=*/true, now_);
  EXPECT_EQ(taken.code(), absl::StatusCode::kUnavailable) << "it is to ask again";
  EXPECT_THAT(std::string(taken.message()), testing::HasSubstr("there is a shard 1 at shard-1:1"));
  EXPECT_TRUE(duty_.CheckFree(1, /*watched=*/false, now_).ok()) << "its process has ended";
  shard(1).gone = true;
  EXPECT_TRUE(duty_.CheckFree(1, /*watched=*/true, now_).ok());
}

TEST_F(ShardDutyTest, AProcessThatIsFrozenIsReplacedWhenItHasBeenSilentForALease) {
  Run(2);
  const absl::Time heard = now_;
  const absl::Duration patience = job_.placement.hearing.patience();
  for (; now_ <= heard + patience; now_ += patience / 8) {
    job_.placement.hearing.Listen(job_.placement.shards, now_);
    EXPECT_FALSE(duty_.CheckFree(1, /*watched=*/true, now_).ok()) << now_ - heard;
    (void)duty_.Hear(HeartbeatOf(0, 100), now_);
  }
  job_.placement.hearing.Listen(job_.placement.shards, now_);
  EXPECT_TRUE(duty_.CheckFree(1, /*watched=*/true, now_).ok());
}

// Whoever may act for the shard can say that it leaves.
TEST_F(ShardDutyTest, OneThatLeavesIsNotReplacedBeforeOthersHaveWhatItOwns) {
  Run(2);
  AddShard(2);
  job_.placement.hearing.Listen(job_.placement.shards, now_);
  for (const uint32_t index : {1u, 2u}) {
    EXPECT_FALSE(duty_.CheckFree(index, /*watched=*/true, now_).ok());
    v1::ShardHeartbeatRequest leaves = HeartbeatOf(index, 100 + index);
    leaves.set_draining(true);
    (void)duty_.Hear(leaves, now_);
  }
  EXPECT_FALSE(duty_.CheckFree(1, /*watched=*/true, now_).ok());
  EXPECT_TRUE(duty_.CheckFree(2, /*watched=*/true, now_).ok()) << "it owns nothing";
}

TEST_F(ShardDutyTest, AShardThatIsToLeaveIsSeenOffForAsLongAsItIsHeardOf) {
  Run(2);
  EXPECT_FALSE(duty_.SeesShardsOff(now_));
  v1::ShardHeartbeatRequest leaves = HeartbeatOf(1, 101);
  leaves.set_draining(true);
  (void)duty_.Hear(leaves, now_);
  (void)duty_.Hear(leaves, now_);
  EXPECT_THAT(Taken<LogEvent>(), testing::SizeIs(1)) << "it is logged once";
  EXPECT_TRUE(duty_.SeesShardsOff(now_ + absl::Seconds(1.9)));
  EXPECT_FALSE(duty_.SeesShardsOff(now_ + absl::Seconds(2)));
}

TEST_F(ShardDutyTest, SpareShardsAreToldOfForAsLongAsTheyAsk) {
  Run(2);
  EXPECT_FALSE(duty_.Register(RequestOf(8), now_).ok());
  duty_.WatchSpares(now_);
  EXPECT_THAT(Warning("spare shards"), testing::HasSubstr("ps-8 is of no use"));
  duty_.WatchSpares(now_ + absl::Seconds(16));
  EXPECT_EQ(Warning("spare shards"), "");
}

TEST_F(ShardDutyTest, AProcessThatIsKnownToBeGoneHasNoAddress) {
  Run(2);
  EXPECT_EQ(duty_.AddressOf(1, 101), "shard-1:1");
  EXPECT_EQ(duty_.AddressOf(1, 7), "") << "another process";
  shard(1).gone = true;
  EXPECT_EQ(duty_.AddressOf(1, 101), "");
}

}  // namespace
}  // namespace capstan::chief
