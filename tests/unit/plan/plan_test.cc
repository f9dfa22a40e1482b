#include "capstan/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

#include "capstan/config/quantity.h"
#include "tests/unit/plan/dense_job.h"

namespace capstan {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Scale kFourWorkers = {
    .workers = 4, .shards = 1, .network_bytes_per_second = 8e6, .store_bytes_per_second = 2e6};

Plan PlanOf(const v1::JobSpec& job, const Scale& scale, const Rates& rates = {},
            const BatchTime& batch = {.compute_seconds = 3}) {
  const absl::StatusOr<Plan> plan = MakePlan(job, {.records = 400}, scale, rates, batch);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.value_or(Plan());
}

TEST(PlanTest, ARoundIsPullComputePushOverTheNetworkOfTheOneShard) {
  const Plan plan = PlanOf(DenseJob(4), kFourWorkers);
  // Four lanes of 4 MB each at 8 MB a second: 2 s each way.
  EXPECT_DOUBLE_EQ(plan.pace.step.pull, 2);
  EXPECT_DOUBLE_EQ(plan.pace.step.compute, 3);
  EXPECT_DOUBLE_EQ(plan.pace.step.push, 2);
  EXPECT_DOUBLE_EQ(plan.pace.step.total(), 7);
  EXPECT_EQ(plan.pace.loads.front().what, "the network of the shards");
  EXPECT_DOUBLE_EQ(plan.pace.loads.front().seconds, 4);
  EXPECT_DOUBLE_EQ(plan.examples_per_second, 4 * 10 / 7.0);
  EXPECT_DOUBLE_EQ(plan.epoch_seconds, 70);
  // Five lanes take 2.5 s each way: 50 examples in 8 s.
  EXPECT_NEAR(plan.more_by_a_worker, (50 / 8.0) / (40 / 7.0) - 1, 1e-9);
  EXPECT_GT(plan.more_by_a_shard, 0.1);
}

TEST(PlanTest, AnAsynchronousStepHidesTransfersBehindTheComputation) {
  v1::JobSpec job = DenseJob(0);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  const Plan plan = PlanOf(job, kFourWorkers);
  EXPECT_DOUBLE_EQ(plan.pace.step.pull, 0) << "half a second each way, while 3 s are computed";
  EXPECT_DOUBLE_EQ(plan.pace.step.total(), 3);
  EXPECT_DOUBLE_EQ(plan.pace.batches_per_second, 4 / 3.0);
}

TEST(PlanTest, AnAsynchronousStepWaitsWhereAShardCannotSendMore) {
  v1::JobSpec job = DenseJob(0);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  Scale scale = kFourWorkers;
  scale.workers = 10;
  const Plan plan = PlanOf(job, scale);
  EXPECT_DOUBLE_EQ(plan.pace.step.total(), 5) << "40 MB at 8 MB a second";
  EXPECT_DOUBLE_EQ(plan.pace.step.wait, 2);
  EXPECT_NEAR(plan.more_by_a_worker, 0, 1e-9);
}

TEST(PlanTest, OneMachineSharesItsCoresAndHasNoNetwork) {
  Scale scale = kFourWorkers;
  scale.one_machine = true;
  scale.cores = 2;
  const Plan plan = PlanOf(DenseJob(4), scale);
  EXPECT_DOUBLE_EQ(plan.pace.step.total(), 6) << "four times 3 s on two cores";
}

TEST(PlanTest, CallsRowsAndBytesCostWhatTheRatesSay) {
  Scale scale = kFourWorkers;
  scale.network_bytes_per_second = 1e15;
  scale.cores = 1;
  const Rates rates = {.pulled_byte = {.shard_seconds = 1e-7},
                       .pushed_byte = {.worker_seconds = 1e-6},
                       .added_float = 1e-7,
                       .applied = {{"sgd", 1e-6}}};
  const Plan plan = PlanOf(DenseJob(4), scale, rates);
  EXPECT_NEAR(plan.pace.step.pull, 4 * 4e6 * 1e-7, 1e-6) << "the shard answers four lanes";
  const double added = 1e6 * 1e-7 / static_cast<double>(plan.traffic.busiest.calls);
  EXPECT_NEAR(plan.pace.step.push, 4e6 * 1e-6 + added, 1e-6)
      << "each worker by itself; the shard adds while it sends, but for the last call";
  EXPECT_NEAR(plan.pace.step.apply, 1e6 * 1e-6, 1e-6) << "once a round";
}

TEST(PlanTest, ACallPassesWorkerNetworkAndShardOneAfterTheOther) {
  v1::JobSpec job = DenseJob(0);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  Scale scale = kFourWorkers;
  scale.workers = 1;
  const Rates rates = {.pulled_byte = {.worker_seconds = 1e-6, .shard_seconds = 1e-6}};
  const Plan plan = PlanOf(job, scale, rates, {});
  const double calls = static_cast<double>(plan.traffic.busiest.calls);
  ASSERT_GT(calls, 1);
  // Worker and shard are busy for 4 s each, the network for half a second.
  EXPECT_NEAR(plan.pace.step.pull, 4 + 4.5 / calls, 1e-5);
  EXPECT_NEAR(plan.pace.step.push, 0.5, 1e-5);
}

TEST(PlanTest, ARoundWaitsForItsSlowestLaneUnlessThatIsABackup) {
  const BatchTime batch = {.compute_seconds = 3, .deviation_seconds = 0.1};
  v1::JobSpec job = DenseJob(4);
  EXPECT_NEAR(PlanOf(job, kFourWorkers, {}, batch).pace.step.wait, 0.1 * NormalRank(4, 4), 1e-12);
  job.mutable_dense_update()->set_backup_workers(2);
  EXPECT_DOUBLE_EQ(PlanOf(job, kFourWorkers, {}, batch).pace.step.wait, 0);
}

TEST(PlanTest, NormalRanksAreThoseOfTables) {
  EXPECT_NEAR(NormalRank(1, 1), 0, 1e-9);
  EXPECT_NEAR(NormalRank(4, 4), 1.03, 0.03);
  EXPECT_NEAR(NormalRank(100, 100), 2.51, 0.03);
}

TEST(PlanTest, AShardHoldsParametersTheSumOfTheRoundAndWhatWaits) {
  Scale scale = kFourWorkers;
  scale.shards = 2;
  const Plan plan = PlanOf(DenseJob(4), scale);
  const uint64_t share = plan.traffic.busiest.floats * 4;
  EXPECT_NEAR(static_cast<double>(share), 2e6, 1.5e5);
  EXPECT_EQ(plan.sizes.shard.parts[0].bytes, share) << "SGD has no slots";
  EXPECT_EQ(plan.sizes.shard.parts[1].what, "sum of the round");
  EXPECT_EQ(plan.sizes.shard.parts[1].bytes, share);
  EXPECT_EQ(plan.sizes.waiting_bytes, 3 * share) << "all lanes but the one whose turn it is";
  EXPECT_EQ(plan.sizes.checkpoint_bytes, 4'000'000u);
  EXPECT_EQ(plan.sizes.checkpoint_objects, 3u) << "one a shard, and the manifest";
  EXPECT_NEAR(plan.store_seconds, 1, 0.07) << "2 MB at 2 MB a second";
}

TEST(PlanTest, PushesAndRepliesOnTheirWayTakeAQuarterOfAShardsMemoryEachAtTheMost) {
  Scale scale = kFourWorkers;
  scale.workers = 1000;
  const auto bytes = [&scale](uint64_t memory, std::string_view what) {
    scale.shard_memory_bytes = memory;
    for (const MemoryPart& part : PlanOf(DenseJob(1000), scale).sizes.shard.parts) {
      if (part.what == what) return part.bytes;
    }
    return uint64_t{0};
  };
  const std::string_view pushes = "pushes on their way, at most";
  EXPECT_EQ(bytes(/*memory=*/0, pushes), 1u << 30) << "not said";
  EXPECT_EQ(bytes(uint64_t{100} << 30, pushes), 1u << 30);
  EXPECT_EQ(bytes(512 << 20, pushes), 128u << 20);
  EXPECT_EQ(bytes(48 << 20, pushes), 64u << 20);
  const std::string_view replies = "replies to pulls, at most";
  EXPECT_EQ(bytes(uint64_t{100} << 30, replies), 512u << 20);
  EXPECT_EQ(bytes(512 << 20, replies), 128u << 20);
}

TEST(PlanTest, ItIsSaidHowManyOpenFilesAreEnoughWhereEverybodyMayNotHaveSoMany) {
  Scale scale = kFourWorkers;
  const auto warnings = [&scale](int workers, int shards) {
    scale.workers = workers;
    scale.shards = shards;
    v1::JobSpec job = DenseJob(0);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    return PlanOf(job, scale).warnings;
  };
  EXPECT_THAT(warnings(/*workers=*/640, /*shards=*/10), Not(Contains(HasSubstr("open"))));
  EXPECT_THAT(warnings(/*workers=*/641, /*shards=*/10),
              Contains("the chief and each shard have about 693 files and connections open: "
                       "allow each 1027 (ulimit -n)"));
}

TEST(PlanTest, WithSspAWorkerOfManyThreadsHasSeveralConnectionsToEachShard) {
  Scale scale = kFourWorkers;
  scale.workers = 400;
  scale.shards = 10;
  v1::JobSpec job = DenseJob(0);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_train()->set_compute_threads(32);
  EXPECT_THAT(PlanOf(job, scale).warnings, Not(Contains(HasSubstr("open"))));
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_SSP);
  EXPECT_THAT(PlanOf(job, scale).warnings, Contains(HasSubstr("about 1652 files")));
}

TEST(PlanTest, PushesThatComeInPiecesTakeAQuarterOfAShardsMemoryOrOneOfThem) {
  v1::JobSpec job = DenseJob(4);
  Scale scale = kFourWorkers;
  const auto pieces = [&](uint64_t memory) {
    scale.shard_memory_bytes = memory;
    for (const MemoryPart& part : PlanOf(job, scale).sizes.shard.parts) {
      if (part.what == "pushes that come in pieces, at most") return part.bytes;
    }
    return uint64_t{0};
  };
  EXPECT_EQ(pieces(/*memory=*/0), 0u) << "a message holds each";
  job.set_partition_count(1);
  job.mutable_tensors(0)->set_shape(0, 25'000'000);
  EXPECT_EQ(pieces(/*memory=*/0), 4u * 100'000'000u) << "one of each worker";
  EXPECT_EQ(pieces(uint64_t{1} << 30), uint64_t{1} << 28);
  EXPECT_EQ(pieces(uint64_t{100} << 20), 100'000'000u) << "one always fits";
}

TEST(PlanTest, TheChiefHasRoomForTheListOfTheDataAndForMakingIt) {
  const DataFacts facts = {.records = 400, .range_bytes = 1'000'000};
  const absl::StatusOr<Plan> plan =
      MakePlan(DenseJob(4), facts, kFourWorkers, {.chief_bytes = 30e6}, {.compute_seconds = 3});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->sizes.chief.parts[0].bytes, 1'000'000u);
  EXPECT_EQ(plan->sizes.chief.parts[1].bytes, 6'000'000u);
  EXPECT_GT(plan->sizes.chief.bytes(), 37'000'000u) << "with its connections";
}

TEST(PlanTest, WithReplicasShardsHoldEachPartitionTwiceAndSendUpdatesOn) {
  Scale scale = kFourWorkers;
  scale.shards = 2;
  v1::JobSpec job = DenseJob(4);
  const Plan once = PlanOf(job, scale);
  job.set_replicas(1);
  const Plan twice = PlanOf(job, scale);
  EXPECT_GE(twice.sizes.shard.bytes(), once.sizes.shard.bytes() + 2'000'000);
  EXPECT_DOUBLE_EQ(twice.pace.step.push, 2 * once.pace.step.push);
  EXPECT_DOUBLE_EQ(twice.pace.step.pull, once.pace.step.pull);
  scale.shards = 1;
  EXPECT_DOUBLE_EQ(PlanOf(job, scale).pace.step.push, PlanOf(DenseJob(4), scale).pace.step.push)
      << "there is nobody to send them to";
}

TEST(PlanTest, AnAggregateThatCannotWaitOnAShardIsRefusedWithTheArithmetic) {
  v1::JobSpec job = DenseJob(0);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_dense_update()->set_aggregate(8);
  Scale scale = kFourWorkers;
  scale.workers = 1;
  scale.shard_memory_bytes = 48 << 20;
  EXPECT_THAT(PlanOf(job, scale).refusals,
              ElementsAre(HasSubstr("the gradients that wait on a shard are 31MiB (8 of 3.8MiB), "
                                    "and 24MiB")));
  job.mutable_dense_update()->set_aggregate(6);
  EXPECT_THAT(PlanOf(job, scale).refusals, IsEmpty());
}

TEST(PlanTest, ARoundWithBackupsThatCannotWaitOnAShardIsRefusedAndOneWithoutIsWarnedOf) {
  v1::JobSpec job = DenseJob(8);
  Scale scale = kFourWorkers;
  scale.shard_memory_bytes = 48 << 20;
  const auto never = HasSubstr("would never be complete");
  EXPECT_THAT(PlanOf(job, scale).refusals, Not(Contains(never)));
  EXPECT_THAT(PlanOf(job, scale).warnings, Contains(HasSubstr("rounds may take longer")));
  job.mutable_dense_update()->set_backup_workers(1);
  EXPECT_THAT(PlanOf(job, scale).refusals, Contains(never));
}

TEST(PlanTest, WhatAProcessMayNotHaveIsRefused) {
  Scale scale = kFourWorkers;
  scale.worker_memory_bytes = 1 << 20;
  EXPECT_THAT(PlanOf(DenseJob(4), scale).refusals, ElementsAre(HasSubstr("a worker takes ")));
}

// The job of the section "A hundred lanes of 102 MB" of tests/bench/RESULTS.md.
v1::JobSpec HundredLanes() {
  v1::JobSpec job = DenseJob(100);
  job.set_partition_count(256);
  job.mutable_tensors(0)->set_shape(0, 25'500'000);
  return job;
}

TEST(PlanTest, AHundredLanesOf102MbFitIntoTheShardsThatTheyHaveRunIn) {
  Scale scale = kFourWorkers;
  scale.workers = scale.shards = 10;
  for (const uint64_t mebibytes : {320, 384, 448, 512, 560, 768}) {
    scale.shard_memory_bytes = mebibytes << 20;
    const Plan plan = PlanOf(HundredLanes(), scale, RecordedRates());
    EXPECT_THAT(plan.refusals, IsEmpty()) << mebibytes;
    EXPECT_LE(plan.sizes.shard.bytes(), scale.shard_memory_bytes) << mebibytes;
    EXPECT_THAT(plan.warnings, ElementsAre(HasSubstr("rounds may take longer"))) << mebibytes;
  }
  scale.shard_memory_bytes = 128 << 20;
  EXPECT_THAT(PlanOf(HundredLanes(), scale, RecordedRates()).refusals,
              ElementsAre(HasSubstr("at the least, and may have 128MiB")))
      << "messages and replies alone may take as much";
}

// The memory that the plan asks for a shard; 0: it does not.
uint64_t AskedForAShard(const Plan& plan) {
  constexpr std::string_view kAsked = "a shard takes ";
  for (const std::string_view refusal : plan.refusals) {
    if (!refusal.starts_with(kAsked)) continue;
    const std::string_view from = refusal.substr(kAsked.size());
    const std::optional<uint64_t> bytes =
        ParseByteSize(std::string(from.substr(0, from.find(' '))));
    EXPECT_TRUE(bytes) << refusal;
    return bytes.value_or(0);
  }
  return 0;
}

// Plans with all sorts of memory: what is asked for is enough, and so is any more.
void ExpectThatWhatIsAskedForIsEnough(const v1::JobSpec& job, Scale scale) {
  SCOPED_TRACE(::testing::Message() << job.ShortDebugString() << "workers " << scale.workers
                                    << " shards " << scale.shards);
  for (const uint64_t mebibytes : {40, 384, 5000}) {
    scale.shard_memory_bytes = mebibytes << 20;
    const Plan plan = PlanOf(job, scale, RecordedRates());
    const uint64_t asked = AskedForAShard(plan);
    if (asked == 0) {
      EXPECT_LE(plan.sizes.shard.bytes(), scale.shard_memory_bytes);
    } else {
      EXPECT_GT(asked, scale.shard_memory_bytes);
      scale.shard_memory_bytes = asked;
    }
    if (asked == 0 && !plan.refusals.empty()) continue;  // Too little for gradients to wait.
    for (int more = 0; more < 2; ++more) {
      EXPECT_THAT(PlanOf(job, scale, RecordedRates()).refusals, IsEmpty())
          << scale.shard_memory_bytes << " bytes";
      scale.shard_memory_bytes += scale.shard_memory_bytes / 3;
    }
  }
}

TEST(PlanTest, WhatAPlanAsksForIsEnoughAndSoIsAnyMore) {
  for (const uint32_t floats : {2'000'000, 200'000'000}) {
    for (const int shards : {1, 7}) {
      for (const int workers : {1, 100}) {
        Scale scale = kFourWorkers;
        scale.shards = shards;
        scale.workers = workers;
        v1::JobSpec job = DenseJob(/*lanes=*/100);
        job.mutable_tensors(0)->set_shape(0, floats);
        ExpectThatWhatIsAskedForIsEnough(job, scale);
        job.set_replicas(1);
        ExpectThatWhatIsAskedForIsEnough(job, scale);
        job.mutable_dense_update()->set_backup_workers(5);
        ExpectThatWhatIsAskedForIsEnough(job, scale);
        job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
        job.mutable_dense_update()->set_aggregate(8);
        ExpectThatWhatIsAskedForIsEnough(job, scale);
        job.set_partition_count(10);  // Pushes come in pieces.
        job.mutable_dense_update()->set_aggregate(1);
        ExpectThatWhatIsAskedForIsEnough(job, scale);
      }
    }
  }
}

}  // namespace
}  // namespace capstan
