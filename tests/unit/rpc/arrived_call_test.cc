#include "capstan/rpc/arrived_call.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace capstan {
namespace {

TEST(ArrivedCallTest, WaitsFromItsArrivalUntilItsHandlerBegins) {
  Arrivals arrivals;
  ArrivedCall first(arrivals), second(arrivals), third(arrivals);
  EXPECT_EQ(arrivals.waiting(), 3);
  EXPECT_EQ(first.Begin(/*wanted=*/true), 2);
  EXPECT_EQ(second.Begin(/*wanted=*/true), 1);
  EXPECT_EQ(arrivals.waiting(), 1);
}

TEST(ArrivedCallTest, WaitsNoLongerWhenItHasEndedWithoutAHandler) {
  Arrivals arrivals;
  auto cancelled = std::make_unique<ArrivedCall>(arrivals);
  auto handled = std::make_unique<ArrivedCall>(arrivals);
  (void)handled->Begin(/*wanted=*/true);
  cancelled.reset();
  handled.reset();
  EXPECT_EQ(arrivals.waiting(), 0);
}

TEST(ArrivedCallTest, CallsThatAreGivenUpAreNoQueue) {
  Arrivals arrivals;
  std::vector<std::unique_ptr<ArrivedCall>> flood;
  for (int i = 0; i < 4000; ++i) flood.push_back(std::make_unique<ArrivedCall>(arrivals));
  ArrivedCall before(arrivals);
  EXPECT_EQ(before.Begin(/*wanted=*/true), 4000);
  for (int i = 0; i < 500; ++i) (void)flood[static_cast<size_t>(i)]->Begin(/*wanted=*/false);
  flood.erase(flood.begin(), flood.begin() + 500);
  ArrivedCall behind(arrivals);
  EXPECT_LT(behind.Begin(/*wanted=*/true), 128);
}

TEST(ArrivedCallTest, AQueueCountsAgainWhenItIsWantedAgain) {
  Arrivals arrivals;
  std::vector<std::unique_ptr<ArrivedCall>> calls;
  for (int i = 0; i < 2000; ++i) calls.push_back(std::make_unique<ArrivedCall>(arrivals));
  for (int i = 0; i < 500; ++i) (void)calls[static_cast<size_t>(i)]->Begin(/*wanted=*/false);
  for (int i = 500; i < 999; ++i) (void)calls[static_cast<size_t>(i)]->Begin(/*wanted=*/true);
  EXPECT_NEAR(static_cast<double>(calls[999]->Begin(/*wanted=*/true)), 1000, 10);
}

TEST(ArrivedCallTest, NobodyWaitsWhereCallsAreNotCounted) {
  grpc::CallbackServerContext context;
  EXPECT_EQ(BeginCall(context), 0);
}

}  // namespace
}  // namespace capstan
