#include "capstan/placement/view_difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/placement/view_epoch.h"
#include "tests/lib/many_trainers.h"

namespace capstan {
namespace {

constexpr size_t kAnySize = size_t{1} << 30;

// Draws views that have much in common: elements are of few kinds, also several times in a list,
// and in any order.
class DrawnViews {
 public:
  explicit DrawnViews(uint64_t seed) : draw_(seed) {}

  uint32_t Below(uint32_t n) { return std::uniform_int_distribution<uint32_t>(0, n - 1)(draw_); }

  v1::View Next(ViewEpoch epoch) {
    v1::View view;
    ToProto(epoch, *view.mutable_epoch());
    view.set_timeline(Below(3));
    view.set_state(static_cast<v1::JobState>(Below(7)));
    for (uint32_t i = Size(); i > 0; --i) view.add_owners(Below(4));
    for (uint32_t i = Size(); i > 0; --i) {
      view.add_shards()->set_index(Below(9));
      view.mutable_shards()->rbegin()->set_incarnation(Below(2));
    }
    for (uint32_t i = Size(); i > 0; --i) view.add_trainers()->set_trainer(Below(20));
    for (uint32_t i = Size(); i > 0; --i) view.add_moves()->set_partition(Below(9));
    for (uint32_t i = Size(); i > 0; --i) view.add_copies()->mutable_move()->set_n(Below(3));
    for (uint32_t i = Size(); i > 0; --i) view.add_pairs()->set_backup(Below(9));
    return view;
  }

  // The same but for a few elements, or for their order.
  v1::View Changed(v1::View view, ViewEpoch epoch) {
    ToProto(epoch, *view.mutable_epoch());
    v1::View other = Next(epoch);
    auto& trainers = *view.mutable_trainers();
    switch (Below(6)) {
      case 0:
        view.mutable_trainers()->Swap(other.mutable_trainers());
        break;
      case 1:
        std::shuffle(trainers.begin(), trainers.end(), draw_);
        break;
      case 2:
        if (!trainers.empty()) trainers.DeleteSubrange(static_cast<int>(Below(trainers.size())), 1);
        break;
      case 3:
        if (!view.owners().empty()) view.set_owners(static_cast<int>(Below(view.owners_size())), 9);
        break;
      case 4:
        *view.mutable_pairs() = other.pairs();
        *view.add_moves() = v1::PartitionMove();
        break;
      default:
        view.set_state(other.state());
    }
    return view;
  }

 private:
  uint32_t Size() { return Below(3) == 0 ? 0 : Below(12); }

  std::mt19937_64 draw_;
};

void ExpectThatItComesBack(const v1::View& before, const v1::View& after) {
  const absl::StatusOr<v1::View> applied =
      ApplyDifference(before, DifferenceOf(before, after), kAnySize);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(applied->SerializeAsString(), after.SerializeAsString())
      << before.DebugString() << after.DebugString();
}

TEST(ViewDifferenceTest, MakesTheLaterViewOfTheEarlierOneWhateverBothAre) {
  DrawnViews views(/*seed=*/1);
  for (uint64_t n = 1; n <= 5000 && !testing::Test::HasFailure(); ++n) {
    const v1::View before = views.Next({.term = 1, .n = n});
    ExpectThatItComesBack(before, views.Next({.term = 1, .n = n + 1 + views.Below(3)}));
    ExpectThatItComesBack(before, views.Changed(before, {.term = 2, .n = 0}));
  }
}

TEST(ViewDifferenceTest, MakesAFullViewOfAnEmptyOneAndTheOtherWayRound) {
  v1::View full;
  ToProto(ViewEpoch{.term = 1, .n = 2}, *full.mutable_epoch());
  full.add_owners(0);
  full.add_shards()->set_address("a:1");
  full.add_trainers()->set_trainer(7);
  full.add_moves()->set_to(1);
  full.add_copies()->set_partition(1);
  full.add_pairs()->set_backup(1);
  ExpectThatItComesBack(v1::View(), full);
  v1::View empty;
  ToProto(ViewEpoch{.term = 1, .n = 3}, *empty.mutable_epoch());
  ExpectThatItComesBack(full, empty);
}

// A list that a later version adds to a view is told by differences, too.
TEST(ViewDifferenceTest, EachListOfAViewHasItsSplices) {
  const auto* view = v1::View::descriptor();
  const auto* difference = v1::ViewDifference::descriptor();
  for (int i = 0; i < view->field_count(); ++i) {
    if (!view->field(i)->is_repeated()) continue;
    const auto* splices = difference->FindFieldByName(view->field(i)->name());
    ASSERT_NE(splices, nullptr) << view->field(i)->name();
    EXPECT_EQ(splices->message_type(), v1::Splice::descriptor());
  }
}

v1::View ViewOfTrainers(uint32_t trainers, uint64_t n) {
  v1::View view;
  ToProto(ViewEpoch{.term = 1, .n = n}, *view.mutable_epoch());
  view.set_timeline(3);
  view.set_state(v1::JOB_STATE_RUNNING);
  for (uint32_t i = 0; i < 256; ++i) view.add_owners(i % 100);
  for (uint32_t i = 0; i < 100; ++i) {
    v1::ShardInfo& shard = *view.add_shards();
    shard.set_index(i);
    shard.set_address(absl::StrCat("job-ps-", i, ".job-ps:7000"));
    shard.set_incarnation(uint64_t{1} << 40 | i);
  }
  AddTrainers(trainers, view);
  return view;
}

TEST(ViewDifferenceTest, OneTrainerOfAThousandIsToldInFewBytes) {
  const v1::View before = ViewOfTrainers(1000, 1);
  v1::View after = ViewOfTrainers(1000, 2);
  v1::TrainerInfo joins = after.trainers(999);
  joins.set_worker("job-worker-5x");  // Among the others by its name.
  *after.add_trainers() = joins;
  std::rotate(after.mutable_trainers()->begin() + 500, after.mutable_trainers()->end() - 1,
              after.mutable_trainers()->end());
  const v1::ViewDifference comes = DifferenceOf(before, after);
  EXPECT_EQ(comes.trainers_size(), 1);
  EXPECT_EQ(comes.after().trainers_size(), 1);
  EXPECT_LT(comes.ByteSizeLong(), 100u);
  EXPECT_GT(after.ByteSizeLong(), 30'000u);
  ExpectThatItComesBack(before, after);

  v1::View left = before;
  left.mutable_epoch()->set_n(2);
  left.mutable_trainers()->DeleteSubrange(500, 4);
  EXPECT_LT(DifferenceOf(before, left).ByteSizeLong(), 50u);
  ExpectThatItComesBack(before, left);
}

TEST(ViewDifferenceTest, APartitionWithAnotherOwnerIsToldInFewBytes) {
  const v1::View before = ViewOfTrainers(10, 1);
  v1::View after = ViewOfTrainers(10, 2);
  after.set_owners(17, 99);
  after.set_owners(200, 99);
  const v1::ViewDifference difference = DifferenceOf(before, after);
  EXPECT_EQ(difference.owners_size(), 2);
  EXPECT_LT(difference.ByteSizeLong(), 60u);
  ExpectThatItComesBack(before, after);
}

TEST(ViewDifferenceTest, IsRefusedByWhoHasAnotherView) {
  const v1::View before = ViewOfTrainers(1, 1), other = ViewOfTrainers(1, 2);
  const v1::ViewDifference difference = DifferenceOf(before, ViewOfTrainers(2, 3));
  const absl::Status refused = ApplyDifference(other, difference, kAnySize).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.message(), "a difference to view 1.1 came where view 1.2 was told last");
}

TEST(ViewDifferenceTest, IsRefusedIfItLeadsToNoNewerView) {
  const v1::View before = ViewOfTrainers(1, 5);
  for (const uint64_t n : {4, 5}) {
    EXPECT_EQ(ApplyDifference(before, DifferenceOf(before, ViewOfTrainers(2, n)), kAnySize)
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument);
  }
  v1::ViewDifference nested = DifferenceOf(before, ViewOfTrainers(2, 6));
  nested.mutable_after()->mutable_difference();
  EXPECT_EQ(ApplyDifference(before, nested, kAnySize).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(ViewDifferenceTest, IsRefusedIfItsSplicesDoNotFit) {
  const v1::View before = ViewOfTrainers(4, 1);
  struct Splice {
    uint32_t at, removed, added;
  };
  constexpr uint32_t kMost = ~uint32_t{0};
  const std::vector<std::vector<Splice>> wrong = {
      {},                      // The new element belongs nowhere.
      {{0, 0, 2}},             // There are not so many.
      {{0, 0, kMost}},         // There are not so many.
      {{5, 0, 1}},             // Behind the end.
      {{kMost, kMost, 1}},     // Behind the end.
      {{3, 2, 1}},             // Over the end.
      {{1, kMost, 1}},         // Over the end.
      {{2, 1, 1}, {2, 1, 0}},  // They overlap.
      {{3, 0, 1}, {0, 1, 0}},  // Backwards.
      {{0, 0, 1}, {1, 0, 1}},  // There are not so many.
  };
  for (size_t i = 0; i < wrong.size(); ++i) {
    v1::ViewDifference difference;
    *difference.mutable_base() = before.epoch();
    difference.mutable_after()->mutable_epoch()->set_term(2);
    difference.mutable_after()->add_trainers();
    for (const Splice& splice : wrong[i]) {
      v1::Splice& told = *difference.add_trainers();
      told.set_at(splice.at);
      told.set_removed(splice.removed);
      told.set_added(splice.added);
    }
    EXPECT_EQ(ApplyDifference(before, difference, kAnySize).status().code(),
              absl::StatusCode::kInvalidArgument)
        << i;
  }
}

TEST(ViewDifferenceTest, IsRefusedIfTheViewWouldBeTooLarge) {
  const v1::View before = ViewOfTrainers(1, 1), after = ViewOfTrainers(50, 2);
  const v1::ViewDifference difference = DifferenceOf(before, after);
  EXPECT_TRUE(ApplyDifference(before, difference, after.ByteSizeLong()).ok());
  EXPECT_EQ(ApplyDifference(before, difference, after.ByteSizeLong() - 1).status().code(),
            absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace capstan
