// ssp with a backup on another real shard: who takes over counts nothing as finished that the owner
// which was lost may not have heard of (docs/spec, rule 33).
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "capstan/placement/placement.h"
#include "tests/integration/shard/crowd.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/test_moves.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

// Two trainers, shards that back each other up, and a bound of one step. The second trainer has
// told shard 0 more than shard 1.
class ReplicaClocksTest : public testing::Test {
 protected:
  static v1::JobSpec Job() {
    v1::JobSpec job = SmallJob(Crowd::kColumns, /*dense_width=*/0);
    job.set_replicas(1);
    for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
      policy->set_kind(v1::POLICY_KIND_SSP);
      policy->set_staleness(1);
    }
    return job;
  }
  ReplicaClocksTest() : shards_(Job(), 2) { shards_.SetTrainers({1, 2}); }

  absl::Status Push(Trainer& trainer, uint64_t clock) {
    return trainer
        .Push({.clock = clock, .stream = StreamPush{StreamId::Session(clock), 0, {1, 1}, 0}}, -1)
        .status;
  }
  // Keys of partitions that this shard owns.
  std::vector<uint64_t> KeysOf(uint32_t shard) const {
    std::vector<uint64_t> keys = Keys(0, 30);
    std::erase_if(keys, [&](uint64_t key) {
      const auto partition =
          Raw(PartitionOfKey(key, shards_.job().tables(0).seed(), shards_.job().partition_count()));
      return shards_.view().owners(partition) != shard;
    });
    return keys;
  }
  void LoseShard1() {
    shards_.Kill(1);
    shards_.Change([](v1::View& view) {
      DropBackup(view, 1);
      Promote(view, 1);
    });
    quick_.SetView(shards_.view());
  }
  absl::Status PullOf(uint64_t step) { return quick_.Pull({.clock = step}).status; }
  absl::Status HastyPullOf(uint64_t step) {
    return quick_.Pull({.clock = step, .timeout = absl::Milliseconds(300)}).status;
  }

  LocalShards shards_;
  Trainer quick_{shards_, {.trainer = TrainerId{1}}};
  Trainer slow_{shards_, {.trainer = TrainerId{2}}};
};

TEST_F(ReplicaClocksTest, NobodyHasFinishedMoreThanAtTheOwnerThatWasLostWhenItWasCopied) {
  for (Trainer* trainer : {&quick_, &slow_}) {
    trainer->Plan(Keys(0, 30));
    ASSERT_TRUE(Push(*trainer, 4).ok());
  }
  ASSERT_TRUE(PairAll(shards_, {0, 1}).ok());
  for (Trainer* trainer : {&quick_, &slow_}) trainer->SetView(shards_.view());
  ASSERT_TRUE(Push(quick_, 6).ok());
  slow_.Plan(KeysOf(0));
  ASSERT_TRUE(Push(slow_, 6).ok());
  LoseShard1();
  EXPECT_TRUE(PullOf(5).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(HastyPullOf(6)));
}

TEST_F(ReplicaClocksTest, WhoHasSaidNothingToTheOwnerThatWasLostHasFinishedNothing) {
  ASSERT_TRUE(PairAll(shards_, {0, 1}).ok());
  for (Trainer* trainer : {&quick_, &slow_}) trainer->SetView(shards_.view());
  quick_.Plan(Keys(0, 30));
  ASSERT_TRUE(Push(quick_, 4).ok());
  slow_.Plan(KeysOf(0));
  ASSERT_TRUE(Push(slow_, 4).ok());
  LoseShard1();
  EXPECT_TRUE(PullOf(1).ok());
  EXPECT_TRUE(absl::IsDeadlineExceeded(HastyPullOf(2)));
}

}  // namespace
}  // namespace capstan
