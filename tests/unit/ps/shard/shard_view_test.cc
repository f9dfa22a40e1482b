#include "ps/shard/shard_view.h"

#include <gtest/gtest.h>

#include "capstan/base/clock.h"
#include "capstan/base/wire_version.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::ps {
namespace {

constexpr ShardIdentity kViewer{ShardIndex{1}, Incarnation{77}};
constexpr size_t kViewedPartitions = 2;

v1::View ViewOf(uint64_t term, uint64_t n, uint64_t timeline) {
  v1::View view;
  view.mutable_epoch()->set_term(term);
  view.mutable_epoch()->set_n(n);
  view.set_timeline(timeline);
  for (size_t i = 0; i < kViewedPartitions; ++i) view.add_owners(1);
  return view;
}

v1::RequestHeader HeaderOf(uint64_t timeline, uint64_t term = 1) {
  v1::RequestHeader header;
  header.set_wire_version(kWireVersion);
  header.set_target_incarnation(Raw(kViewer.incarnation));
  header.set_timeline(timeline);
  header.mutable_epoch()->set_term(term);
  return header;
}

class ShardViewTest : public testing::Test {
 protected:
  ShardViewTest() {
    EXPECT_TRUE(view_.BeginLoad(1).ok());
    EXPECT_TRUE(view_.Serve(1).ok());
  }

  FakeClock clock_;
  ShardView view_{kViewer, kViewedPartitions, /*leased=*/true, clock_};
};

TEST_F(ShardViewTest, OnlyANewerViewIsTaken) {
  EXPECT_TRUE(view_.Take(ViewOf(1, 2, 1))->newer);
  EXPECT_FALSE(view_.Take(ViewOf(1, 2, 1))->newer) << "it has come twice";
  EXPECT_FALSE(view_.Take(ViewOf(1, 1, 1))->newer) << "it has come late";
  EXPECT_EQ(view_.newest()->epoch(), (ViewEpoch{.term = 1, .n = 2}));
}

TEST_F(ShardViewTest, AViewOfAnotherNumberOfPartitionsIsRefusedAndNotTaken) {
  v1::View view = ViewOf(1, 1, 1);
  view.add_owners(1);
  EXPECT_EQ(view_.Take(view).status().message(), "the view maps 3 partitions, the job has 2");
  EXPECT_EQ(view_.newest()->epoch(), ViewEpoch());
}

TEST_F(ShardViewTest, AViewOfALaterTimelineEndsServing) {
  EXPECT_TRUE(view_.CheckHeader(HeaderOf(1)).ok());
  const auto news = view_.Take(ViewOf(1, 1, 2));
  EXPECT_TRUE(news->later);
  EXPECT_FALSE(news->over);
  EXPECT_EQ(view_.timeline(), 0u);
  EXPECT_TRUE(absl::IsUnavailable(view_.CheckHeader(HeaderOf(1))));
  EXPECT_TRUE(absl::IsFailedPrecondition(view_.Serve(1))) << "it was being loaded meanwhile";
}

TEST_F(ShardViewTest, AViewWhoseTimelineIsOverIsTakenButItsTrainersAreNot) {
  ASSERT_TRUE(view_.BeginLoad(3).ok());
  const auto news = view_.Take(ViewOf(1, 1, 2));
  EXPECT_TRUE(news->newer);
  EXPECT_FALSE(news->later);
  EXPECT_TRUE(news->over);
}

TEST_F(ShardViewTest, AnOrderToLoadEndsServingAndMayComeAgain) {
  EXPECT_EQ(view_.BeginLoad(2).value(), true) << "it is later than any before";
  EXPECT_EQ(view_.timeline(), 0u);
  EXPECT_EQ(view_.BeginLoad(2).value(), false) << "the same order again";
  EXPECT_TRUE(absl::IsFailedPrecondition(view_.BeginLoad(1).status()));
  EXPECT_TRUE(view_.Serve(2).ok());
  EXPECT_TRUE(view_.CheckHeader(HeaderOf(2)).ok());
}

TEST_F(ShardViewTest, RequestsForAnotherProcessTimelineOrWireVersionAreRefused) {
  v1::RequestHeader header = HeaderOf(1);
  header.set_target_incarnation(78);
  EXPECT_TRUE(absl::IsFailedPrecondition(view_.CheckHeader(header)));
  EXPECT_TRUE(absl::IsFailedPrecondition(view_.CheckHeader(HeaderOf(2))));
  header = HeaderOf(1);
  header.set_wire_version(kWireVersion + 1);
  EXPECT_TRUE(absl::IsUnimplemented(view_.CheckHeader(header)));
}

TEST_F(ShardViewTest, AChiefOfAnEarlierTermGivesNoMoreOrders) {
  EXPECT_TRUE(view_.CheckOrder(HeaderOf(1, /*term=*/3)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(view_.CheckOrder(HeaderOf(1, /*term=*/2))));
  ASSERT_TRUE(view_.Take(ViewOf(5, 1, 1)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(view_.CheckOrder(HeaderOf(1, /*term=*/4))));
}

TEST_F(ShardViewTest, AnOrderByAViewThatIsNotFollowedYetHasToComeAgain) {
  EXPECT_TRUE(absl::IsUnavailable(view_.CheckFollowed(HeaderOf(1, /*term=*/1))));
  view_.Followed({.term = 1, .n = 4});
  EXPECT_TRUE(view_.CheckFollowed(HeaderOf(1, /*term=*/1)).ok());
  EXPECT_TRUE(absl::IsUnavailable(view_.CheckFollowed(HeaderOf(1, /*term=*/2))));
}

TEST_F(ShardViewTest, WithReplicasPullsNeedALeaseWhichAnEarlierGrantCannotShorten) {
  EXPECT_TRUE(absl::IsUnavailable(view_.CheckLease())) << "there was none yet";
  view_.SetLease(clock_.Now() + absl::Seconds(10));
  view_.SetLease(clock_.Now() + absl::Seconds(2));
  clock_.Advance(absl::Seconds(9));
  EXPECT_TRUE(view_.CheckLease().ok());
  clock_.Advance(absl::Seconds(1));
  EXPECT_TRUE(absl::IsUnavailable(view_.CheckLease()));
}

TEST_F(ShardViewTest, WithoutReplicasPullsNeedNoLease) {
  EXPECT_TRUE(ShardView(kViewer, kViewedPartitions, /*leased=*/false, clock_).CheckLease().ok());
}

}  // namespace
}  // namespace capstan::ps
