// The chief's machine: backups that take over for a shard that is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "tests/unit/chief/crew.h"
#include "tests/unit/chief/duties/moves_job.h"
#include "tests/unit/chief/duties/replicas_job.h"

namespace capstan::chief {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// ---- an owner is lost ----

TEST_F(ChiefReplicasTest, TheBackupsOfADeadShardTakeOverInOneViewAndNobodyReturns) {
  const std::map<uint32_t, v1::PartitionPair> pairs = PairsOf(view(), 1);
  ASSERT_THAT(pairs, SizeIs(3));
  const size_t before = crew_.views.size();
  crew_.Kill(1);
  const v1::View& first = crew_.views.at(before);
  EXPECT_EQ(OwnedBy(first, 1), 0) << "the first view that tells of it tells of all";
  for (const auto& [partition, pair] : pairs) {
    EXPECT_EQ(first.owners(static_cast<int>(partition)), pair.backup());
    const auto copy =
        std::find_if(first.copies().begin(), first.copies().end(),
                     [p = partition](const auto& one) { return one.partition() == p; });
    ASSERT_NE(copy, first.copies().end());
    EXPECT_EQ(copy->move().n(), pair.move().n()) << "by the copy that the pair's move brought";
  }
  for (const v1::PartitionPair& pair : first.pairs()) {
    EXPECT_FALSE(pairs.contains(pair.partition())) << "it has no backup any more";
    EXPECT_NE(pair.backup(), 1u);
  }
  EXPECT_THAT(MembersOf(first), Not(Contains(1u)));
  EXPECT_EQ(crew_.Status().replicas().promotions(), 1u);
  EXPECT_EQ(crew_.Status().replicas().promoted(), 3u);
  EXPECT_THAT(crew_.Heartbeat("w").revoked(), IsEmpty()) << "its leases hold";
  EXPECT_THAT(crew_.loads, SizeIs(3)) << "those of the start";
  ExpectNothingLost();
  crew_.Advance(absl::Seconds(10));
  EXPECT_EQ(crew_.Status().replicas().unpaired(), 0u) << "the others back each other up";
  EXPECT_EQ(crew_.Status().waiting_for(), "");
}

TEST_F(ChiefReplicasTest, NobodyHearsOfAPromotionBeforeItIsStored) {
  crew_.hold_states = true;
  crew_.Kill(1);
  EXPECT_EQ(OwnedBy(view(), 1), 3);
  crew_.Advance(absl::Seconds(3));
  EXPECT_EQ(OwnedBy(view(), 1), 3);
  ASSERT_EQ(OwnedBy(crew_.states.back().view(), 1), 0);
  crew_.hold_states = false;
  crew_.machine.OnStateStored(absl::OkStatus(), crew_.now);
  crew_.AnswerCalls();
  EXPECT_EQ(OwnedBy(view(), 1), 0);
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, AnotherProcessInItsPlaceIsANewcomer) {
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  EXPECT_EQ(OwnedBy(view(), 1), 0) << "the old one is dead, or it had not come";
  for (const v1::View& each : crew_.views) {
    for (const v1::ShardInfo& shard : each.shards()) {
      if (shard.incarnation() == 77) {
        EXPECT_EQ(each.timeline() == timeline_ && each.epoch().n() < view().epoch().n() &&
                      OwnedBy(each, 1) > 0,
                  false);
      }
    }
  }
  ExpectNothingLost();
  crew_.Advance(absl::Seconds(15));
  EXPECT_GE(OwnedBy(view(), 1), 2);
  EXPECT_THAT(view().pairs(), SizeIs(8));
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, ASilentShardIsReplacedWhenItsLeaseIsOverAndNotBefore) {
  EXPECT_GT(crew_.ShardHeartbeat(1).lease_seconds(), 6);
  crew_.Stop(1);
  crew_.Advance(absl::Seconds(10));
  EXPECT_EQ(OwnedBy(view(), 1), 3) << "it may serve pulls yet";
  crew_.Advance(absl::Seconds(1));
  EXPECT_EQ(OwnedBy(view(), 1), 0);
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, AProcessThatWasReplacedIsNeverListenedToAgain) {
  const Crew::Process process = crew_.shards.at(1);
  crew_.Stop(1);
  crew_.Advance(absl::Seconds(11));
  crew_.shards[1] = process;
  const v1::ShardHeartbeatReply reply = crew_.ShardHeartbeat(1);
  EXPECT_FALSE(reply.known());
  EXPECT_EQ(reply.lease_seconds(), 0);
  EXPECT_EQ(crew_.RegisterShard(1).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ChiefReplicasTest, AShardThatIsHeardOfInTimeIsNotReplaced) {
  const Crew::Process process = crew_.shards.at(1);
  crew_.Stop(1);
  crew_.Advance(absl::Seconds(9));
  crew_.shards[1] = process;
  crew_.Advance(absl::Seconds(20));
  EXPECT_EQ(OwnedBy(view(), 1), 3);
  EXPECT_EQ(crew_.Status().replicas().promotions(), 0u);
}

TEST_F(ChiefReplicasTest, WhereOnePartitionHasNoBackupAllReturnToACheckpoint) {
  SayBroken(PairsOf(view(), 1).begin()->first);
  crew_.Kill(1);
  EXPECT_EQ(OwnedBy(view(), 1), 3) << "not even those that could be taken over";
  crew_.Advance(absl::Seconds(30));
  EXPECT_EQ(OwnedBy(view(), 1), 3) << "it is waited for";
  EXPECT_THAT(crew_.Status().waiting_for(), HasSubstr("shard 1"));
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  crew_.AnswerCalls();
  ExpectRolledBack();
  EXPECT_THAT(crew_.Status().losses(0).cause(), HasSubstr("has no backup"));
  EXPECT_THAT(view().copies(), IsEmpty());
  crew_.Advance(absl::Seconds(10));
  EXPECT_THAT(view().pairs(), SizeIs(8)) << "made anew in the new timeline";
}

TEST_F(ChiefReplicasTest, WhereOwnerAndBackupAreLostTogetherAllReturnToACheckpoint) {
  crew_.Stop(1);
  crew_.Stop(2);
  crew_.Advance(absl::Seconds(20));
  EXPECT_EQ(view().timeline(), timeline_);
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  ASSERT_TRUE(crew_.RegisterShard(2, 78).ok());
  crew_.Advance(absl::Seconds(5));
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_GT(view().timeline(), timeline_);
}

TEST_F(ChiefReplicasTest, OneAfterTheOtherIsReplacedAsLongAsThereAreBackups) {
  crew_.Kill(1);
  crew_.Advance(absl::Seconds(10));
  crew_.Kill(2);
  EXPECT_EQ(OwnedBy(view(), 0), 8);
  EXPECT_EQ(crew_.Status().replicas().promotions(), 2u);
  ExpectNothingLost();
}

class ChiefPartialReplicasTest : public ChiefReplicasTest {
 protected:
  static CrewOptions Options() {
    CrewOptions options = Replicated();
    options.partial = true;
    return options;
  }
  ChiefPartialReplicasTest() : ChiefReplicasTest(Options()) {}
};

TEST_F(ChiefPartialReplicasTest, OnlyAShardWithoutBackupsRecoversPartially) {
  crew_.TakeCheckpoint();
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  ExpectNothingLost();
  crew_.Advance(absl::Seconds(15));
  const uint32_t partition = PairsOf(view(), 1).begin()->first;
  SayBroken(partition);
  crew_.loads.clear();
  ASSERT_TRUE(crew_.RegisterShard(1, 78).ok());
  crew_.AnswerCalls();
  EXPECT_EQ(view().timeline(), timeline_);
  EXPECT_GT(OwnedBy(view(), 1), 0);
  ASSERT_THAT(crew_.loads, SizeIs(1));
  EXPECT_TRUE(crew_.loads[0].has_partial());
  EXPECT_THAT(PairsOf(view(), 1), IsEmpty()) << "the backups are ahead of it";
  crew_.Advance(absl::Seconds(15));
  EXPECT_THAT(view().pairs(), SizeIs(8));
}

// ---- in the middle of other things ----

TEST_F(ChiefReplicasTest, APromotionDuringACheckpointBreaksItOffAndAnotherIsTaken) {
  crew_.saves_until_done = 1000;
  crew_.TakeCheckpoint();
  ASSERT_TRUE(crew_.Status().checkpoint().running());
  crew_.saves.clear();
  crew_.saves_until_done = 1;
  crew_.Kill(1);
  crew_.Advance(absl::Seconds(2));
  ASSERT_THAT(crew_.manifests, SizeIs(1));
  EXPECT_THAT(crew_.checkpoint_answers, SizeIs(1)) << "whoever asked gets that one";
  EXPECT_TRUE(crew_.checkpoint_answers[0].uri.ok());
  EXPECT_EQ(crew_.Status().checkpoint().failures(), 0u);
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, APromotionCancelsTheMovesUnderWay) {
  ASSERT_TRUE(crew_.RegisterShard(3).ok());
  crew_.hold_calls = true;
  AnswerUntilMove(crew_, /*finish=*/false);
  crew_.hold_calls = false;
  crew_.Kill(1);
  EXPECT_THAT(view().moves(), IsEmpty());
  EXPECT_EQ(OwnedBy(view(), 1), 0);
  crew_.held.clear();
  crew_.Advance(absl::Seconds(20));
  EXPECT_GE(OwnedBy(view(), 3), 2) << "they are made again";
  EXPECT_THAT(view().pairs(), SizeIs(8));
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, AnOwnerThatDiesAfterTheSwitchToItsBackupIsReplaced) {
  SayBroken(PairsOf(view(), 1).begin()->first);
  crew_.hold_calls = true;
  AnswerUntilMove(crew_, /*finish=*/true);
  crew_.hold_states = true;
  crew_.hold_calls = false;
  for (const CallShard& call : std::exchange(crew_.held, {})) crew_.Answer(call);
  crew_.AnswerCalls();
  EXPECT_THAT(view().pairs(), SizeIs(7)) << "the view with the pair is not stored yet";
  crew_.Kill(1);
  crew_.hold_states = false;
  crew_.machine.OnStateStored(absl::OkStatus(), crew_.now);
  crew_.AnswerCalls();
  EXPECT_EQ(OwnedBy(view(), 1), 0);
  crew_.Advance(absl::Seconds(15));
  EXPECT_THAT(view().pairs(), SizeIs(8)) << "the batch is over, and others follow";
  ExpectNothingLost();
}

TEST_F(ChiefReplicasTest, StreamsThatTheLostShardHadNotClosedAreClosedAgainByThoseThatTakeOver) {
  const uint64_t stream =
      StreamId::Task(leases_.leases(0).data_epoch(), leases_.leases(0).task().index()).value;
  crew_.hold_calls = true;
  crew_.Heartbeat("w", {Crew::Done(leases_.leases(0))});
  crew_.Advance(absl::Seconds(2));
  for (const CallShard& call : std::exchange(crew_.held, {})) {
    if (call.shard != 1) crew_.Answer(call);
  }
  ASSERT_TRUE(crew_.closed[0].contains(stream));
  ASSERT_TRUE(crew_.closed[2].contains(stream));
  crew_.closed.clear();
  crew_.hold_calls = false;
  crew_.Kill(1);
  crew_.Advance(absl::Seconds(1));
  EXPECT_TRUE(crew_.closed[0].contains(stream)) << "in what it has taken over it is open";
  EXPECT_TRUE(crew_.closed[2].contains(stream));
  EXPECT_FALSE(crew_.closed.contains(1));
}

TEST_F(ChiefReplicasTest, WhatWasBeingFlushedIsFlushedByThoseThatTakeOver) {
  crew_.hold_calls = true;
  crew_.WorkToTheEnd({"w"}, /*rounds=*/40);
  for (const CallShard& call : std::exchange(crew_.held, {})) {
    const bool flush = call.request.Is<v1::FlushRequest>();
    if (flush && call.shard != 1) crew_.Answer(call);
  }
  ASSERT_EQ(crew_.answered["Flush"], 2) << "the third is not answered any more";
  crew_.hold_calls = false;
  crew_.Kill(1);
  crew_.Advance(absl::Seconds(3));
  EXPECT_EQ(crew_.answered["Flush"], 4);
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_THAT(crew_.Status().losses(), IsEmpty());
}

TEST_F(ChiefReplicasTest, AJobWhoseShardDiesAtTheEndIsSavedByTheOthers) {
  crew_.saves_until_done = 1000;
  crew_.WorkToTheEnd({"w"});
  ASSERT_EQ(crew_.machine.state(), v1::JOB_STATE_CHECKPOINTING);
  crew_.saves_until_done = 1;
  crew_.Kill(1);
  crew_.Advance(absl::Seconds(2));
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_COMPLETED);
  EXPECT_THAT(crew_.Status().losses(), IsEmpty());
}

TEST_F(ChiefReplicasTest, AModelThatIsStoredCompletesTheJobThoughAPromotionWaitsForTheStore) {
  crew_.hold_manifests = true;
  crew_.WorkToTheEnd({"w"});
  ASSERT_EQ(crew_.machine.state(), v1::JOB_STATE_CHECKPOINTING);
  crew_.hold_states = true;
  crew_.Kill(1);
  ASSERT_EQ(OwnedBy(view(), 1), 3) << "nobody has heard of the promotion";
  crew_.machine.OnManifestWritten(crew_.manifests.back().uri, absl::OkStatus(), crew_.now);
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_COMPLETED);
}

TEST_F(ChiefLaneReplicasTest, ABarrierThatTheLostCoordinatorHeldIsAskedForAgain) {
  crew_.hold_calls = true;
  crew_.TakeCheckpoint();
  ASSERT_THAT(crew_.held, SizeIs(1));
  const uint64_t first = crew_.held[0].request.Get<v1::HoldRoundsRequest>().number();
  EXPECT_EQ(crew_.held[0].shard, 0u);
  const uint32_t successor = PairsOf(view(), 0).at(0).backup();
  crew_.held.clear();
  crew_.Kill(0);
  crew_.Advance(absl::Milliseconds(500));
  ASSERT_THAT(crew_.held, Not(IsEmpty()));
  const auto hold = std::find_if(crew_.held.begin(), crew_.held.end(), [](const CallShard& call) {
    return call.request.Is<v1::HoldRoundsRequest>();
  });
  ASSERT_NE(hold, crew_.held.end());
  EXPECT_EQ(hold->shard, successor);
  EXPECT_TRUE(hold->request.Get<v1::HoldRoundsRequest>().hold());
  EXPECT_GT(hold->request.Get<v1::HoldRoundsRequest>().number(), first);
  crew_.hold_calls = false;
  for (const CallShard& call : std::exchange(crew_.held, {})) crew_.Answer(call);
  crew_.AnswerCalls();
  crew_.Advance(absl::Seconds(2));
  EXPECT_THAT(crew_.manifests, SizeIs(1));
  ExpectNothingLost();
}

TEST_F(ChiefLaneReplicasTest, TheNextCoordinatorLetsRoundsGoOnWhateverTheLastOneWasTold) {
  crew_.order.clear();
  const uint64_t epoch = view().epoch().n();
  crew_.hold_calls = true;
  crew_.Kill(0);
  ASSERT_THAT(crew_.held, SizeIs(1));
  EXPECT_FALSE(crew_.held[0].request.Get<v1::HoldRoundsRequest>().hold());
  EXPECT_GT(crew_.held[0].request.Get<v1::HoldRoundsRequest>().header().epoch().n(), epoch)
      << "not before it may know that it is the coordinator";
  ExpectNothingLost();
}

}  // namespace
}  // namespace capstan::chief
