#include "ps/transfer/pacer.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

constexpr absl::Time kStart = absl::UnixEpoch();

TEST(PacerTest, WithoutARateNothingWaits) {
  Pacer pacer;
  EXPECT_EQ(pacer.Book(1 << 30, kStart), kStart);
  EXPECT_EQ(pacer.Book(1 << 30, kStart), kStart);
}

TEST(PacerTest, WhoeverComesWaitsForThoseBeforeIt) {
  Pacer pacer;
  pacer.SetRate(100);
  EXPECT_EQ(pacer.Book(50, kStart), kStart);
  EXPECT_EQ(pacer.Book(100, kStart), kStart + absl::Milliseconds(500));
  EXPECT_EQ(pacer.Book(1, kStart), kStart + absl::Milliseconds(1500));
  EXPECT_EQ(pacer.Book(1, kStart + absl::Seconds(9)), kStart + absl::Seconds(9)) << "no credit";
  pacer.SetRate(0);
  EXPECT_EQ(pacer.Book(1, kStart), kStart);
}

}  // namespace
}  // namespace capstan::ps
