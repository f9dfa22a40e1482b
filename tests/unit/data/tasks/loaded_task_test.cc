#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "capstan/data/tasks/task_reader.h"

namespace capstan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Three records of two labels each, with one, no and two keys in a weighted bag.
Batch ThreeRecords() {
  Batch records;
  records.label_count = 2;
  records.labels = {1, 10, kMissingLabel, 20, 3, kMissingLabel};
  records.weights = {0.5F, 1, 2};
  records.groups = {7, 8, 7};
  records.offsets = {0, 1, 2, 3};
  records.keys = {100, 200, 300};
  records.dense = {1, 2, 3, 4, 5, 6};
  records.dense_width = 2;
  records.features.resize(1);
  records.features[0].offsets = {0, 1, 1, 3};
  records.features[0].keys = {11, 31, 32};
  records.features[0].weights = {1, 3, 4};
  return records;
}

TEST(LoadedTaskTest, ABatchHasTheRecordsInTheOrderOfTraining) {
  const LoadedTask task(ThreeRecords(), BadRecords(0), {2, 0, 1}, {.size = 2});
  EXPECT_EQ(task.examples(), 3u);
  EXPECT_EQ(task.batch_count(), 2u);
  Batch batch;
  batch.values = {99};
  ASSERT_TRUE(task.ReadBatch(0, batch).ok());
  EXPECT_EQ(batch.examples(), 2u);
  EXPECT_EQ(batch.first_record, 0u);
  EXPECT_EQ(batch.labels[0], 3);
  EXPECT_THAT(batch.weights, ElementsAre(2, 0.5F));
  EXPECT_THAT(batch.groups, ElementsAre(7, 7));
  EXPECT_THAT(batch.keys, ElementsAre(300, 100));
  EXPECT_THAT(batch.dense, ElementsAre(5, 6, 1, 2));
  EXPECT_THAT(batch.values, IsEmpty()) << "what was there before is gone";
  EXPECT_THAT(batch.features[0].offsets, ElementsAre(0, 2, 3));
  EXPECT_THAT(batch.features[0].keys, ElementsAre(31, 32, 11));
  EXPECT_THAT(batch.features[0].weights, ElementsAre(3, 4, 1));
  ASSERT_TRUE(task.ReadBatch(1, batch).ok());
  EXPECT_EQ(batch.first_record, 2u);
  EXPECT_THAT(batch.keys, ElementsAre(200));
  EXPECT_THAT(batch.features[0].offsets, ElementsAre(0, 0));
  EXPECT_THAT(batch.features[0].keys, IsEmpty());
  EXPECT_THAT(batch.negatives.keys, IsEmpty());
}

// 100 records of two keys, a value for each of these, and up to two keys in a weighted bag.
Batch ManyRecords() {
  Batch records;
  for (uint32_t i = 0; i < 100; ++i) {
    records.labels.push_back(static_cast<float>(i));
    records.offsets.push_back(2 * i);
    records.keys.insert(records.keys.end(), {i % 5, 1000 + i % 3});
    records.values.insert(records.values.end(), {0.5F, static_cast<float>(i)});
  }
  records.offsets.push_back(200);
  Bags& bags = records.features.emplace_back();
  for (uint32_t i = 0; i < 100; ++i) {
    for (uint32_t key = 0; key < i % 3; ++key) {
      bags.keys.push_back(key);
      bags.weights.push_back(static_cast<float>(i + key));
    }
    bags.offsets.push_back(static_cast<uint32_t>(bags.keys.size()));
  }
  return records;
}

TEST(LoadedTaskTest, ItsKeysMayBePackedAndBatchesAreTheSame) {
  std::vector<uint32_t> order;
  for (uint32_t i = 0; i < 100; ++i) order.push_back((i * 37) % 100);
  const LoadedTask plain(ManyRecords(), BadRecords(0), order, {.size = 16});
  LoadedTask packed(ManyRecords(), BadRecords(0), order, {.size = 16});
  packed.PackKeys();
  // Keys of 8 bytes in 200 places, and 99 of the bag: 2 bytes each, and every different one once.
  EXPECT_EQ(plain.bytes() - packed.bytes(), (200 + 99) * (8u - 2) - (5 + 3 + 2) * 8 - (2 + 1) * 4);
  Batch expected, batch;
  for (uint64_t k = 0; k < plain.batch_count(); ++k) {
    ASSERT_TRUE(plain.ReadBatch(k, expected).ok());
    ASSERT_TRUE(packed.ReadBatch(k, batch).ok());
    EXPECT_TRUE(batch == expected) << "batch " << k;
  }
}

TEST(LoadedTaskTest, ABatchTakesNoMoreMemoryThanItsRecords) {
  const LoadedTask task(ManyRecords(), BadRecords(0), {}, {.size = 33});
  Batch batch;
  ASSERT_TRUE(task.ReadBatch(1, batch).ok());
  EXPECT_EQ(batch.keys.capacity(), 66u);
  EXPECT_EQ(batch.values.capacity(), 66u);
  EXPECT_EQ(batch.labels.capacity(), 33u);
  EXPECT_EQ(batch.offsets.capacity(), 34u);
  const Bags& bags = batch.features[0];
  EXPECT_EQ(bags.offsets.capacity(), 34u);
  EXPECT_EQ(bags.keys.capacity(), bags.keys.size());
  EXPECT_EQ(bags.weights.capacity(), bags.weights.size());
}

TEST(LoadedTaskTest, LabelsAreThoseThatAreThereInTheOrderOfTheFile) {
  const LoadedTask task(ThreeRecords(), BadRecords(0), {2, 0, 1}, {.size = 2});
  EXPECT_THAT(task.LabelsAt(0), ElementsAre(1, 3));
  EXPECT_THAT(task.LabelsAt(1), ElementsAre(10, 20));
}

TEST(LoadedTaskTest, ATaskWithoutRecordsHasNoBatches) {
  Batch none;
  none.offsets = {0};
  const LoadedTask task(none, BadRecords(0), {}, {.size = 2});
  EXPECT_EQ(task.examples(), 0u);
  EXPECT_EQ(task.batch_count(), 0u);
  EXPECT_THAT(task.LabelsAt(0), IsEmpty());
}

}  // namespace
}  // namespace capstan
