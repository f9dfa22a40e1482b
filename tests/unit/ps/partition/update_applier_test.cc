// What becomes of rows, blocks and kept gradients when a decision is carried out.
#include "ps/partition/update_applier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

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

}  // namespace
}  // namespace capstan::ps
