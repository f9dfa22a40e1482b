#include "cli/status/moves_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capstan::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(MovesViewTest, SaysWhatIsOnTheWayAndWhy) {
  v1::MoveStatus moves;
  EXPECT_EQ(MovesUnderWay(moves), "");
  EXPECT_EQ(MovesSoFar(moves), "");
  moves.set_under_way(3);
  moves.set_bytes(1 << 20);
  moves.set_bytes_expected(4 << 20);
  moves.set_why("shard 2 has joined");
  EXPECT_EQ(MovesUnderWay(moves),
            "3 partitions on the way, 1.00 MiB of 4.00 MiB, because shard 2 has joined");
  moves.set_moved(1);
  moves.set_cancelled(2);
  moves.set_seconds(0.012);
  EXPECT_EQ(MovesSoFar(moves),
            "1 partition moved, the last ones stood still for 12.0 ms; 2 cancelled");
}

TEST(MovesViewTest, ShowsEachShardAgainstTheMean) {
  v1::GetStatusReply status;
  for (uint32_t index : {0u, 3u}) {
    v1::ShardStatus& shard = *status.add_shards();
    shard.set_index(index);
    shard.set_state("serving");
    shard.set_partitions(8);
    shard.set_load(index == 0 ? 300 : 100);
  }
  const std::vector<std::string> lines = ShardShares(status);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], HasSubstr("ps-0"));
  EXPECT_THAT(lines[1], HasSubstr("1.50"));
  EXPECT_THAT(lines[2], HasSubstr("ps-3"));
  EXPECT_THAT(lines[2], HasSubstr("0.50"));
}

TEST(MovesViewTest, WithReplicasShowsWhatEachShardBacksUp) {
  v1::GetStatusReply status;
  status.mutable_replicas()->set_wanted(1);
  v1::ShardStatus& shard = *status.add_shards();
  shard.set_backups(5);
  shard.mutable_report()->set_backup_bytes(3 << 20);
  const std::vector<std::string> lines = ShardShares(status);
  EXPECT_THAT(lines[0], HasSubstr("backups"));
  EXPECT_THAT(lines[0], Not(HasSubstr("zone"))) << "none is known";
  EXPECT_THAT(lines[1], HasSubstr("3.00 MiB"));
  shard.set_zone("europe-west1-b");
  EXPECT_THAT(ShardShares(status)[1], HasSubstr("europe-west1-b"));
  v1::MoveStatus moves;
  moves.set_paired(5);
  EXPECT_THAT(MovesSoFar(moves), HasSubstr("0 partitions moved, 5 given a backup"));
}

TEST(MovesViewTest, APlanSaysWhatItIsGoodFor) {
  v1::RebalanceReply plan;
  EXPECT_THAT(PlanLines(plan),
              ElementsAre("the shards are as even as whole partitions can make them"));
  v1::PlannedMove& move = *plan.add_moves();
  move.set_partition(7);
  move.set_to(2);
  plan.set_load_skew_before(1.5);
  plan.set_load_skew_after(1.05);
  const std::vector<std::string> lines = PlanLines(plan);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_THAT(lines[1], HasSubstr("ps-0  ps-2"));
  EXPECT_THAT(lines[2], HasSubstr("load 1.50 to 1.05"));
}

}  // namespace
}  // namespace capstan::cli
