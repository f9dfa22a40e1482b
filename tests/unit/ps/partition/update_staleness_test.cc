// How old a gradient is that is applied, and by which clock rows and gradients age.
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

using UpdateStalenessTest = UpdatedPartition;

TEST_F(UpdateStalenessTest,
       RowsAreJudgedByTheirOwnVersionsWhereTheJobCountsThemAndThePushTellsThem) {
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

TEST_F(UpdateStalenessTest, SaysSoWhenEveryRowOfAnUpdateWasTooStale) {
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

TEST_F(UpdateStalenessTest, AStaleGradientIsCompensatedWhereTheDecisionAsksForIt) {
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

TEST_F(UpdateStalenessTest, TheClockOfRowsIsTheJobsProgressWhichNeverFalls) {
  Use(AsyncJob());
  applier_->RaiseProgress(100);
  applier_->RaiseProgress(50);
  CarryOut(UpdateOf(Part::kSparse, {{.handle = KeepRow(/*key=*/3, -1)}}));
  EXPECT_EQ(store_->tables()[0]->progress_examples(), 100u);
}

TEST_F(UpdateStalenessTest, InARoundTheClockIsAFunctionOfTheRoundAndTheLanesThatCloseIt) {
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

TEST_F(UpdateStalenessTest, HowStaleAGradientWasIsToldInVersionsAndInTimeUnlessThisIsABackup) {
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

TEST_F(UpdateStalenessTest, WhatABackupAddsAheadAndTheStalenessOfItsRowsAreCountedByTheOwnerAlone) {
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
