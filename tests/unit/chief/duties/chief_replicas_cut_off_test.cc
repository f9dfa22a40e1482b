// The chief's machine: a chief that was cut off from its shards, or has slept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/chief/crew.h"
#include "tests/unit/chief/duties/moves_job.h"
#include "tests/unit/chief/duties/replicas_job.h"

namespace capstan::chief {
namespace {

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

  const std::map<uint32_t, Crew::Process> all_ = crew_.shards;
};

TEST_F(ChiefCutOffTest, AShardThatIsStartedAnewWaitsUntilItsBackupsAreHeardOfAgain) {
  CutOff(absl::Seconds(20));
  EXPECT_EQ(crew_.RegisterShard(1, 77).code(), absl::StatusCode::kUnavailable);
  ComeBack(0);
  ComeBack(2);
  crew_.Advance(absl::Seconds(1));
  EXPECT_EQ(crew_.Status().replicas().promotions(), 0u);
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok()) << "it asks every second";
  EXPECT_EQ(OwnedBy(view(), 1), 0);
  ExpectNeverAnOwner(77);
  ExpectNothingLost();
  crew_.Advance(absl::Seconds(20));
  EXPECT_EQ(crew_.Status().replicas().promotions(), 1u);
  EXPECT_THAT(view().pairs(), SizeIs(8));
  ExpectNothingLost();
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
  ASSERT_TRUE(crew_.RegisterShard(1, 77).ok());
  EXPECT_EQ(OwnedBy(view(), 1), 0);
  ExpectNeverAnOwner(77);
  ExpectNothingLost();
  crew_.Advance(absl::Seconds(20));
  EXPECT_EQ(crew_.Status().replicas().promotions(), 1u);
  EXPECT_THAT(view().pairs(), SizeIs(8));
  ExpectNothingLost();
}

}  // namespace
}  // namespace capstan::chief
