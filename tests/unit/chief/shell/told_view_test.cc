#include "chief/shell/told_view.h"

#include <gtest/gtest.h>

#include <memory>

#include "capstan/placement/view_difference.h"
#include "capstan/placement/view_epoch.h"

namespace capstan::chief {
namespace {

std::shared_ptr<const v1::View> SharedView(uint64_t n, uint32_t owners) {
  auto view = std::make_shared<v1::View>();
  ToProto(ViewEpoch{.term = 1, .n = n}, *view->mutable_epoch());
  for (uint32_t i = 0; i < owners; ++i) view->add_owners(i);
  return view;
}

// What the message makes of the view that its receiver has.
v1::View Told(const v1::View& message, const v1::View& had) {
  if (!message.has_difference()) return message;
  absl::StatusOr<v1::View> view = ApplyDifference(had, message.difference(), 1 << 20);
  EXPECT_TRUE(view.ok()) << view.status();
  return view.ok() ? *view : v1::View();
}

TEST(ToldViewTest, TheDifferenceIsMadeOnceForAllWhoHaveTheView) {
  const auto before = SharedView(1, 100), after = SharedView(2, 101);
  ToldView told(before);
  const auto first = told.MessageFor(EpochOf(*before), after);
  EXPECT_TRUE(first->has_difference());
  EXPECT_EQ(Told(*first, *before).SerializeAsString(), after->SerializeAsString());
  EXPECT_EQ(told.MessageFor(EpochOf(*before), after), first) << "the same message";
}

TEST(ToldViewTest, WhoHasTheViewUnderALaterEpochIsToldTheDifferenceToThat) {
  const auto before = SharedView(1, 100), later = SharedView(4, 100), after = SharedView(5, 101);
  ToldView told(before);
  EXPECT_EQ(Told(*told.MessageFor(EpochOf(*before), after), *before).SerializeAsString(),
            after->SerializeAsString());
  EXPECT_EQ(Told(*told.MessageFor(EpochOf(*later), after), *later).SerializeAsString(),
            after->SerializeAsString());
}

TEST(ToldViewTest, EachNextViewHasItsMessage) {
  const auto before = SharedView(1, 100);
  ToldView told(before);
  for (uint32_t n = 2; n < 5; ++n) {
    const auto after = SharedView(n, 100 + n);
    EXPECT_EQ(Told(*told.MessageFor(EpochOf(*before), after), *before).SerializeAsString(),
              after->SerializeAsString());
  }
}

TEST(ToldViewTest, ADifferenceThatIsNoSmallerIsNotSent) {
  const auto before = SharedView(1, 100), after = SharedView(2, 1);
  ToldView told(before);
  EXPECT_EQ(told.MessageFor(EpochOf(*before), after), after);
  EXPECT_EQ(told.MessageFor(EpochOf(*before), after), after) << "asked again";
}

TEST(ToldViewTest, KeepsNoViewButItsOwn) {
  const auto before = SharedView(1, 100);
  ToldView told(before);
  auto after = SharedView(2, 101);
  const std::weak_ptr<const v1::View> next = after;
  EXPECT_TRUE(told.MessageFor(EpochOf(*before), after)->has_difference());
  after.reset();
  EXPECT_TRUE(next.expired());
}

}  // namespace
}  // namespace capstan::chief
