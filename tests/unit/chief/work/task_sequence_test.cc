#include "chief/work/task_sequence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

namespace capstan::chief {
namespace {

// A range each.
TaskMix Tasks(uint32_t count) { return {std::vector<v1::Task>(count), v1::DataSpec(), /*seed=*/1}; }

// Which of the tasks the epoch trains, in its order.
std::vector<uint32_t> Epoch(TaskSequence& sequence, uint32_t epoch) {
  std::vector<uint32_t> order;
  const uint64_t size = sequence.tasks().size();
  for (uint64_t i = 0; i < size; ++i)
    order.push_back(sequence.Drawn(sequence.At(epoch * size + i)));
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

TEST(TaskSequenceTest, NumbersTasksInTheOrderInWhichTheyAreTrained) {
  TaskSequence sequence({.seed = 1, .shuffle = true, .epochs = 3}, Tasks(50));
  for (uint64_t position = 0; position < sequence.size(); ++position) {
    const Place place = sequence.At(position);
    EXPECT_EQ(place.index, position % 50);
    EXPECT_EQ(sequence.task(place).index(), place.index);
    EXPECT_EQ(sequence.PositionOf(sequence.StreamOf(place)), position);
  }
  EXPECT_EQ(sequence.PositionOf(StreamId::Task(0, 50)), std::nullopt);
  EXPECT_EQ(sequence.PositionOf(StreamId::Task(3, 0)), std::nullopt);
}

TEST(TaskSequenceTest, NumbersThemInTheOrderOfTheDataWhereAJobWasBegunSo) {
  TaskSequence sequence({.seed = 1, .shuffle = true, .epochs = 2, .numbered_in_order = false},
                        Tasks(50));
  std::set<uint32_t> numbers;
  for (uint64_t position = 50; position < 100; ++position) {
    const Place place = sequence.At(position);
    EXPECT_EQ(sequence.Drawn(place), place.index);
    EXPECT_EQ(sequence.PositionOf(sequence.StreamOf(place)), position);
    numbers.insert(place.index);
  }
  EXPECT_EQ(numbers.size(), 50u);
}

TEST(TaskSequenceTest, AnotherNumberingIsAnotherFingerprintWhereItIsAnotherOrder) {
  const auto print = [](bool shuffle, bool numbered_in_order) {
    const TaskSequence sequence({.shuffle = shuffle, .numbered_in_order = numbered_in_order},
                                Tasks(50));
    return sequence.fingerprint();
  };
  EXPECT_EQ(print(false, true), print(false, false));
  EXPECT_EQ(print(true, false), print(false, false)) << "as it was before there were two";
  EXPECT_NE(print(true, true), print(true, false));
}

}  // namespace
}  // namespace capstan::chief
