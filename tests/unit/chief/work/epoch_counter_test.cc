// How many examples the whole job is expected to have, and what of that a restart knows.
#include "chief/work/epoch_counter.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace capstan::chief {
namespace {

// Tasks of one range each, in the order of the data.
class EpochCounterTest : public testing::Test {
 protected:
  static v1::Task OfBytes(uint64_t begin, uint64_t end) {
    v1::Task task;
    task.set_begin(begin);
    task.set_end(end);
    return task;
  }
  static v1::Task OfRecords(uint64_t records) {
    v1::Task task = OfBytes(0, records);
    task.set_by_records(true);
    task.set_expected_records(records);
    return task;
  }
  static TaskSequence SequenceOf(const std::vector<v1::Task>& tasks, uint32_t epochs) {
    return {{.epochs = epochs}, TaskMix(tasks, v1::DataSpec(), /*seed=*/1)};
  }
  // What goes on from `counter`, after `done` tasks of each epoch, of which `visited` are told.
  static EpochCounter Restarted(const EpochCounter& counter, const TaskSequence& sequence,
                                const std::vector<uint64_t>& done, uint64_t examples,
                                const std::vector<Place>& visited) {
    v1::TaskProgress progress;
    counter.Save(progress);
    progress.set_done_examples(examples);
    EpochCounter next(sequence);
    next.Restore(
        sequence, done,
        [&visited](absl::FunctionRef<void(const Place&)> visit) {
          for (const Place& place : visited) visit(place);
        },
        progress);
    return next;
  }
};

TEST_F(EpochCounterTest, WhereTheDataTellTheSizesAllIsKnownFromTheBeginning) {
  const TaskSequence sequence = SequenceOf({OfRecords(10), OfRecords(5)}, 3);
  const EpochCounter counter(sequence);
  EXPECT_TRUE(counter.counted());
  EXPECT_EQ(counter.ExpectedExamples(), 45u);
}

TEST_F(EpochCounterTest, WhatATaskHadTakesThePlaceOfWhatWasExpectedOfIt) {
  const TaskSequence sequence = SequenceOf({OfRecords(10), OfRecords(5)}, 2);
  EpochCounter counter(sequence);
  counter.Done(sequence, {.epoch = 0, .index = 0}, 8);
  EXPECT_EQ(counter.ExpectedExamples(), 26u) << "8 and 5, twice";
  counter.Done(sequence, {.epoch = 0, .index = 1}, 5);
  EXPECT_EQ(counter.epochs_done(), 1u);
  EXPECT_EQ(counter.ExpectedExamples(), 26u);
}

TEST_F(EpochCounterTest, OfTextItIsTheMeanByByteOfTheTasksThatAreDone) {
  const TaskSequence sequence = SequenceOf({OfBytes(0, 100), OfBytes(100, 400)}, 2);
  EpochCounter counter(sequence);
  EXPECT_FALSE(counter.counted());
  EXPECT_EQ(counter.ExpectedExamples(), 0u) << "nothing is known";
  counter.Done(sequence, {.epoch = 0, .index = 0}, 20);
  EXPECT_EQ(counter.ExpectedExamples(), 160u) << "20 in 100 bytes, of 400 in each of two epochs";
  counter.Done(sequence, {.epoch = 1, .index = 0}, 20);
  EXPECT_EQ(counter.ExpectedExamples(), 160u) << "the same task again tells nothing new";
}

TEST_F(EpochCounterTest, AnEpochIsDoneWithItsLastTaskAndNotBeforeTheEpochsBeforeIt) {
  const TaskSequence sequence = SequenceOf({OfRecords(4), OfRecords(4)}, 3);
  EpochCounter counter(sequence);
  for (const uint32_t index : {0u, 1u}) counter.Done(sequence, {.epoch = 1, .index = index}, 4);
  counter.Done(sequence, {.epoch = 0, .index = 1}, 4);
  EXPECT_EQ(counter.epochs_done(), 0u);
  counter.Done(sequence, {.epoch = 0, .index = 0}, 4);
  EXPECT_EQ(counter.epochs_done(), 2u);
}

TEST_F(EpochCounterTest, ARestartGoesOnWithWhatWasDone) {
  const TaskSequence sequence = SequenceOf({OfBytes(0, 100), OfBytes(100, 400)}, 2);
  EpochCounter before(sequence);
  before.Done(sequence, {.epoch = 0, .index = 0}, 20);
  EpochCounter after =
      Restarted(before, sequence, {1, 0}, /*examples=*/20, {{.epoch = 0, .index = 0}});
  EXPECT_EQ(after.ExpectedExamples(), 160u);
  after.Done(sequence, {.epoch = 0, .index = 1}, 100);
  EXPECT_EQ(after.epochs_done(), 1u);
  EXPECT_EQ(after.ExpectedExamples(), 240u) << "the whole epoch had 120";
}

// With fewer tasks than workers, a task of the next epoch may be done before any of this one.
TEST_F(EpochCounterTest, AnEpochThatOvertakesOneOfWhichNothingIsDoneIsNotLostInARestart) {
  const TaskSequence sequence = SequenceOf({OfBytes(0, 100)}, 5);
  EpochCounter before(sequence);
  before.Done(sequence, {.epoch = 0, .index = 0}, 50);
  before.Done(sequence, {.epoch = 2, .index = 0}, 50);
  ASSERT_EQ(before.epochs_done(), 1u);
  const EpochCounter after = Restarted(before, sequence, {1, 0, 1}, /*examples=*/100,
                                       {{.epoch = 0, .index = 0}, {.epoch = 2, .index = 0}});
  EXPECT_EQ(after.epochs_done(), 1u);
  EXPECT_EQ(after.ExpectedExamples(), 250u) << "an epoch has 50, not the 100 of two";
}

}  // namespace
}  // namespace capstan::chief
