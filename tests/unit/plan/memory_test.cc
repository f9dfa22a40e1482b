#include "capstan/plan/memory.h"

#include <gtest/gtest.h>

#include <string_view>

#include "tests/unit/plan/dense_job.h"

namespace capstan {
namespace {

// 25 M floats are 100 MB: two lanes of a trainer are at work at a time.
v1::JobSpec LargeJob(uint32_t lanes) {
  v1::JobSpec job = DenseJob(lanes);
  job.mutable_tensors(0)->set_shape(0, 25'000'000);
  return job;
}

constexpr uint64_t kDense = 100'000'000;

Sizes SizesFor(const v1::JobSpec& job, const Scale& scale, const DataFacts& facts = {}) {
  const absl::StatusOr<Traffic> traffic = TrafficOf(job, facts.keys_a_batch, scale.shards);
  EXPECT_TRUE(traffic.ok()) << traffic.status();
  const absl::StatusOr<Sizes> sizes = SizesOf(job, *traffic, facts, scale, Rates());
  EXPECT_TRUE(sizes.ok()) << sizes.status();
  return *sizes;
}

uint64_t PartOf(const ProcessMemory& memory, std::string_view what) {
  for (const MemoryPart& part : memory.parts) {
    if (part.what == what) return part.bytes;
  }
  return 0;
}

constexpr std::string_view kSteps = "parameters and gradients of steps under way";
constexpr std::string_view kGradient = "gradient being computed";

TEST(WorkerMemoryTest, TheFirstLaneOfARoundIsAtWorkBesideTheLastOnesOfTheRoundBefore) {
  const Scale scale = {.workers = 4, .shards = 10};
  v1::JobSpec job = LargeJob(40);
  EXPECT_EQ(PartOf(SizesFor(job, scale).worker, kSteps), 3 * 2 * kDense);
  job.mutable_dense_update()->set_backup_workers(1);
  EXPECT_EQ(PartOf(SizesFor(job, scale).worker, kSteps), 2 * 2 * kDense)
      << "no shard adds in the order of the lanes";
  EXPECT_EQ(PartOf(SizesFor(LargeJob(8), scale).worker, kSteps), 2 * 2 * kDense)
      << "it has no more";
}

TEST(WorkerMemoryTest, EachSliceOfABatchHasAGradientOfItsOwnAndTheBatchTheirSum) {
  const Scale scale = {.workers = 4, .shards = 1};
  v1::JobSpec job = LargeJob(4);
  EXPECT_EQ(PartOf(SizesFor(job, scale).worker, kGradient), kDense);
  job.mutable_train()->set_step_threads(2);
  EXPECT_EQ(PartOf(SizesFor(job, scale).worker, kGradient), 5 * kDense);
  job.mutable_model()->set_user("model.py");
  EXPECT_EQ(PartOf(SizesFor(job, scale).worker, kGradient), kDense) << "the program computes it";
}

TEST(WorkerMemoryTest, AProgramsStepsKeepACopyOfWhatWasPulledWhereThatIsCompensated) {
  const Scale scale = {.workers = 4, .shards = 1};
  v1::JobSpec job = DenseJob(1);
  const auto copies = [&] {
    return PartOf(SizesFor(job, scale).worker, "copies of what was pulled");
  };
  job.mutable_model()->set_user("model.py");
  EXPECT_EQ(copies(), 0u);
  job.mutable_dense_update()->set_stale_gradients(v1::STALE_GRADIENTS_COMPENSATE);
  EXPECT_GT(copies(), 0u);
  job.mutable_model()->clear_user();
  EXPECT_EQ(copies(), 0u) << "towers write to nothing that was pulled";
}

TEST(WorkerMemoryTest, EachLaneHoldsATaskThatIsBeingReadPackedWhereThereAreMoreThanFour) {
  const Scale scale = {.workers = 4, .shards = 1};
  const DataFacts facts = {.task_bytes = 1000, .packed_task_bytes = 300};
  const auto tasks = [&](const v1::JobSpec& job) {
    return PartOf(SizesFor(job, scale, facts).worker, "tasks being read");
  };
  EXPECT_EQ(tasks(DenseJob(16)), 4'000u);
  EXPECT_EQ(tasks(DenseJob(40)), 4'000u + 6 * 300 + 1'000) << "one is being packed";
  v1::JobSpec job = DenseJob(0);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(tasks(job), 1'000u);
}

TEST(WorkerMemoryTest, LanesHaveBatchesReadyWithinABoundAndCutNoneBeyondThem) {
  const Scale scale = {.workers = 1, .shards = 1};
  v1::JobSpec job = DenseJob(64);
  job.mutable_train()->set_prefetch_batches(2);
  const auto batches = [&](uint64_t batch_bytes) {
    const DataFacts facts = {.record_bytes = batch_bytes / job.train().batch_size()};
    return PartOf(SizesFor(job, scale, facts).worker, "batches read ahead") / batch_bytes;
  };
  EXPECT_EQ(batches(1'000), 64u + 2);
  EXPECT_EQ(batches(100'000'000), 64u + 1) << "the first one is beyond 64 MiB";
  job = DenseJob(1);
  job.mutable_train()->set_prefetch_batches(2);
  EXPECT_EQ(batches(1'000), 1u + 2);
}

// While one is computed, the pushes of those before it are not answered, and the next one is read,
// both of the task that ends and of the one that begins.
TEST(WorkerMemoryTest, ATaskHoldsTheBatchesOfItsStepsUnderWayAndTheNextOneOfEachOfTwo) {
  const Scale scale = {.workers = 1, .shards = 1};
  constexpr uint64_t kBatch = 100'000'000;  // One is ready beyond these, and one is cut.
  v1::JobSpec job = DenseJob(0);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_train()->set_prefetch_batches(2);
  job.mutable_train()->set_compute_threads(8);
  const auto batches = [&] {
    const DataFacts facts = {.record_bytes = kBatch / job.train().batch_size()};
    return PartOf(SizesFor(job, scale, facts).worker, "batches read ahead") / kBatch;
  };
  EXPECT_EQ(batches(), 8u * 4 + 1 + 1);
  job.mutable_train()->set_push_window(4);
  EXPECT_EQ(batches(), 8u * 7 + 1 + 1);
}

TEST(WorkerMemoryTest, EachBatchAtWorkOrReadAheadHasItsKeysOnceMore) {
  const Scale scale = {.workers = 1, .shards = 1};
  v1::JobSpec job = DenseJob(25);
  job.mutable_train()->set_prefetch_batches(2);
  const auto keys = [&](uint64_t of_a_batch) {
    const DataFacts facts = {.keys_a_batch = of_a_batch, .record_bytes = 100};
    return PartOf(SizesFor(job, scale, facts).worker, "keys of batches");
  };
  EXPECT_EQ(keys(0), (25u + 2) * 16 * 28) << "16 partitions";
  v1::TableSpec& table = *job.add_tables();
  table.set_name("t");
  table.set_dim(8);
  table.add_segments()->set_width(8);
  table.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_SGD);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  EXPECT_EQ(keys(5000), (25u + 2) * (5000 * 28 + 16 * (28 + 20)));
}

TEST(ShardMemoryTest, TheLanesThatAreAtWorkPushAndPullAtTheSameTime) {
  const Scale scale = {.workers = 4, .shards = 10, .shard_memory_bytes = uint64_t{64} << 30};
  const auto messages = [&](const v1::JobSpec& job) {
    const ProcessMemory shard = SizesFor(job, scale).shard;
    const uint64_t pushes = PartOf(shard, "pushes on their way, at most");
    EXPECT_EQ(PartOf(shard, "replies to pulls, at most"), pushes);
    return pushes;
  };
  const uint64_t of_a_lane = messages(LargeJob(4)) / 4;
  EXPECT_GT(of_a_lane, 10'000'000u) << "two partitions of 6 MB";
  EXPECT_EQ(messages(LargeJob(40)), 4 * 3 * of_a_lane) << "three of each worker";
  EXPECT_EQ(messages(LargeJob(10)), 10 * of_a_lane) << "there are no more";
}

TEST(MemoryTest, EveryConnectionTakesMemoryAtBothOfItsEnds) {
  Scale scale;
  scale.workers = 100;
  scale.shards = 10;
  const Sizes sizes = SizesFor(DenseJob(100), scale);
  EXPECT_EQ(PartOf(sizes.shard, "connections"), 110 * (uint64_t{72} << 10));
  EXPECT_EQ(PartOf(sizes.chief, "connections"), 110 * (uint64_t{136} << 10));
  EXPECT_EQ(PartOf(sizes.worker, "connections"), 11 * (uint64_t{480} << 10));
}

}  // namespace
}  // namespace capstan
