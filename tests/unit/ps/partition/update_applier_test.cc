// What becomes of rows, blocks and kept gradients when a decision is carried out.
#include "ps/partition/update_applier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "capstan/v1/job.pb.h"
#include "capstan/v1/ps.pb.h"
#include "tests/unit/ps/partition/updated_partition.h"

namespace capstan::ps {
namespace {

using ::testing::HasSubstr;

using UpdateApplierTest = UpdatedPartition;

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

// ---- what is put off ----

Decision DecisionOn(const Update& update) {
  Decision decision;
  decision.updates.push_back(update);
  return decision;
}

TEST_F(UpdateApplierTest, WhatIsPutOffComesToTheSameBitsAsIfItHadBeenCarriedOutAtOnce) {
  v1::JobSpec job = AsyncJob();
  v1::OptimizerSpec& optimizer = *job.mutable_tables(0)->mutable_optimizer();
  optimizer.set_kind(v1::OPTIMIZER_KIND_ADAGRAD);
  optimizer.set_learning_rate(0.1f);
  optimizer.set_epsilon(1e-6f);
  optimizer.mutable_schedule()->set_kind(v1::SCHEDULE_KIND_COSINE);
  optimizer.mutable_schedule()->set_decay_examples(100);
  // More keys together than are prefetched at a time, in pushes of one and of many.
  const auto train = [this](bool later) {
    for (int step = 0; step < 40; ++step) {
      v1::PushRequest push = Empty();
      const auto key = static_cast<uint64_t>(step % 7);
      AddRow(push, key, static_cast<float>(step) - 17.3f);
      std::vector<uint64_t> keys(step % 3 == 0 ? 200 : 5);
      for (size_t i = 0; i < keys.size(); ++i) keys[i] = key + i;
      std::vector<float> values(keys.size(), 0.7f);
      v1::TableGradient& rows = *push.mutable_partitions(0)->add_tables();
      rows.set_table(2);
      rows.set_keys(keys.data(), keys.size() * sizeof(uint64_t));
      rows.set_values(values.data(), values.size() * sizeof(float));
      AddBlock(push, kTrained, static_cast<float>(step) * 0.3f);
      applier_->RaiseProgress(static_cast<uint64_t>(2 * step));
      const PushPointer both = Read(push);
      for (const Part part : {Part::kSparse, Part::kDense}) {
        const Update update = UpdateOf(part, {{.handle = Keep(both), .weight = 0.9}});
        // Some come when others wait, and are applied after these.
        if (!later || step % 10 == 5) {
          EXPECT_TRUE(CarryOut(update));
        } else {
          EXPECT_TRUE(applier_->PutOff(DecisionOn(update)));
        }
      }
    }
    applier_->ApplyPutOff(absl::UnixEpoch());
    EXPECT_EQ(applier_->put_off_bytes(), 0u);
  };
  AddOneColumn(job);
  job.mutable_tables(1)->set_id(2);
  job.mutable_tables(1)->mutable_optimizer()->CopyFrom(optimizer);
  Use(job);
  train(/*later=*/false);
  std::vector<float> at_once;
  for (uint64_t key = 0; key < 210; ++key) at_once.push_back(Row(key, 1) + 3 * Row(key, 2));
  const float block = BlockValue(kTrained);
  Use(job);
  train(/*later=*/true);
  for (uint64_t key = 0; key < 210; ++key) {
    EXPECT_EQ(Row(key, 1) + 3 * Row(key, 2), at_once[key]) << key;
  }
  EXPECT_EQ(BlockValue(kTrained), block);
}

TEST_F(UpdateApplierTest, WhatIsPutOffIsAppliedBeforeTheNextUpdateThatIsNot) {
  Use(AsyncJob());
  const PushPointer first = ReadRow(/*key=*/3, -1);
  EXPECT_TRUE(applier_->PutOff(DecisionOn(UpdateOf(Part::kSparse, {{.handle = Keep(first)}}))));
  EXPECT_EQ(Row(3), 0);
  EXPECT_GT(applier_->put_off_bytes(), 0u);
  Decision refused;
  refused.discarded.push_back(KeepRow(3, -100));
  EXPECT_TRUE(applier_->CarryOut(refused, absl::UnixEpoch()));
  EXPECT_EQ(Row(3), 0) << "it changes nothing";
  EXPECT_EQ(first.use_count(), 2);
  EXPECT_TRUE(CarryOut(UpdateOf(Part::kSparse, {{.handle = KeepRow(3, -20)}})));
  EXPECT_EQ(Row(3), 21);
  EXPECT_EQ(applier_->put_off_bytes(), 0u);
  EXPECT_EQ(first.use_count(), 1);
}

TEST_F(UpdateApplierTest, OnlyOneGradientThatCannotTurnOutStaleIsPutOff) {
  Use(AsyncJob());
  const GradientHandle before = KeepRow(3, -1), last = KeepRow(3, -20);
  const Update of_both = UpdateOf(Part::kSparse, {{.handle = before}, {.handle = last}});
  EXPECT_FALSE(applier_->PutOff(DecisionOn(of_both)));
  EXPECT_FALSE(applier_->PutOff(DecisionOn(UpdateOf(Part::kSparse, {{.handle = before}}))));
  EXPECT_FALSE(applier_->PutOff(Decision()));
  EXPECT_TRUE(CarryOut(of_both));
  EXPECT_EQ(Row(3), 21);

  v1::JobSpec job = AsyncJob();
  job.mutable_sparse_update()->set_stale_gradients(v1::STALE_GRADIENTS_DROP);
  Use(job);
  const uint32_t version = 0;
  v1::PushRequest judged = Empty();
  AddRow(judged, 3, -1).set_updates(&version, sizeof(version));
  const Update update = UpdateOf(Part::kSparse, {{.handle = Keep(Read(judged))}});
  EXPECT_FALSE(applier_->PutOff(DecisionOn(update)));
  EXPECT_TRUE(CarryOut(update));
}

TEST_F(UpdateApplierTest, WhatWasPutOffIsDroppedWithItsStore) {
  Use(AsyncJob());
  const PushPointer waits = ReadRow(3, -1);
  EXPECT_TRUE(applier_->PutOff(DecisionOn(UpdateOf(Part::kSparse, {{.handle = Keep(waits)}}))));
  {
    const UpdateApplier::Gradients dropped = applier_->Begin(store_.get(), /*observed=*/false);
    EXPECT_EQ(dropped.size(), 1u);
  }
  EXPECT_EQ(waits.use_count(), 1);
  EXPECT_EQ(applier_->put_off_bytes(), 0u);
  applier_->ApplyPutOff(absl::UnixEpoch());
  EXPECT_EQ(Row(3), 0);
}

}  // namespace
}  // namespace capstan::ps
