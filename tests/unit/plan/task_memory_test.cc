#include "capstan/plan/task_memory.h"

#include <gtest/gtest.h>

namespace capstan {
namespace {

// Two numbers and three keys a record.
v1::JobSpec Clicks() {
  v1::JobSpec job;
  job.mutable_data()->set_fields(3);
  job.mutable_data()->set_dense_width(2);
  return job;
}

TEST(WithTaskMemoryTest, ATaskTakesItsShareOfTheRecords) {
  const DataFacts facts = WithTaskMemory(Clicks(), {.records = 1000, .tasks = 10});
  EXPECT_EQ(facts.record_bytes, 3u * 4 + 3 * 12);
  EXPECT_EQ(facts.task_bytes, 100 * facts.record_bytes);
}

// With --records there are others than the data that were looked at have.
TEST(WithTaskMemoryTest, APackedTaskHoldsAsManyRecordsAsOthers) {
  const DataFacts facts =
      WithTaskMemory(Clicks(), {.records = 1000, .tasks = 10, .packed_record_bytes = 20});
  EXPECT_EQ(facts.packed_task_bytes, 100u * 20);
  EXPECT_EQ(WithTaskMemory(Clicks(), {.records = 10'000, .tasks = 10, .packed_record_bytes = 20})
                .packed_task_bytes,
            1000u * 20);
}

TEST(WithTaskMemoryTest, WhereNobodyKnowsHowManyKeysOccurAgainPackingSavesNothing) {
  const DataFacts facts = WithTaskMemory(Clicks(), {.records = 1000, .tasks = 10});
  EXPECT_EQ(facts.packed_task_bytes, facts.task_bytes);
}

TEST(WithTaskMemoryTest, WhatIsNotCountedOrStaysEncodedTakesWhatIsStored) {
  v1::JobSpec job = Clicks();
  job.mutable_data()->set_task_bytes(5000);
  const DataFacts uncounted = WithTaskMemory(job, {.tasks = 10, .packed_record_bytes = 20});
  EXPECT_EQ(uncounted.task_bytes, 5000u);
  EXPECT_EQ(uncounted.packed_task_bytes, 5000u);
  job.mutable_data()->mutable_image()->set_height(8);
  EXPECT_EQ(WithTaskMemory(job, {.records = 1000, .tasks = 10}).packed_task_bytes, 5000u);
}

}  // namespace
}  // namespace capstan
