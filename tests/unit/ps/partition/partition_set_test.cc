#include "ps/partition/partition_set.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "capstan/metrics/registry.h"

namespace capstan::ps {
namespace {

// An owner may name any partition to a backup. Sanitizers see what is read beyond the set.
TEST(PartitionSetTest, APartitionThatThereIsNotIsNotAskedFor) {
  v1::JobSpec job;
  job.set_partition_count(2);
  const Catalog catalog = *Catalog::Create(job);
  Rounds rounds;
  CountedLanes counted;
  metrics::Registry registry;
  ShardMetrics metrics(registry);
  SlabArena slabs;
  KeptBytes kept;
  std::atomic<size_t> put_off{0};
  const PartitionSet partitions(2, {catalog, rounds, counted, metrics, slabs, kept, put_off});
  for (const int32_t index : {-1, 0, 1, 2, std::numeric_limits<int32_t>::max()}) {
    partitions.AskFor(static_cast<PartitionIndex>(index));
  }
  std::vector<wire::PartitionPart> parts(3);
  parts[1].partition = 1;
  parts[2].partition = std::numeric_limits<uint32_t>::max();
  for (size_t i = 0; i < parts.size(); ++i) partitions.AskForNext(parts, i);
  EXPECT_EQ(partitions.size(), 2u);
  EXPECT_TRUE(partitions.empty());
}

}  // namespace
}  // namespace capstan::ps
