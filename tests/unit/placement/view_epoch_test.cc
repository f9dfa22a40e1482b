#include "capstan/placement/view_epoch.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

TEST(ViewEpochTest, ComesBackFromItsMessageAsItWas) {
  const ViewEpoch epoch{.term = 3, .n = 7};
  v1::View view;
  ToProto(epoch, *view.mutable_epoch());
  EXPECT_EQ(view.epoch().term(), 3u);
  EXPECT_EQ(view.epoch().n(), 7u);
  EXPECT_EQ(ViewEpochFromProto(view.epoch()), epoch);
  EXPECT_EQ(EpochOf(view), epoch);
}

TEST(ViewEpochTest, AViewOfALaterTermIsNewerThanAnyOfAnEarlierOne) {
  EXPECT_LT((ViewEpoch{.term = 1, .n = 9}), (ViewEpoch{.term = 2, .n = 1}));
  EXPECT_LT((ViewEpoch{.term = 2, .n = 1}), (ViewEpoch{.term = 2, .n = 2}));
}

}  // namespace
}  // namespace capstan
