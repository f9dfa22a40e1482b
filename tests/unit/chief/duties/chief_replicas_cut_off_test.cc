// The chief's machine: a chief that was cut off from its shards, or has slept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "tests/unit/chief/crew.h"
#include "tests/unit/chief/duties/moves_job.h"
#include "tests/unit/chief/duties/replicas_job.h"

namespace capstan::chief {
namespace {

using testing::Contains;
using testing::SizeIs;

TEST_F(ChiefReplicasTest, AChiefThatHasSleptTakesNobodyForSilent) {
  crew_.now += absl::Minutes(5);
  (void)crew_.ShardHeartbeat(0);
  crew_.Advance(absl::Seconds(5));
  EXPECT_EQ(crew_.Status().replicas().promotions(), 0u);
  EXPECT_EQ(crew_.Status().replicas().dropped(), 0u);
  EXPECT_THAT(view().pairs(), SizeIs(8));
}

TEST_F(ChiefReplicasTest, AChiefThatHearsOfNobodyGivesNobodyUp) {
  const std::map<uint32_t, Crew::Process> all = crew_.shards;
  for (const uint32_t first : {0, 1, 2}) {
    for (uint32_t index = 0; index < 3; ++index) {  // Their last heartbeats do not come at once.
      crew_.Stop((first + index) % 3);
      crew_.Advance(absl::Milliseconds(300));
    }
    crew_.Advance(absl::Seconds(20));
    EXPECT_EQ(crew_.Status().replicas().promotions(), 0u);
    for (uint32_t index = 0; index < 3; ++index) {  // And not the first ones of later, either.
      const uint32_t back = (first + index) % 3;
      crew_.shards[back] = all.at(back);
      crew_.Advance(absl::Seconds(3));
    }
    crew_.Advance(absl::Seconds(20));
  }
  EXPECT_EQ(crew_.Status().replicas().promotions(), 0u);
  EXPECT_EQ(crew_.Status().replicas().dropped(), 0u);
  EXPECT_THAT(view().pairs(), SizeIs(8));
  ExpectNothingLost();
  crew_.Stop(2);
  crew_.Advance(absl::Seconds(11));
  EXPECT_EQ(crew_.Status().replicas().promotions(), 1u) << "whoever is silent alone is";
}

TEST_F(ChiefReplicasTest, AChiefThatHearsOfNobodyKeepsAShardThatOnlyBacksUp) {
  ASSERT_TRUE(crew_.RegisterShard(3).ok());
  crew_.hold_calls = true;  // What it is to own it backs up first.
  for (int i = 0; i < 100 && BackedUpBy(view(), 3) == 0; ++i) {
    for (const CallShard& call : std::exchange(crew_.held, {})) crew_.Answer(call);
    crew_.AnswerCalls();
    if (crew_.held.empty()) crew_.Advance(absl::Milliseconds(500));
  }
  const int backed_up = BackedUpBy(view(), 3);
  ASSERT_GT(backed_up, 0);
  ASSERT_EQ(OwnedBy(view(), 3), 0);
  const std::map<uint32_t, Crew::Process> all = std::exchange(crew_.shards, {});
  crew_.Advance(absl::Seconds(20));
  EXPECT_THAT(MembersOf(view()), Contains(3u));
  EXPECT_EQ(BackedUpBy(view(), 3), backed_up);
  crew_.shards = all;
  crew_.hold_calls = false;
  for (const CallShard& call : std::exchange(crew_.held, {})) crew_.Answer(call);
  crew_.AnswerCalls();
  crew_.Advance(absl::Seconds(20));
  EXPECT_EQ(crew_.Status().replicas().dropped(), 0u);
  EXPECT_THAT(view().pairs(), SizeIs(8));
  ExpectNothingLost();
}

// ---- a shard was started anew meanwhile ----

class ChiefCutOffTest : public ChiefReplicasTest {
 protected:
  // Nobody is heard of for so long.
  void CutOff(absl::Duration time) {
    for (uint32_t index = 0; index < 3; ++index) crew_.Stop(index);
    crew_.Advance(time);
  }
  void ComeBack(uint32_t index) { crew_.shards[index] = all_.at(index); }
  // No view takes this process for the owner of what the one before it had.
  void ExpectNeverAnOwner(uint64_t incarnation) {
    for (const v1::View& each : crew_.views) {
      for (const v1::ShardInfo& shard : each.shards()) {
        if (shard.incarnation() == incarnation) {
          EXPECT_EQ(OwnedBy(each, shard.index()), 0);
        }
      }
    }
  }

  // A new process comes in the place of shard 1.
  void ExpectBackupsTakeOverFromShard1() {
    ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
    EXPECT_EQ(OwnedBy(view(), 1), 0);
    ExpectNeverAnOwner(77);
    ExpectNothingLost();
    crew_.Advance(absl::Seconds(20));
    EXPECT_EQ(crew_.Status().replicas().promotions(), 1u);
    EXPECT_THAT(view().pairs(), SizeIs(8));
    ExpectNothingLost();
  }

  const std::map<uint32_t, Crew::Process> all_ = crew_.shards;
};

TEST_F(ChiefCutOffTest, AShardThatIsStartedAnewWaitsUntilItsBackupsAreHeardOfAgain) {
  CutOff(absl::Seconds(20));
  EXPECT_EQ(crew_.RegisterShard(1, 77).code(), absl::StatusCode::kUnavailable);
  ComeBack(0);
  ComeBack(2);
  crew_.Advance(absl::Seconds(1));
  EXPECT_EQ(crew_.Status().replicas().promotions(), 0u);
  ExpectBackupsTakeOverFromShard1();  // It asks every second.
}

TEST_F(ChiefCutOffTest, NobodyWaitsForBackupsForLongerThanALease) {
  CutOff(absl::Seconds(20));
  EXPECT_EQ(crew_.RegisterShard(1, 77).code(), absl::StatusCode::kUnavailable);
  crew_.Advance(absl::Seconds(10));
  EXPECT_EQ(crew_.RegisterShard(1, 77).code(), absl::StatusCode::kUnavailable);
  crew_.Advance(absl::Seconds(1));
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  ASSERT_TRUE(crew_.RegisterShard(0, 70).ok());
  ASSERT_TRUE(crew_.RegisterShard(2, 72).ok());
  crew_.Advance(absl::Seconds(5));
  EXPECT_EQ(crew_.Status().replicas().promotions(), 0u);
  EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_RUNNING);
  EXPECT_GT(view().timeline(), timeline_);
}

TEST_F(ChiefCutOffTest, AChiefThatHasSleptLetsBackupsTakeOverBeforeItHasHeardOfThem) {
  crew_.now += absl::Minutes(5);
  ExpectBackupsTakeOverFromShard1();
}

}  // namespace
}  // namespace capstan::chief
