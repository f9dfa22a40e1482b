// What a worker cannot make: a lease, a closed round, the progress of the job. With real shards, as
// one that lies meets them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "capstan/consistency/round_commit.h"
#include "capstan/security/seal.h"
#include "tests/integration/shard/local_shard.h"
#include "tests/integration/shard/trainer.h"

namespace capstan {
namespace {

constexpr uint64_t kTimeline = 1;
constexpr TrainerId kLiar{1};
constexpr TrainerId kHonest{2};
constexpr uint64_t kLast = std::numeric_limits<uint64_t>::max();
const Sealer kSealer("the key of chief and shards");

v1::JobSpec SyncJob() {
  v1::JobSpec job = SmallJob(/*dim=*/2, /*dense_width=*/10);
  for (v1::UpdatePolicy* policy : {job.mutable_dense_update(), job.mutable_sparse_update()}) {
    policy->set_kind(v1::POLICY_KIND_SYNC);
    policy->set_lanes(1);
  }
  return job;
}

class Sealed {
 public:
  explicit Sealed(const v1::JobSpec& job) : shards_(job, 1), trainer_(shards_, {.trainer = kLiar}) {
    shards_.at(0).shard().seals().SetSealer(kSealer);
    trainer_.Plan({1, 2, 3});
  }
  PushResult Push(const PushOptions& options) { return trainer_.Push(options, -1); }
  bool TakeKeyDoubt() { return shards_.at(0).shard().seals().TakeDoubt(); }
  Trainer& trainer() { return trainer_; }

 private:
  LocalShards shards_;
  Trainer trainer_;
};

Generation SealedFor(StreamId stream, Generation generation) {
  generation.seal = kSealer.OfTask(kTimeline, kLiar, stream, generation);
  return generation;
}

TEST(SealsTest, APushGoesByTheGenerationOfItsLeaseAndByNoOther) {
  Sealed shard(SmallJob(/*dim=*/2, /*dense_width=*/10));
  const StreamId mine = StreamId::Task(0, 1);
  const StreamId other = StreamId::Task(0, 2);
  const Generation granted = SealedFor(mine, {1, 1});
  Generation forged = granted;
  forged.count = kLast;
  EXPECT_EQ(shard.Push({.stream = StreamPush{mine, 0, forged}}).status.code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(shard.Push({.stream = StreamPush{other, 0, granted}}).status.code(),
            absl::StatusCode::kUnavailable)
      << "it is the lease of another task";
  EXPECT_EQ(shard.Push({.stream = StreamPush{StreamId::Task(9, 99), 0, {1, 1}}}).status.code(),
            absl::StatusCode::kUnavailable)
      << "it bears no seal: a worker of an earlier version waits until it is replaced";
  const PushResult honest = shard.Push({.stream = StreamPush{mine, 0, granted}});
  EXPECT_TRUE(honest.status.ok()) << honest.status;
  EXPECT_GT(honest.count(v1::OUTCOME_APPLIED), 0u)
      << "what was refused has made nobody's lease old";
}

TEST(SealsTest, WhereASealIsWrongTheShardMayBeOfAnotherKeyAndAsksForIt) {
  Sealed shard(SmallJob(/*dim=*/2, /*dense_width=*/10));
  const StreamId mine = StreamId::Task(0, 1);
  Generation forged = SealedFor(mine, {1, 1});
  ++forged.seal;
  EXPECT_FALSE(shard.TakeKeyDoubt());
  EXPECT_FALSE(shard.Push({.stream = StreamPush{mine, 0, forged}}).status.ok());
  EXPECT_TRUE(shard.TakeKeyDoubt());
  EXPECT_FALSE(shard.TakeKeyDoubt()) << "once is enough";
}

TEST(SealsTest, ASealIsOfOneTimeline) {
  Sealed shard(SmallJob(/*dim=*/2, /*dense_width=*/10));
  const StreamId stream = StreamId::Task(0, 1);
  Generation before{1, 1};
  before.seal = kSealer.OfTask(kTimeline + 1, kLiar, stream, before);
  EXPECT_EQ(shard.Push({.stream = StreamPush{stream, 0, before}}).status.code(),
            absl::StatusCode::kUnavailable);
}

TEST(SealsTest, AClockIsToldByTheTrainerAloneWhoseLeaseItIs) {
  v1::JobSpec job = SmallJob(/*dim=*/2, /*dense_width=*/10);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SSP);
  job.mutable_sparse_update()->set_staleness(1);
  LocalShards shards(job, 1);
  shards.SetTrainers({Raw(kLiar), Raw(kHonest)});
  shards.at(0).shard().seals().SetSealer(kSealer);
  const StreamId stream = StreamId::Task(0, 1);
  const PushOptions with_lease{
      .clock = 9, .empty = true, .stream = StreamPush{stream, 0, SealedFor(stream, {1, 1})}};
  Trainer liar(shards, {.trainer = kLiar}), as_honest(shards, {.trainer = kHonest});
  liar.Plan({1});
  as_honest.Plan({1});
  for (const PushOptions& told : {with_lease, PushOptions{.clock = 9, .empty = true}}) {
    EXPECT_EQ(as_honest.Push(told, 0).status.code(), absl::StatusCode::kUnavailable);
  }
  EXPECT_EQ(liar.Push({.clock = 9, .empty = true}, 0).status.code(),
            absl::StatusCode::kUnavailable);
  EXPECT_EQ(shards.at(0).shard().accounts().Facts().clocks->spread, 0u)
      << "nobody has told anything";
  EXPECT_TRUE(liar.Push(with_lease, 0).status.ok());
  EXPECT_EQ(shards.at(0).shard().accounts().Facts().clocks->spread, 9u) << "its own";
}

TEST(SealsTest, AClientThatIsNoTrainerPushesToASessionOfItsOwn) {
  Sealed shard(SmallJob(/*dim=*/2, /*dense_width=*/10));
  EXPECT_TRUE(shard.Push({.stream = StreamPush{StreamId::Session(7), 0}}).status.ok());
}

TEST(SealsTest, ALaneThatTheJobHasNotIsNotStaged) {
  Sealed shard(SyncJob());
  const RoundCommit nothing;
  Generation generation{1, 1};
  generation.seal = kSealer.OfLane(kTimeline, kLiar, 123456, generation);
  const PushResult result =
      shard.Push({.stage = StageName{LaneIndex{123456}, generation, {1, &nothing}}, .examples = 1});
  EXPECT_EQ(result.status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(result.status.message()), testing::HasSubstr("the job has 1"));
}

TEST(SealsTest, ARoundIsClosedByTheCoordinatorAlone) {
  Sealed shard(SyncJob());
  Generation generation{1, 1};
  generation.seal = kSealer.OfLane(kTimeline, kLiar, 0, generation);
  RoundCommit closed{.round = 1, .lanes = {{LaneIndex{0}, {1, 1}, 4}}, .seal = 4711};
  const PushOptions next{.stage = StageName{LaneIndex{0}, generation, {2, &closed}}, .examples = 1};
  EXPECT_EQ(shard.Push(next).status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(shard.trainer().Pull({.round = RoundName{2, &closed}}).status.code(),
            absl::StatusCode::kUnavailable);
  closed.seal = kSealer.OfRound(kTimeline, closed);
  EXPECT_TRUE(shard.Push(next).status.ok());
}

TEST(SealsTest, HowFarTheJobIsTheChiefAloneSays) {
  v1::JobSpec job = SmallJob(/*dim=*/0, /*dense_width=*/10);
  v1::ScheduleSpec& schedule = *job.mutable_tensors(0)->mutable_optimizer()->mutable_schedule();
  schedule.set_kind(v1::SCHEDULE_KIND_STEP);
  schedule.set_decay_examples(1000);
  schedule.set_decay_rate(0.5);
  Sealed shard(job);
  const StreamId session = StreamId::Session(7);
  ASSERT_TRUE(shard.Push({.stream = StreamPush{session, 0}, .progress = {1000, /*seal=*/4711}})
                  .status.ok());
  ASSERT_TRUE(shard.trainer().Pull().status.ok());
  EXPECT_EQ(shard.trainer().dense, std::vector<float>(10, 1)) << "at the rate of the beginning";
  const JobProgress told{1000, kSealer.OfExamples(kTimeline, 1000)};
  ASSERT_TRUE(shard.Push({.stream = StreamPush{session, 1}, .progress = told}).status.ok());
  ASSERT_TRUE(shard.trainer().Pull().status.ok());
  EXPECT_EQ(shard.trainer().dense, std::vector<float>(10, 1.5f));
}

TEST(SealerTest, WithoutAKeyEverythingIsRight) {
  EXPECT_EQ(Sealer().OfExamples(1, 5), 0u);
  EXPECT_TRUE(Sealer().IsRight(/*shown=*/4711, /*made=*/0));
  EXPECT_FALSE(kSealer.IsRight(/*shown=*/4711, kSealer.OfExamples(1, 5)));
}

TEST(SealerTest, ASealOfOneThingIsNoneOfAnother) {
  EXPECT_NE(kSealer.OfTask(1, kLiar, {5}, {1, 1}), kSealer.OfLane(1, kLiar, 5, {1, 1}));
  EXPECT_NE(kSealer.OfTask(1, kLiar, {5}, {1, 1}), kSealer.OfTask(1, kHonest, {5}, {1, 1}));
  EXPECT_NE(kSealer.OfExamples(1, 5), kSealer.OfExamples(1, 6));
  EXPECT_NE(kSealer.OfExamples(1, 5), kSealer.OfExamples(2, 5));
  EXPECT_NE(Sealer::NewKey(), Sealer::NewKey());
}

}  // namespace
}  // namespace capstan
