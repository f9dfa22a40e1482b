// What becomes of rows, blocks and kept gradients when a decision is carried out.
#include "ps/partition/update_applier.h"

#include <gmock/gmock.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/metrics/registry.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/byte_budget.h"
#include "tests/unit/ps/shard/one_column.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

// Applies to one partition with a table of one column and two tensors of one weight, one of which
// is not trained. All are 0 at first, and trained by SGD with rate 1.
class UpdateApplierTest : public testing::Test {
 protected:
  using PushPointer = std::shared_ptr<const PushMessage>;

  static constexpr BlockId kTrained{0};
  static constexpr BlockId kNotTrained{1};

  static v1::JobSpec AsyncJob() {
    v1::JobSpec job;
    job.set_job("updates");
    job.set_partition_count(1);
    job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
    job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
    AddOneColumn(job);
    for (const v1::OptimizerKind kind : {v1::OPTIMIZER_KIND_SGD, v1::OPTIMIZER_KIND_RUNNING}) {
      v1::TensorSpec& tensor = *job.add_tensors();
      tensor.set_name(v1::OptimizerKind_Name(kind));
      tensor.add_shape(1);
      tensor.mutable_optimizer()->set_kind(kind);
      if (kind == v1::OPTIMIZER_KIND_SGD) tensor.mutable_optimizer()->set_learning_rate(1);
    }
    return job;
  }

  void Use(const v1::JobSpec& job) {
    catalog_ = std::make_unique<Catalog>(*Catalog::Create(job));
    store_ = *PartitionStore::Create(job, catalog_->layout(), PartitionIndex{0});
    applier_ = std::make_unique<UpdateApplier>(*catalog_, metrics_);
    EXPECT_TRUE(applier_->Begin(store_.get(), /*observed=*/true).empty());
  }

  // Pushes to be filled in.
  static v1::PushRequest Empty() {
    v1::PushRequest push;
    push.mutable_stream()->set_stream(7);
    push.mutable_stage()->set_round(1);
    push.add_partitions();
    return push;
  }
  static v1::TableGradient& AddRow(v1::PushRequest& push, uint64_t key, float value,
                                   uint32_t table = 1) {
    v1::TableGradient& rows = *push.mutable_partitions(0)->add_tables();
    rows.set_table(table);
    rows.set_keys(&key, sizeof(key));
    rows.set_values(&value, sizeof(value));
    return rows;
  }
  static void AddBlock(v1::PushRequest& push, BlockId id, float value) {
    v1::BlockGradient& block = *push.mutable_partitions(0)->add_blocks();
    block.set_block(static_cast<uint32_t>(id));
    block.set_values(&value, sizeof(value));
  }

  PushPointer Read(const v1::PushRequest& push) {
    const grpc::Slice slice(push.SerializeAsString());
    auto message =
        PushMessage::Read(grpc::ByteBuffer(&slice, 1), *catalog_, waiting_.TryHold(slice.size()));
    CAPSTAN_CHECK(message.ok());
    return *std::move(message);
  }
  PushPointer ReadRow(uint64_t key, float value) {
    v1::PushRequest push = Empty();
    AddRow(push, key, value);
    return Read(push);
  }
  GradientHandle Keep(const PushPointer& push) { return applier_->Keep({push, 0}); }
  GradientHandle KeepRow(uint64_t key, float value) { return Keep(ReadRow(key, value)); }

  static Update UpdateOf(Part part, std::vector<Contribution> contributions) {
    Update update;
    update.part = part;
    update.contributions.assign(contributions.begin(), contributions.end());
    update.version = 1;
    return update;
  }
  bool CarryOut(const Update& update, absl::Time now = absl::UnixEpoch()) {
    Decision decision;
    decision.updates.push_back(update);
    return applier_->CarryOut(decision, now);
  }
  void AddAhead(Part part, GradientHandle handle, double weight, double running_weight = 1) {
    Decision decision;
    decision.additions.push_back({part, handle, weight, running_weight});
    EXPECT_TRUE(applier_->CarryOut(decision, absl::UnixEpoch()));
  }

  float Row(uint64_t key, uint32_t table = 1) const {
    float value = 0;
    store_->FindTable(TableId{table})->Pull({&key, 1}, &value);
    return value;
  }
  float BlockValue(BlockId id) const { return store_->blocks().Weights(id)[0]; }

  metrics::Registry registry_;
  ShardMetrics metrics_{registry_};
  ByteBudget waiting_;
  std::unique_ptr<Catalog> catalog_;
  std::unique_ptr<PartitionStore> store_;
  std::unique_ptr<UpdateApplier> applier_;
};

TEST_F(UpdateApplierTest, AppliesTheScaledSumOfTheWeightedGradientsThatADecisionNames) {
  Use(AsyncJob());
  const GradientHandle first = KeepRow(/*key=*/3, -4), unnamed = KeepRow(3, -100),
                       last = KeepRow(3, -8);
  EXPECT_NE(first, unnamed);
  Update update = UpdateOf(Part::kSparse, {{.handle = first, .weight = 0.5}, {.handle = last}});
  update.scale = 2;
  EXPECT_TRUE(CarryOut(update));
  EXPECT_EQ(Row(3), 2 * (0.5f * 4 + 8));
}

TEST_F(UpdateApplierTest, ATableIsUpdatedOnceWhereverPushesNameIt) {
  v1::JobSpec job = AsyncJob();
  for (const uint32_t id : {2, 3}) {
    AddOneColumn(job);
    job.mutable_tables()->rbegin()->set_id(id);
    job.mutable_tables()->rbegin()->mutable_optimizer()->set_clip_value(10);  // Of an update.
  }
  Use(job);
  v1::PushRequest one = Empty(), other = Empty();
  AddRow(one, /*key=*/5, -4, /*table=*/3);
  AddRow(one, 5, -1, 1);
  AddRow(one, 5, -9, 3);
  AddRow(one, 6, -2, 2);
  AddRow(other, 6, -3, 2);
  AddRow(other, 5, -8, 1);
  EXPECT_TRUE(CarryOut(UpdateOf(
      Part::kSparse, {{.handle = Keep(Read(one))}, {.handle = Keep(Read(other)), .weight = 0.5}})));
  EXPECT_EQ(Row(5, 1), 1 + 4);
  EXPECT_EQ(Row(5, 2), 0);
  EXPECT_EQ(Row(6, 2), 2 + 1.5f);
  EXPECT_EQ(Row(5, 3), 10) << "one update of both, which is clipped";
  EXPECT_EQ(Row(6, 3), 0);
}

TEST_F(UpdateApplierTest, AnUpdateChangesItsPartOfTheModelAlone) {
  Use(AsyncJob());
  v1::PushRequest push = Empty();
  AddRow(push, /*key=*/3, -1);
  AddBlock(push, kTrained, -1);
  const PushPointer both = Read(push);
  EXPECT_TRUE(CarryOut(UpdateOf(Part::kDense, {{.handle = Keep(both)}})));
  EXPECT_EQ(BlockValue(kTrained), 1);
  EXPECT_EQ(Row(3), 0);
  EXPECT_TRUE(CarryOut(UpdateOf(Part::kSparse, {{.handle = Keep(both)}})));
  EXPECT_EQ(BlockValue(kTrained), 1);
  EXPECT_EQ(Row(3), 1);
}

TEST_F(UpdateApplierTest, WhatIsNotTrainedIsWeighedAndScaledInItsOwnWay) {
  Use(AsyncJob());
  v1::PushRequest push = Empty();
  AddBlock(push, kTrained, -1);
  AddBlock(push, kNotTrained, -1);
  const PushPointer both = Read(push);
  Update update =
      UpdateOf(Part::kDense, {{.handle = Keep(both), .weight = 2, .running_weight = 16}});
  update.scale = 4;
  update.running_scale = 0.5;
  EXPECT_TRUE(CarryOut(update));
  EXPECT_EQ(BlockValue(kTrained), 2 * 4);
  EXPECT_EQ(BlockValue(kNotTrained), 16 * 0.5f);

  AddAhead(Part::kDense, Keep(both), /*weight=*/2, /*running_weight=*/16);
  update.contributions.clear();
  update.added = 1;
  EXPECT_TRUE(CarryOut(update));
  EXPECT_EQ(BlockValue(kTrained), 2 * 2 * 4) << "the same, added ahead";
  EXPECT_EQ(BlockValue(kNotTrained), 2 * 16 * 0.5f);
  AddAhead(Part::kDense, Keep(both), /*weight=*/2, /*running_weight=*/16);
  EXPECT_TRUE(CarryOut(update));
  EXPECT_EQ(BlockValue(kTrained), 3 * 2 * 4) << "the next round has begun at nothing";
  EXPECT_EQ(BlockValue(kNotTrained), 3 * 16 * 0.5f);
}

TEST_F(UpdateApplierTest, WhatWasAddedInARoundIsAppliedOnceWithTheUpdateThatClosesIt) {
  Use(AsyncJob());
  AddAhead(Part::kSparse, KeepRow(/*key=*/3, -1), /*weight=*/2);
  AddAhead(Part::kSparse, KeepRow(3, -1), /*weight=*/4);
  EXPECT_EQ(Row(3), 0) << "the round is open";
  EXPECT_GT(applier_->memory_bytes(), 0u);
  Update update = UpdateOf(Part::kSparse, {{.handle = KeepRow(3, -1)}});
  update.added = 2;
  EXPECT_TRUE(CarryOut(update));
  EXPECT_EQ(Row(3), 2 + 4 + 1);
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_gradients_added_ahead_total 2\n"));
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_update_staleness_versions_count 3\n"));

  AddAhead(Part::kSparse, KeepRow(3, -1), /*weight=*/1);
  update = UpdateOf(Part::kSparse, {});
  update.added = 1;
  EXPECT_TRUE(CarryOut(update));
  EXPECT_EQ(Row(3), 8) << "the next round has begun at nothing";
}

TEST_F(UpdateApplierTest, AGradientIsFreedOnceItHasBeenAddedAppliedOrDiscarded) {
  Use(AsyncJob());
  const PushPointer added = ReadRow(3, -1), applied = ReadRow(3, -1), discarded = ReadRow(3, -1);
  Decision decision;
  decision.additions.push_back({Part::kSparse, Keep(added)});
  decision.updates.push_back(UpdateOf(Part::kSparse, {{.handle = Keep(applied)}}));
  decision.discarded.push_back(Keep(discarded));
  const PushPointer waits = ReadRow(3, -1);
  Keep(waits);
  EXPECT_EQ(applied.use_count(), 2);
  applier_->CarryOut(decision, absl::UnixEpoch());
  EXPECT_EQ(added.use_count(), 1);
  EXPECT_EQ(applied.use_count(), 1);
  EXPECT_EQ(discarded.use_count(), 1);
  EXPECT_EQ(waits.use_count(), 2);
}

TEST_F(UpdateApplierTest, WhatWasKeptLastWaitsAsTheOthersDo) {
  Use(AsyncJob());
  const GradientHandle first = KeepRow(/*key=*/3, -1), second = KeepRow(3, -20);
  EXPECT_TRUE(CarryOut(UpdateOf(Part::kSparse, {{.handle = first}})));
  const PushPointer third = ReadRow(3, -300), fourth = ReadRow(3, -4000);
  const GradientHandle of_third = Keep(third);
  EXPECT_TRUE(CarryOut(UpdateOf(Part::kSparse, {{.handle = second}})));
  Keep(fourth);
  EXPECT_TRUE(CarryOut(UpdateOf(Part::kSparse, {{.handle = of_third}})));
  EXPECT_EQ(Row(3), 321);
  Keep(third);
  const UpdateApplier::Gradients dropped = applier_->Begin(store_.get(), /*observed=*/true);
  EXPECT_EQ(dropped.size(), 2u);
  EXPECT_EQ(fourth.use_count(), 2) << "the caller frees it";
}

TEST_F(UpdateApplierTest, AnotherStoreBeginsWithoutWhatWaitedAndWhatWasAdded) {
  Use(AsyncJob());
  const PushPointer waits = ReadRow(3, -1);
  Keep(waits);
  AddAhead(Part::kSparse, KeepRow(/*key=*/3, -1), /*weight=*/1);
  applier_->RaiseProgress(100);
  auto other = *PartitionStore::Create(AsyncJob(), catalog_->layout(), PartitionIndex{0});
  {
    const UpdateApplier::Gradients dropped = applier_->Begin(other.get(), /*observed=*/true);
    EXPECT_EQ(dropped.size(), 1u);
    EXPECT_EQ(waits.use_count(), 2) << "the caller frees it";
  }
  EXPECT_EQ(waits.use_count(), 1);
  EXPECT_EQ(applier_->progress(), 0u);

  Update update = UpdateOf(Part::kSparse, {{.handle = KeepRow(/*key=*/3, -8)}});
  update.added = 1;
  EXPECT_TRUE(CarryOut(update));
  EXPECT_EQ(Row(3), 0);
  store_.swap(other);
  EXPECT_EQ(Row(3), 8);
}

TEST_F(UpdateApplierTest, RowsAreJudgedByTheirOwnVersionsWhereTheJobCountsThemAndThePushTellsThem) {
  const uint32_t version = 0;
  v1::PushRequest silent = Empty();
  AddRow(silent, /*key=*/3, -1);
  v1::PushRequest telling = silent;
  telling.mutable_partitions(0)->mutable_tables(0)->set_updates(&version, sizeof(version));

  Use(AsyncJob());
  EXPECT_FALSE(applier_->JudgedByRows({Read(telling), 0}));
  v1::JobSpec counting = AsyncJob();
  counting.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  Use(counting);
  EXPECT_TRUE(applier_->JudgedByRows({Read(telling), 0}));
  EXPECT_FALSE(applier_->JudgedByRows({Read(silent), 0}));
}

TEST_F(UpdateApplierTest, SaysSoWhenEveryRowOfAnUpdateWasTooStale) {
  v1::JobSpec job = AsyncJob();
  job.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  job.mutable_sparse_update()->set_drop_above(1);
  Use(job);
  const auto push = [this](uint64_t key, RowVersion pulled) {
    v1::PushRequest push = Empty();
    AddRow(push, key, -1).set_updates(&pulled, sizeof(pulled));
    return CarryOut(UpdateOf(Part::kSparse, {{.handle = Keep(Read(push))}}));
  };
  EXPECT_TRUE(push(/*key=*/3, RowVersion::kNoRow));
  const RowVersion pulled = store_->tables()[0]->VersionOf(3);
  EXPECT_TRUE(push(3, pulled));
  EXPECT_TRUE(push(3, pulled)) << "one update ago";
  EXPECT_FALSE(push(3, pulled)) << "two updates ago";
  EXPECT_EQ(Row(3), 3);
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_row_staleness_updates_sum 1\n"));
  EXPECT_TRUE(CarryOut(UpdateOf(Part::kSparse, {{.handle = KeepRow(3, -1)}})))
      << "a push that tells no versions is not judged";
}

TEST_F(UpdateApplierTest, AStaleGradientIsCompensatedWhereTheDecisionAsksForIt) {
  v1::JobSpec job = AsyncJob();
  job.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_COMPENSATE);
  job.mutable_sparse_update()->set_compensate_lambda(1);
  Use(job);
  const auto push = [this](float value, float pulled, bool compensate) {
    v1::PushRequest push = Empty();
    AddRow(push, /*key=*/3, value).set_pulled(&pulled, sizeof(pulled));
    CarryOut(UpdateOf(Part::kSparse, {{.handle = Keep(Read(push)), .compensate = compensate}}));
  };
  push(-4, /*pulled=*/0, /*compensate=*/false);
  push(-1, /*pulled=*/1, /*compensate=*/false);
  EXPECT_EQ(Row(3), 5);
  push(-1, /*pulled=*/2, /*compensate=*/true);
  EXPECT_EQ(Row(3), 5 - (-1 + 1 * (5 - 2)));
}

TEST_F(UpdateApplierTest, TheClockOfRowsIsTheJobsProgressWhichNeverFalls) {
  Use(AsyncJob());
  applier_->RaiseProgress(100);
  applier_->RaiseProgress(50);
  CarryOut(UpdateOf(Part::kSparse, {{.handle = KeepRow(/*key=*/3, -1)}}));
  EXPECT_EQ(store_->tables()[0]->progress_examples(), 100u);
}

TEST_F(UpdateApplierTest, InARoundTheClockIsAFunctionOfTheRoundAndTheLanesThatCloseIt) {
  v1::JobSpec job = AsyncJob();
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_SYNC);
  job.mutable_sparse_update()->set_lanes(4);
  job.mutable_sparse_update()->set_backup_workers(1);
  job.mutable_train()->set_batch_size(8);
  Use(job);
  applier_->RaiseProgress(100'000);
  Update update = UpdateOf(Part::kSparse, {{.handle = KeepRow(/*key=*/3, -1)}});
  update.round = 3;
  CarryOut(update);
  EXPECT_EQ(store_->tables()[0]->progress_examples(), 2u * 3 * 8);
}

TEST_F(UpdateApplierTest, HowStaleAGradientWasIsToldInVersionsAndInTimeUnlessThisIsABackup) {
  Use(AsyncJob());
  (void)applier_->Begin(store_.get(), /*observed=*/false);
  const auto apply = [this](uint64_t version, uint64_t staleness, absl::Duration at) {
    Update update =
        UpdateOf(Part::kSparse, {{.handle = KeepRow(/*key=*/3, -1), .staleness = staleness}});
    update.version = version;
    CarryOut(update, absl::UnixEpoch() + at);
  };
  apply(/*version=*/1, /*staleness=*/0, absl::Seconds(0));
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_update_staleness_versions_count 0\n"));
  applier_->SetObserved(true);
  apply(/*version=*/2, /*staleness=*/0, absl::Seconds(10));
  apply(/*version=*/3, /*staleness=*/1, absl::Seconds(15));
  EXPECT_EQ(Row(3), 3);
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_update_staleness_versions_count 2\n"));
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_update_staleness_versions_sum 1\n"));
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_update_staleness_seconds_sum 5\n"))
      << "what was pulled was replaced five seconds before";
}

TEST_F(UpdateApplierTest, WhatABackupAddsAheadAndTheStalenessOfItsRowsAreCountedByTheOwnerAlone) {
  v1::JobSpec job = AsyncJob();
  job.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_SCALE);
  Use(job);
  const auto add_and_apply = [this](uint64_t version) {
    AddAhead(Part::kSparse, KeepRow(/*key=*/3, -1), /*weight=*/1);
    v1::PushRequest push = Empty();
    const uint32_t pulled = 0;
    AddRow(push, /*key=*/4, -1).set_updates(&pulled, sizeof(pulled));
    Update update = UpdateOf(Part::kSparse, {{.handle = Keep(Read(push))}});
    update.version = version;
    CarryOut(update);
  };
  (void)applier_->Begin(store_.get(), /*observed=*/false);
  add_and_apply(/*version=*/1);
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_gradients_added_ahead_total 0\n"));
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_row_staleness_updates_count 0\n"));
  applier_->SetObserved(true);
  add_and_apply(/*version=*/2);
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_gradients_added_ahead_total 1\n"));
  EXPECT_THAT(registry_.Text(), HasSubstr("capstan_row_staleness_updates_count 1\n"));
}

}  // namespace
}  // namespace capstan::ps
