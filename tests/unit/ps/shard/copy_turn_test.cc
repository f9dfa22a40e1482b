#include "ps/shard/copy_turn.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

using Holder = CopyTurn::Holder;

TEST(CopyTurnTest, WhoComesSecondIsRefusedUntilTheFirstIsDone) {
  CopyTurn turn;
  EXPECT_TRUE(turn.Take(Holder::kSave));
  EXPECT_TRUE(turn.Take(Holder::kSave)) << "its own";
  EXPECT_FALSE(turn.Take(Holder::kMoves));
  turn.Release(Holder::kMoves);
  EXPECT_FALSE(turn.Take(Holder::kMoves)) << "not theirs to give";
  turn.Release(Holder::kSave);
  EXPECT_TRUE(turn.Take(Holder::kMoves));
  EXPECT_FALSE(turn.Take(Holder::kSave));
}

}  // namespace
}  // namespace capstan::ps
