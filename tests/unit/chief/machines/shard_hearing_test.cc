#include "chief/machines/shard_hearing.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

// Two shards, of a job with replicas, whose leases are of ten seconds and a fifth.
class ShardHearingTest : public testing::Test {
 protected:
  ShardHearingTest() {
    Hear(0);
    Hear(1);
  }

  static v1::JobSpec JobOf(uint32_t replicas) {
    v1::JobSpec spec;
    spec.set_replicas(replicas);
    spec.mutable_lease()->set_shard_lease_seconds(10);
    spec.mutable_lease()->set_worker_lease_seconds(30);
    return spec;
  }
  void Hear(uint32_t index) {
    v1::RegisterShardRequest request;
    request.set_index(index);
    request.set_address(absl::StrCat("shard-", index, ":1"));
    request.set_incarnation(100 + index);
    EXPECT_TRUE(shards_.Register(request, now_).ok());
  }
  // So many seconds go by in which the chief listens, as it should.
  void Listen(int seconds) {
    for (int second = 0; second < seconds; ++second) {
      now_ += absl::Seconds(1);
      hearing_.Listen(shards_, now_);
    }
  }
  bool IsSilent(uint32_t index) const { return hearing_.IsSilent(*shards_.Find(index), now_); }
  bool IsLost(uint32_t index) const { return hearing_.IsLost(*shards_.Find(index), now_); }

  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  ShardTable shards_{2, 2};
  ShardHearing hearing_{JobOf(/*replicas=*/1)};
};

TEST_F(ShardHearingTest, AShardIsSilentWhenItsLeaseIsOverAndALittleMore) {
  now_ += absl::Seconds(10.2);
  EXPECT_FALSE(IsSilent(0));
  now_ += absl::Milliseconds(1);
  EXPECT_TRUE(IsSilent(0));
}

TEST_F(ShardHearingTest, WithoutReplicasAShardIsSilentAfterTheLeaseOfWorkers) {
  const ShardHearing hearing(JobOf(/*replicas=*/0));
  EXPECT_FALSE(hearing.IsSilent(*shards_.Find(0), now_ + absl::Seconds(30)));
  EXPECT_TRUE(hearing.IsSilent(*shards_.Find(0), now_ + absl::Seconds(31)));
}

TEST_F(ShardHearingTest, AProcessThatHasEndedIsLostAtOnceThoughItsLeaseIsNotOver) {
  (void)hearing_.lease().Grant(100, now_, now_);
  shards_.Find(0)->gone = true;
  EXPECT_TRUE(IsSilent(0));
  EXPECT_TRUE(IsLost(0));
  EXPECT_FALSE(IsLost(1));
}

TEST_F(ShardHearingTest, ASilentShardIsLostWhenItsLeaseIsOver) {
  Listen(5);
  (void)hearing_.lease().Grant(100, now_, now_);
  for (int second = 0; second < 10; ++second) {
    Hear(1);
    Listen(1);
  }
  EXPECT_TRUE(IsSilent(0));
  EXPECT_FALSE(IsLost(0));
  Hear(1);
  Listen(1);
  EXPECT_TRUE(IsLost(0));
  EXPECT_FALSE(IsLost(1));
}

TEST_F(ShardHearingTest, AChiefThatHasSleptKnowsNothingOfTheSilenceOfOthers) {
  Listen(1);
  now_ += absl::Seconds(15);
  EXPECT_TRUE(IsSilent(0));
  Hear(1);
  hearing_.Listen(shards_, now_);
  EXPECT_FALSE(IsSilent(0)) << "it has not been listened to";
  for (int second = 0; second < 10; ++second) {
    Hear(1);
    Listen(1);
  }
  EXPECT_FALSE(IsSilent(0));
  Listen(1);
  EXPECT_TRUE(IsSilent(0));
}

TEST_F(ShardHearingTest, AChiefThatHearsOfNobodyTakesNobodyForLost) {
  Listen(20);
  EXPECT_TRUE(IsSilent(0));
  EXPECT_FALSE(hearing_.Hears(now_));
  EXPECT_FALSE(IsLost(0));
  for (int second = 0; second < 10; ++second) {
    Hear(1);
    Listen(1);
  }
  EXPECT_FALSE(IsLost(0)) << "it has as long as ever to be heard of";
  Hear(1);
  Listen(1);
  EXPECT_TRUE(IsLost(0));
}

TEST_F(ShardHearingTest, AChiefThatHearsOfOneShardHears) {
  for (int second = 0; second < 20; ++second) {
    Hear(1);
    Listen(1);
  }
  EXPECT_TRUE(hearing_.Hears(now_));
  EXPECT_TRUE(IsLost(0));
}

}  // namespace
}  // namespace capstan::chief
