// What each partition weighs: its bytes, and how many rows a second are pulled from it and pushed
// to it, as its owner's heartbeats tell.
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
  double load = 0;  // Rows a second, of late.
};

// Thread-compatible.
class PartitionLoads {
 public:
  explicit PartitionLoads(uint32_t partitions) : known_(partitions) {}

  // Takes in the report of a shard's process. Passes over what it says of partitions that `shard`
  // does not own by `view`.
  void Hear(uint32_t shard, uint64_t incarnation, const v1::ShardReport& report,
            const v1::View& view, absl::Time now);

  // Returns the weights by partition; all zero for a partition that no report has named.
  std::vector<PartitionWeight> weights() const;
  uint64_t bytes(uint32_t partition) const { return known_[partition].weight.bytes; }

  // Returns the sum of the weights of all partitions that `shard` owns by `view`.
  PartitionWeight OfShard(uint32_t shard, const v1::View& view) const;

 private:
  struct Known {
    PartitionWeight weight;
    // The process that reported the partition last, how many rows it had counted since it has the
    // partition, and when it reported that.
    uint64_t incarnation = 0;
    uint64_t rows = 0;
    absl::Time at = absl::InfinitePast();
  };
  std::vector<Known> known_;
};

}  // namespace capstan::chief

#endif  // CAPSTAN_CHIEF_STATE_PARTITION_LOADS_H_
