#include "capstan/data/tasks/in_parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "absl/strings/str_cat.h"

namespace capstan {
namespace {

TEST(ForEachInParallelTest, EachPlaceIsWorkedOnOnce) {
  std::vector<std::atomic<int>> calls(1000);
  EXPECT_TRUE(ForEachInParallel(calls.size(), [&](size_t i) {
                ++calls[i];
                return absl::OkStatus();
              }).ok());
  EXPECT_TRUE(std::all_of(calls.begin(), calls.end(), [](const auto& n) { return n == 1; }));
}

TEST(ForEachInParallelTest, NoPlacesAreNoWork) {
  EXPECT_TRUE(ForEachInParallel(0, [](size_t) { return absl::InternalError("called"); }).ok());
}

TEST(ForEachInParallelTest, TheErrorIsThatOfTheLowestPlaceAndAllBeforeItWereWorkedOn) {
  for (int repeated = 0; repeated < 20; ++repeated) {
    std::vector<std::atomic<int>> calls(100);
    const absl::Status status = ForEachInParallel(calls.size(), [&](size_t i) {
      ++calls[i];
      return i == 5 || i > 6 ? absl::DataLossError(absl::StrCat(i)) : absl::OkStatus();
    });
    EXPECT_EQ(status, absl::DataLossError("5"));
    for (size_t i = 0; i <= 5; ++i) EXPECT_EQ(calls[i].load(), 1) << i;
  }
}

TEST(ForEachInParallelTest, NothingIsBegunAfterAnError) {
  int calls = 0;
  const auto fail_at_three = [&](size_t i) {
    ++calls;
    return i == 3 ? absl::DataLossError("three") : absl::OkStatus();
  };
  EXPECT_EQ(ForEachInParallel(100, fail_at_three, /*most_threads=*/1),
            absl::DataLossError("three"));
  EXPECT_EQ(calls, 4);
}

TEST(ForEachInParallelTest, NoMoreThreadsWorkThanAreAllowed) {
  std::atomic<int> at_work = 0;
  std::atomic<int> most = 0;
  EXPECT_TRUE(ForEachInParallel(
                  2000,
                  [&](size_t) {
                    const int now = ++at_work;
                    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
                    }
                    --at_work;
                    return absl::OkStatus();
                  },
                  /*most_threads=*/2)
                  .ok());
  EXPECT_LE(most.load(), 2);
  EXPECT_GE(most.load(), 1);
}

}  // namespace
}  // namespace capstan
