// Making a table, and what it refuses; restoring it is in table_restore_test.cc, too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/unit/store/tables.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

void ExpectNoTable(const v1::TableSpec& spec, const std::string& named) {
  const absl::Status status = Table::Create(spec, 4).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(named));
}

TEST(TableCreateTest, RefusesImpossibleSettingsAndNamesThem) {
  v1::TableSpec spec = SgdTable(3);
  spec.set_dim(4);
  ExpectNoTable(spec, "segments have 3 columns");
  spec = SgdTable(3);
  spec.mutable_segments(0)->set_offset(1);
  ExpectNoTable(spec, "segment all");
  spec = SgdTable(3);
  spec.mutable_segments(0)->set_learning_rate_scale(-1);
  ExpectNoTable(spec, "learning_rate_scale");
  spec = SgdTable(3);
  spec.set_byte_budget(4 * 20);
  ExpectNoTable(spec, "byte_budget");
  spec = SgdTable(3);
  spec.mutable_optimizer()->set_kind(v1::OPTIMIZER_KIND_UNSPECIFIED);
  ExpectNoTable(spec, "kind");
  ExpectNoTable(WithInitializer(SgdTable(3), v1::INITIALIZER_KIND_NORMAL,
                                std::numeric_limits<float>::infinity()),
                "scale");
}

TEST(TableCreateTest, ColumnsAreThoseOfItsSegmentsOneBehindTheOther) {
  v1::TableSpec spec = SgdTable(0);
  ExpectNoTable(spec, "dim is 0, expected 1 to 1048576");
  spec = SgdTable(3);
  spec.set_dim((1 << 20) + 1);
  ExpectNoTable(spec, "dim is 1048577");
  spec = SgdTable(3);
  spec.clear_segments();
  ExpectNoTable(spec, "segments have 0 columns, dim is 3");
  spec = SgdTable(3);
  v1::TableSegment& second = *spec.add_segments();
  second = spec.segments(0);
  second.set_name("second");
  second.set_offset(2);
  second.set_width(1);
  ExpectNoTable(spec, "segment second is columns [2, +1), expected to begin at 3");
  spec.mutable_segments(1)->set_offset(3);
  spec.mutable_segments(1)->set_width(0);
  ExpectNoTable(spec, "segment second is columns [3, +0)");
  for (const float scale :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    spec = SgdTable(3);
    spec.mutable_segments(0)->set_learning_rate_scale(scale);
    ExpectNoTable(spec, "segment all: learning_rate_scale is ");
  }
  const absl::Status none = Table::Create(SgdTable(3), /*partition_count=*/0).status();
  EXPECT_EQ(none, absl::InvalidArgumentError("table test: partition_count is 0"));
}

TEST(TableCreateTest, ABudgetIsSharedByThePartitionsAndHoldsARowInEach) {
  v1::TableSpec spec = SgdTable(3);
  const uint64_t row = MakeTable(spec)->row_bytes() + RowIndex::kMaxBytesPerRow;
  spec.set_byte_budget(4 * row);
  EXPECT_TRUE(Table::Create(spec, 4).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(Table::Create(spec, 5).status()));
  spec.set_byte_budget(4 * row - 1);
  EXPECT_TRUE(absl::IsInvalidArgument(Table::Create(spec, 4).status()));
}

TEST(TableRestoreChangesTest, ARowThatIsThereIsReplacedAndAnotherAdded) {
  const auto table = MakeTable(SgdTable(1));
  PushOnes(*table, {7});
  const std::vector<float> state = {5};
  RowState row{.key = 7, .frequency = 9, .state = state};
  ASSERT_TRUE(table->RestoreChangedRow(row).ok());
  row.key = 8;
  ASSERT_TRUE(table->RestoreChangedRow(row).ok());
  EXPECT_THAT(Keys(*table), ElementsAre(7, 8));
  EXPECT_THAT(PullRows(*table, {7, 8}), ElementsAre(5, 5));
  const std::vector<float> wide = {5, 6};
  row.state = wide;
  EXPECT_TRUE(absl::IsInvalidArgument(table->RestoreChangedRow(row)));
  EXPECT_THAT(PullRows(*table, {8}), ElementsAre(5)) << "it stays";
}

TEST(TableRestoreChangesTest, WhatIsErasedNeedNotBeThere) {
  const auto table = MakeTable(SgdTable(1));
  PushOnes(*table, {7, 8});
  table->RestoreErased(7);
  table->RestoreErased(7);
  table->RestoreErased(99);
  EXPECT_THAT(Keys(*table), ElementsAre(8));
}

TEST(TableRestoreChangesTest, AKeyIsARowOrACandidateAndNeverBoth) {
  v1::TableSpec spec = SgdTable(1);
  spec.set_admission_count(3);
  const auto table = MakeTable(spec);
  ASSERT_TRUE(table->RestoreCandidate({.key = 7, .seen = 2}).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(table->RestoreCandidate({.key = 7, .seen = 1})));
  const std::vector<float> state = {5};
  EXPECT_TRUE(absl::IsAlreadyExists(table->RestoreRow({.key = 7, .state = state})));
  ASSERT_TRUE(table->RestoreRow({.key = 8, .state = state}).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(table->RestoreCandidate({.key = 8, .seen = 1})));
  PushOnes(*table, {7});
  EXPECT_THAT(Keys(*table), ElementsAre(7, 8)) << "the third push of 7";
}

TEST(TableRestoreChangesTest, AnotherJobCountsFromZeroWithoutWhatHasExpired) {
  v1::TableSpec spec = SgdTable(1);
  spec.set_expire_after_examples(1000);
  const auto table = MakeTable(spec);
  PushOnes(*table, {7}, /*progress_examples=*/100);
  PushOnes(*table, {8}, /*progress_examples=*/900'000);
  table->RestartProgress();
  EXPECT_EQ(table->progress_examples(), 0u);
  EXPECT_THAT(Keys(*table), ElementsAre(8));
  table->ForEachRow([](const RowState& row) { EXPECT_EQ(row.touched_examples, 0u); });
  PushOnes(*table, {9}, /*progress_examples=*/500);
  EXPECT_THAT(Keys(*table), ElementsAre(8, 9)) << "it is young again";
}

}  // namespace
}  // namespace capstan
