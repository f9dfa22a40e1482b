#include "ps/door/evaluation_share.h"

#include <gtest/gtest.h>

namespace capstan::ps {
namespace {

constexpr int64_t kMany = EvaluationShare::kFewWaiting + 1;

TEST(EvaluationShareTest, HasAllThreadsWhileFewCallsWait) {
  EvaluationShare share(/*threads=*/4);
  const auto first = share.Begin(0), second = share.Begin(0), third = share.Begin(kMany - 1);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_NE(third, nullptr);
}

TEST(EvaluationShareTest, HasHalfOfThemWhileManyWait) {
  EvaluationShare share(/*threads=*/4);
  auto first = share.Begin(kMany);
  const auto second = share.Begin(kMany);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(share.Begin(kMany), nullptr);
  EXPECT_EQ(share.Begin(kMany), nullptr) << "whoever is refused takes no place";
  first.reset();
  EXPECT_NE(share.Begin(kMany), nullptr);
}

TEST(EvaluationShareTest, AlwaysHasOne) {
  EvaluationShare share(/*threads=*/1);
  const auto turn = share.Begin(kMany);
  EXPECT_NE(turn, nullptr);
  EXPECT_EQ(share.Begin(kMany), nullptr);
}

}  // namespace
}  // namespace capstan::ps
