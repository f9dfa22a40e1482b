// Scorers of one model compute at the same time, and each what it computes alone.
#include "cli/serve/scorer_pool.h"

#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/unit/cli/serve/deepfm_folder.h"

namespace capstan::cli {
namespace {

TEST(ScorerPoolTest, ManyThreadsGetWhatOneGets) {
  const DeepFmFolder folder;
  const absl::StatusOr<FinishedModel> model = FinishedModel::Load(folder.path());
  ASSERT_TRUE(model.ok()) << model.status();
  const auto alone = *Scorer::Create(*model);
  const auto pool = *ScorerPool::Create(*model, 2);
  std::vector<std::vector<float>> expected;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto logits = alone->Logits(BatchOf(1 + seed % 5, seed));
    expected.emplace_back(logits.begin(), logits.end());
  }
  EXPECT_NE(expected[0], expected[5]) << "they are not all the same";
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      for (uint64_t seed = 0; seed < 20; ++seed) {
        EXPECT_EQ(*pool->Logits(BatchOf(1 + seed % 5, seed)), expected[seed]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ScorersForThisMachineTest, AreOneAtLeast) {
  EXPECT_GE(ScorersForThisMachine(0), 1u);
  EXPECT_EQ(ScorersForThisMachine(1 << 20), 1u);
}

}  // namespace
}  // namespace capstan::cli
