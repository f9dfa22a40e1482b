// The size and load of each partition: its bytes, and how many of its rows are pulled and pushed
// per second, according to the heartbeats of its owner.
#ifndef CAPSTAN_CHIEF_STATE_PARTITION_LOADS_H_
#define CAPSTAN_CHIEF_STATE_PARTITION_LOADS_H_

#include <cstdint>
#include <vector>

#include "absl/time/time.h"
#include "capstan/v1/chief.pb.h"
#include "capstan/v1/view.pb.h"

namespace capstan::chief {

struct PartitionWeight {
  uint64_t bytes = 0;
  double load = 0;  // Rows per second, recently.
};

// Thread-compatible.
class PartitionLoads {
 public:
  explicit PartitionLoads(uint32_t partitions) : known_(partitions) {}

  // Takes in the report of a shard's process. Ignores partitions that `shard` does not own in
  // `view`.
  void Hear(uint32_t shard, uint64_t incarnation, const v1::ShardReport& report,
            const v1::View& view, absl::Time now);

  // Returns the weights by partition; all zero for a partition that was never reported.
  std::vector<PartitionWeight> weights() const;
  uint64_t bytes(uint32_t partition) const { return known_[partition].weight.bytes; }

  // Returns the sum of the weights of all partitions that `shard` owns in `view`.
  PartitionWeight OfShard(uint32_t shard, const v1::View& view) const;

 private:
  struct Known {
    PartitionWeight weight;
    // The process that reported the partition last, how many rows it had counted since it got the
    // partition, and when it reported that.
    uint64_t incarnation = 0;
    uint64_t rows = 0;
    absl::Time at = absl::InfinitePast();
  };
  std::vector<Known> known_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_PARTITION_LOADS_H_
