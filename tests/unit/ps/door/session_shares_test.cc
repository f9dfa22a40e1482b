#include "ps/door/session_shares.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

const absl::Time kStart = absl::UnixEpoch();
constexpr absl::Duration kTtl = absl::Hours(1);

StreamId Session(uint64_t number) { return StreamId{(uint64_t{1} << 63) | number}; }

TEST(SessionSharesTest, OneHostLeavesHalfOfTheSessionsToOthers) {
  SessionShares shares(/*limit=*/8, kTtl);
  for (uint64_t i = 0; i < 4; ++i) EXPECT_TRUE(shares.Takes(Session(i), "greedy", kStart));
  EXPECT_FALSE(shares.Takes(Session(4), "greedy", kStart));
  EXPECT_TRUE(shares.Takes(Session(3), "greedy", kStart)) << "this one it has";
  for (uint64_t i = 10; i < 14; ++i) EXPECT_TRUE(shares.Takes(Session(i), "other", kStart));
  EXPECT_FALSE(shares.Takes(Session(20), "third", kStart)) << "there are no more";
}

TEST(SessionSharesTest, ASessionThatIsSilentMakesRoomAndOneThatIsUsedStays) {
  SessionShares shares(/*limit=*/4, kTtl);
  ASSERT_TRUE(shares.Takes(Session(1), "host", kStart));
  ASSERT_TRUE(shares.Takes(Session(2), "host", kStart));
  ASSERT_TRUE(shares.Takes(Session(2), "host", kStart + kTtl));
  EXPECT_FALSE(shares.Takes(Session(3), "host", kStart + kTtl)) << "both may still come";
  const absl::Time later = kStart + kTtl + absl::Seconds(1);
  EXPECT_TRUE(shares.Takes(Session(3), "host", later)) << "the first is over";
  EXPECT_FALSE(shares.Takes(Session(4), "host", later));
}

}  // namespace
}  // namespace capstan::ps
