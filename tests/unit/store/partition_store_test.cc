#include "capstan/store/partition_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Tables 5 and 0 of one column each, and a tensor of three floats; one partition.
v1::JobSpec TwoTablesAndATensor(v1::OptimizerKind kind = v1::OPTIMIZER_KIND_SGD) {
  v1::JobSpec job;
  job.set_seed(7);
  job.set_partition_count(1);
  for (const uint32_t id : {5, 0}) {
    v1::TableSpec& table = *job.add_tables();
    table = kind == v1::OPTIMIZER_KIND_SGD ? SgdTable(1) : WithOptimizer(SgdTable(1), kind);
    table.set_id(id);
    table.set_name("table" + std::to_string(id));
    table.set_admission_count(2);
  }
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(3);
  *tensor.mutable_optimizer() = job.tables(0).optimizer();
  return job;
}

std::unique_ptr<PartitionStore> StoreOf(const v1::JobSpec& job) {
  const DenseLayout layout = *DenseLayout::Create(job.tensors(), job.partition_count());
  auto store = PartitionStore::Create(job, layout, PartitionIndex{0});
  EXPECT_TRUE(store.ok()) << store.status();
  return *std::move(store);
}

// Rows 1 and 2 of table 5, a candidate 3, and a step of the tensor.
void Train(PartitionStore& store) {
  Table& table = *store.FindTable(TableId{5});
  PushOnes(table, {1, 2});
  PushOnes(table, {1, 2, 3});
  const std::vector<float> gradient = {1, 2, 3};
  store.blocks().Apply(store.blocks().blocks()[0].id,
                       {{.values = gradient, .pulled = {}, .weight = 1}}, {});
}

TEST(PartitionStoreTest, TablesAreFoundByTheirIdsWhateverTheirOrder) {
  const auto store = StoreOf(TwoTablesAndATensor());
  EXPECT_EQ(store->PlaceOf(TableId{5}), 0u);
  EXPECT_EQ(store->PlaceOf(TableId{0}), 1u);
  EXPECT_EQ(store->FindTable(TableId{0})->spec().name(), "table0");
  for (const uint32_t none : {1u, 2u, 4u, 4'000'000'000u}) {
    EXPECT_EQ(store->PlaceOf(TableId{none}), store->tables().size()) << none;
    EXPECT_EQ(store->FindTable(TableId{none}), nullptr) << none;
  }
}

TEST(PartitionStoreTest, WhatOfItsTablesOrTensorsIsImpossibleIsTold) {
  v1::JobSpec job = TwoTablesAndATensor();
  const DenseLayout layout = *DenseLayout::Create(job.tensors(), 1);
  job.mutable_tables(1)->set_dim(2);
  const absl::Status status = PartitionStore::Create(job, layout, PartitionIndex{0}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("table table0: segments have 1 columns"));
}

TEST(PartitionStoreTest, TheRowsAndBytesAreThoseOfAllTables) {
  const auto store = StoreOf(TwoTablesAndATensor());
  const size_t empty = store->memory_bytes();
  Train(*store);
  PushOnes(*store->FindTable(TableId{0}), {9});
  PushOnes(*store->FindTable(TableId{0}), {9});
  EXPECT_EQ(store->row_count(), 3u);
  EXPECT_GT(store->memory_bytes(), empty);
}

TEST(PartitionStoreTest, AMarkKeepsWhatChangesUntilItIsTaken) {
  const auto store = StoreOf(TwoTablesAndATensor());
  Train(*store);
  store->Mark(/*changes_only=*/false);
  EXPECT_EQ(store->kept_bytes(), 0u) << "nothing has changed since";
  Train(*store);
  EXPECT_GT(store->kept_bytes(), 0u);
  store->Unmark();
  EXPECT_EQ(store->kept_bytes(), 0u);
  store->SettleMark(/*safe=*/true);
  EXPECT_TRUE(store->changes_known());
}

TEST(PartitionStoreTest, ChangesAreKnownOnceAllTablesKnowTheirs) {
  const auto store = StoreOf(TwoTablesAndATensor());
  EXPECT_FALSE(store->changes_known());
  store->tables()[0]->TrackChanges();
  EXPECT_FALSE(store->changes_known());
  store->TrackChanges();
  EXPECT_TRUE(store->changes_known());
}

TEST(TakeWeightsTest, AnotherOptimizerGoesOnWithTheWeights) {
  const auto trained = StoreOf(TwoTablesAndATensor());
  Train(*trained);
  const auto store = StoreOf(TwoTablesAndATensor(v1::OPTIMIZER_KIND_ADAM));
  ASSERT_TRUE(store->TakeWeights(*trained).ok());
  const Table& table = *store->FindTable(TableId{5});
  EXPECT_EQ(PullRows(table, {1, 2}), PullRows(*trained->FindTable(TableId{5}), {1, 2}));
  EXPECT_THAT(Keys(table), ElementsAre(1, 2));
  std::vector<uint64_t> candidates;
  table.ForEachCandidate([&](const Candidate& candidate) { candidates.push_back(candidate.key); });
  EXPECT_THAT(candidates, ElementsAre(3));
  const BlockId block = store->blocks().blocks()[0].id;
  EXPECT_EQ(store->blocks().Weights(block), trained->blocks().Weights(block));
  table.ForEachRow([](const RowState& row) {
    EXPECT_GT(row.state.size(), 1u) << "Adam has slots, and the rows came without";
  });
}

TEST(TakeWeightsTest, TablesOfAnotherWidthAreRefusedByName) {
  const auto trained = StoreOf(TwoTablesAndATensor());
  v1::JobSpec wide = TwoTablesAndATensor();
  wide.mutable_tables(1)->set_dim(2);
  wide.mutable_tables(1)->mutable_segments(0)->set_width(2);
  EXPECT_EQ(StoreOf(wide)->TakeWeights(*trained),
            absl::FailedPreconditionError("table table0: stored with dim 1, the job has 2"));
}

}  // namespace
}  // namespace capstan
