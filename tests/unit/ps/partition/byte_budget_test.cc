#include "ps/partition/byte_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace capstan::ps {
namespace {

TEST(ByteBudgetTest, HoldsUpToItsLimitAndNoByteMore) {
  ByteBudget budget(100);
  const auto first = budget.TryHold(60), second = budget.TryHold(40);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(budget.TryHold(1), nullptr);
  EXPECT_EQ(budget.held(), 100u);
}

TEST(ByteBudgetTest, WhatIsLetGoMayBeHeldAgain) {
  ByteBudget budget(100);
  auto hold = budget.TryHold(100);
  EXPECT_EQ(budget.TryHold(100), nullptr);
  hold.reset();
  EXPECT_NE(budget.TryHold(100), nullptr);
  EXPECT_EQ(budget.held(), 0u);
}

TEST(ByteBudgetTest, WhatIsHeldMayOutliveTheBudget) {
  auto budget = std::make_unique<ByteBudget>(10);
  auto hold = budget->TryHold(4);
  ASSERT_NE(hold, nullptr);
  budget.reset();
  hold.reset();  // A sanitizer says so if it writes to the budget.
}

TEST(ByteBudgetTest, OfManyThatDoNotFitTogetherOneHoldsAtATime) {
  ByteBudget budget(10);
  std::atomic<int> runners{0}, most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) {
        const auto hold = budget.TryHold(6);
        if (hold == nullptr) continue;
        if (++runners > 1) most = 2;
        --runners;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(most, 0);
  EXPECT_EQ(budget.held(), 0u);
}

}  // namespace
}  // namespace capstan::ps
