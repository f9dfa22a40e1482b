#include "capstan/consistency/closed_streams.h"

#include <gtest/gtest.h>

#include <set>

#include "capstan/base/hash.h"

namespace capstan {
namespace {

TEST(ClosedStreamsTest, AFinishedEpochIsOneInterval) {
  ClosedStreams closed;
  for (uint32_t task : {3u, 0u, 4u, 1u, 2u}) closed.Insert(StreamId::Task(1, task));
  const uint64_t first = StreamId::Task(1, 0).value;
  EXPECT_EQ(closed.intervals(), (std::vector<ClosedStreams::Interval>{{first, first + 4}}));
  EXPECT_TRUE(closed.Contains(StreamId::Task(1, 4)));
  EXPECT_FALSE(closed.Contains(StreamId::Task(1, 5)));
  EXPECT_FALSE(closed.Contains(StreamId::Task(0, 0)));
}

TEST(ClosedStreamsTest, HoldsWhatASetHolds) {
  ClosedStreams closed;
  std::set<uint64_t> reference;
  for (uint64_t i = 0; i < 500; ++i) {
    const uint64_t id = Draw(/*seed=*/1, 0, i) % 200;
    closed.Insert({id});
    reference.insert(id);
    for (uint64_t probe = 0; probe < 200; ++probe) {
      ASSERT_EQ(closed.Contains({probe}), reference.contains(probe)) << probe << " after " << i;
    }
  }
}

}  // namespace
}  // namespace capstan
