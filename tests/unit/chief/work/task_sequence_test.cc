#include "chief/work/task_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace capstan::chief {
namespace {

// A range each.
TaskMix Tasks(uint32_t count) { return {std::vector<v1::Task>(count), v1::DataSpec(), /*seed=*/1}; }

std::vector<uint32_t> Epoch(TaskSequence& sequence, uint32_t epoch) {
  std::vector<uint32_t> order;
  const uint64_t size = sequence.tasks().size();
  for (uint64_t i = 0; i < size; ++i) order.push_back(sequence.At(epoch * size + i).index);
  return order;
}

TEST(TaskSequenceTest, KeepsTheOrderOfTheFilesWithoutShuffle) {
  TaskSequence sequence({.seed = 1, .shuffle = false, .epochs = 2}, Tasks(3));
  EXPECT_THAT(Epoch(sequence, 1), testing::ElementsAre(0, 1, 2));
}

TEST(TaskSequenceTest, HoldsEveryTaskOnceAnEpochInAnOrderOfItsOwn) {
  TaskSequence sequence({.seed = 1, .shuffle = true, .epochs = 3}, Tasks(50));
  std::set<std::vector<uint32_t>> orders;
  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<uint32_t> order = Epoch(sequence, epoch);
    EXPECT_EQ(std::set<uint32_t>(order.begin(), order.end()).size(), 50u);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 3u);
}

TEST(TaskSequenceTest, IsAFunctionOfTheSeedAlone) {
  TaskSequence one({.seed = 9, .shuffle = true, .epochs = 9}, Tasks(20));
  TaskSequence same({.seed = 9, .shuffle = true, .epochs = 9}, Tasks(20));
  TaskSequence other({.seed = 10, .shuffle = true, .epochs = 9}, Tasks(20));
  const std::vector<uint32_t> last = Epoch(one, 8);
  for (uint32_t epoch = 0; epoch < 9; ++epoch) EXPECT_EQ(Epoch(one, epoch), Epoch(same, epoch));
  EXPECT_EQ(Epoch(same, 8), last);
  EXPECT_NE(Epoch(other, 8), last);
}

}  // namespace
}  // namespace capstan::chief
