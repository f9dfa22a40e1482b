// What would be lost by a return to the last checkpoint, as far as shards have reported.
#include "chief/machines/lost_updates_meter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>

namespace capstan::chief {
namespace {

using ::testing::IsEmpty;

// What a shard has of a table.
struct ToldRows {
  uint64_t updates = 0;
  uint64_t rows = 0;
  uint64_t hot = 0;
  uint64_t hot_unsaved = 0;
};

// A job with one table.
class LostUpdatesMeterTest : public testing::Test {
 protected:
  static v1::JobSpec Clicks() {
    v1::JobSpec spec;
    spec.add_tables()->set_name("clicks");
    return spec;
  }

  void Hear(uint32_t shard, const ToldRows& told, uint64_t incarnation = 7) {
    v1::ShardReport report;
    v1::TableReport& table = *report.add_tables();
    table.set_updates(told.updates);
    table.set_rows(told.rows);
    table.set_hot_rows(told.hot);
    table.set_hot_rows_unsaved(told.hot_unsaved);
    meter_.Hear(shard, incarnation, report);
  }
  // In the words of the log.
  std::string Lost(const std::set<uint32_t>& shards) const {
    v1::RecoveryLoss loss;
    for (const v1::TableLoss& table : meter_.LossOf(shards)) *loss.add_tables() = table;
    return TextOf(loss);
  }

  LostUpdatesMeter meter_{Clicks()};
};

TEST_F(LostUpdatesMeterTest, WithoutACheckpointAllThatTheLostShardsHaveToldIsLost) {
  Hear(0, {.updates = 100, .rows = 10, .hot = 4, .hot_unsaved = 3});
  Hear(1, {.updates = 20, .rows = 5, .hot = 2, .hot_unsaved = 2});
  Hear(2, {.updates = 999, .rows = 999});
  EXPECT_EQ(Lost({0, 1}), "clicks: 120 updates, 15 rows, 5 of 6 hot rows");
  EXPECT_THAT(meter_.LossOf({3}), IsEmpty()) << "nobody has heard of it";
}

TEST_F(LostUpdatesMeterTest, WhatWasToldBeforeTheCheckpointBeganIsSavedOnceThatIsStored) {
  Hear(0, {.updates = 100, .rows = 10, .hot = 4, .hot_unsaved = 4});
  meter_.BeginCheckpoint();
  Hear(0, {.updates = 130, .rows = 12, .hot = 5, .hot_unsaved = 2});
  EXPECT_EQ(Lost({0}), "clicks: 130 updates, 12 rows, 5 of 5 hot rows")
      << "it may come to nothing: the 4 of before count with the 2 since, of the 5 there are";
  meter_.OnCheckpointStored();
  EXPECT_EQ(Lost({0}), "clicks: 30 updates, 2 rows, 2 of 5 hot rows");
}

TEST_F(LostUpdatesMeterTest, RowsThatHadChangedBeforeACheckpointThatFailedAreUnsavedStill) {
  Hear(0, {.updates = 10, .rows = 10, .hot = 9, .hot_unsaved = 1});
  meter_.BeginCheckpoint();
  Hear(0, {.updates = 20, .rows = 10, .hot = 9, .hot_unsaved = 2});
  meter_.BeginCheckpoint();  // The one before has failed.
  Hear(0, {.updates = 30, .rows = 10, .hot = 9, .hot_unsaved = 3});
  EXPECT_EQ(Lost({0}), "clicks: 30 updates, 10 rows, 6 of 9 hot rows");
}

TEST_F(LostUpdatesMeterTest, AnotherProcessCountsItsUpdatesFromZeroAndHasTheRowsOfTheCheckpoint) {
  Hear(0, {.updates = 100, .rows = 10});
  meter_.BeginCheckpoint();
  meter_.OnCheckpointStored();
  Hear(0, {.updates = 3, .rows = 11}, /*incarnation=*/8);
  EXPECT_EQ(Lost({0}), "clicks: 3 updates, 1 rows, 0 of 0 hot rows");
}

TEST_F(LostUpdatesMeterTest, ShardsThatHaveReturnedLoseOnlyWhatTheyDoAfterwards) {
  Hear(0, {.updates = 100, .rows = 10, .hot = 4, .hot_unsaved = 4});
  meter_.BeginCheckpoint();
  meter_.OnCheckpointStored();
  Hear(0, {.updates = 150, .rows = 20, .hot = 4, .hot_unsaved = 4});
  meter_.OnReturned({0});
  EXPECT_EQ(Lost({0}), "");
  Hear(0, {.updates = 151, .rows = 11, .hot = 4, .hot_unsaved = 1});
  EXPECT_EQ(Lost({0}), "clicks: 1 updates, 1 rows, 1 of 4 hot rows");
}

TEST_F(LostUpdatesMeterTest, ATableThatHasFewerRowsThanTheCheckpointLosesNone) {
  Hear(0, {.updates = 100, .rows = 10});
  meter_.BeginCheckpoint();
  meter_.OnCheckpointStored();
  Hear(0, {.updates = 101, .rows = 2});
  EXPECT_EQ(Lost({0}), "clicks: 1 updates, 0 rows, 0 of 0 hot rows");
}

TEST_F(LostUpdatesMeterTest, AReportOfAnotherNumberOfTablesIsNotTakenIn) {
  Hear(0, {.updates = 5, .rows = 1});
  v1::ShardReport odd;
  odd.add_tables()->set_updates(1000);
  odd.add_tables()->set_updates(1000);
  meter_.Hear(0, 7, odd);
  meter_.Hear(0, 7, {});
  EXPECT_EQ(Lost({0}), "clicks: 5 updates, 1 rows, 0 of 0 hot rows");
}

}  // namespace
}  // namespace capstan::chief
