// A running job with replicas, for the tests of the chief's machine.
#ifndef TESTS_UNIT_CHIEF_DUTIES_REPLICAS_JOB_H_
#define TESTS_UNIT_CHIEF_DUTIES_REPLICAS_JOB_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "tests/unit/chief/crew.h"
#include "tests/unit/chief/duties/moves_job.h"

namespace capstan::chief {

inline CrewOptions Replicated(uint32_t shards = 3, uint32_t lanes = 0) {
  CrewOptions options = TenTasks(lanes);
  options.shards = shards;
  options.replicas = 1;
  return options;
}

inline int BackedUpBy(const v1::View& view, uint32_t shard) {
  return static_cast<int>(
      std::count_if(view.pairs().begin(), view.pairs().end(),
                    [shard](const auto& pair) { return pair.backup() == shard; }));
}

// The partitions that the shard owns, and who backs each up.
inline std::map<uint32_t, v1::PartitionPair> PairsOf(const v1::View& view, uint32_t owner) {
  std::map<uint32_t, v1::PartitionPair> pairs;
  for (const v1::PartitionPair& pair : view.pairs()) {
    if (view.owners(static_cast<int>(pair.partition())) == owner) pairs[pair.partition()] = pair;
  }
  return pairs;
}

// A running job whose every partition has a backup, and a worker that trains.
class ChiefReplicasTest : public testing::Test {
 protected:
  explicit ChiefReplicasTest(const CrewOptions& options = Replicated())
      : options_(options), crew_(options) {
    crew_.RegisterShards();
    crew_.RegisterWorker("w");
    leases_ = crew_.Heartbeat("w");
    crew_.Advance(absl::Seconds(5));
    timeline_ = crew_.machine.view().timeline();
  }

  const v1::View& view() const { return crew_.machine.view(); }
  void ExpectNothingLost() {
    EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_RUNNING);
    EXPECT_EQ(view().timeline(), timeline_);
    EXPECT_THAT(crew_.Status().losses(), testing::IsEmpty());
  }
  void ExpectRolledBack() {
    EXPECT_EQ(crew_.machine.state(), v1::JOB_STATE_RUNNING);
    EXPECT_GT(view().timeline(), timeline_);
    EXPECT_THAT(crew_.Status().losses(), testing::SizeIs(1));
  }
  // What the shard says of the pair with which it backs the partition up.
  void SayBroken(uint32_t partition) {
    const v1::View before = view();  // The heartbeat changes it.
    for (const v1::PartitionPair& pair : before.pairs()) {
      if (pair.partition() != partition) continue;
      v1::BrokenPair& broken = *crew_.reports[pair.backup()].add_broken_pairs();
      broken.set_partition(partition);
      *broken.mutable_pair() = pair.id();
      (void)crew_.ShardHeartbeat(pair.backup());
    }
  }

  CrewOptions options_;
  Crew crew_;
  v1::WorkerHeartbeatReply leases_;
  uint64_t timeline_ = 0;
};

class ChiefTwoReplicasTest : public ChiefReplicasTest {
 protected:
  ChiefTwoReplicasTest() : ChiefReplicasTest(Replicated(/*shards=*/2)) {}
};

class ChiefLaneReplicasTest : public ChiefReplicasTest {
 protected:
  ChiefLaneReplicasTest() : ChiefReplicasTest(Replicated(/*shards=*/3, /*lanes=*/2)) {}
};

}  // namespace capstan::chief

#endif  // TESTS_UNIT_CHIEF_DUTIES_REPLICAS_JOB_H_
