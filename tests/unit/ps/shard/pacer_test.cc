#include "ps/shard/pacer.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

constexpr absl::Time kNow = absl::UnixEpoch();

TEST(PacerTest, WithoutARateNothingWaits) {
  Pacer pacer;
  EXPECT_EQ(pacer.Book(1 << 30, kNow), kNow);
  EXPECT_EQ(pacer.Book(1 << 30, kNow), kNow);
}

TEST(PacerTest, WhoeverComesWaitsForThoseBeforeIt) {
  Pacer pacer;
  pacer.SetRate(100);
  EXPECT_EQ(pacer.Book(50, kNow), kNow);
  EXPECT_EQ(pacer.Book(100, kNow), kNow + absl::Milliseconds(500));
  EXPECT_EQ(pacer.Book(1, kNow), kNow + absl::Milliseconds(1500));
  EXPECT_EQ(pacer.Book(1, kNow + absl::Seconds(9)), kNow + absl::Seconds(9)) << "no credit";
  pacer.SetRate(0);
  EXPECT_EQ(pacer.Book(1, kNow), kNow);
}

}  // namespace
}  // namespace capstan::ps
