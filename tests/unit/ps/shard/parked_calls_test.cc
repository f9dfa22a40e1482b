#include "ps/shard/parked_calls.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace capstan::ps {
namespace {

TEST(ParkedCallsTest, ACallIsAnsweredOnce) {
  ParkedCalls<int> calls;
  int answer = 0;
  const WaiterId waiter = calls.Park([&answer](int value) { answer += value; });
  calls.Release(waiter, 7);
  calls.Release(waiter, 7);
  EXPECT_EQ(answer, 7);
}

TEST(ParkedCallsTest, ACallThatIsTakenIsNotAnswered) {
  ParkedCalls<int> calls;
  bool answered = false;
  const WaiterId waiter = calls.Park([&answered](int) { answered = true; });
  EXPECT_TRUE(calls.Take(waiter));
  EXPECT_FALSE(calls.Take(waiter));
  calls.Release(waiter, 7);
  EXPECT_FALSE(answered);
}

TEST(ParkedCallsTest, AnAnswerMayParkAgain) {
  ParkedCalls<int> calls;
  WaiterId second{};
  int answer = 0;
  const WaiterId first =
      calls.Park([&](int) { second = calls.Park([&answer](int value) { answer = value; }); });
  calls.Release(first, 1);
  calls.Release(second, 2);
  EXPECT_EQ(answer, 2);
}

TEST(ParkedCallsTest, OfAnAnswerAndACancellationExactlyOneWins) {
  for (int round = 0; round < 500; ++round) {
    ParkedCalls<int> calls;
    std::atomic<int> won{0};
    const WaiterId waiter = calls.Park([&won](int) { ++won; });
    std::thread canceller([&] {
      if (calls.Take(waiter)) ++won;
    });
    calls.Release(waiter, 7);
    canceller.join();
    ASSERT_EQ(won, 1);
  }
}

}  // namespace
}  // namespace capstan::ps
