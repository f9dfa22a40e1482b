// Finds the partition of a shard with the most updates recently.
#ifndef CAPSTAN_PS_PARTITION_HOT_PARTITION_H_
#define CAPSTAN_PS_PARTITION_HOT_PARTITION_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace capstan::ps {

// Keeps for each partition a moving average of the updates between two calls of Look, in which each
// call has a weight of 1/8. Thread-compatible.
class HotPartition {
 public:
  struct Hottest {
    uint32_t partition = 0;
    double share = 0;  // Its share of all updates of the shard; 0: there are none.
  };

  // `updates`: for each partition that the shard holds, the number of updates since the partition
  // was loaded. If a number is lower than in the last call, the partition has been reloaded.
  // Updates before the first call do not count.
  Hottest Look(const std::map<uint32_t, uint64_t>& updates) {
    std::map<uint32_t, Pace> paces;
    Hottest hottest;
    double most = 0;
    double sum = 0;
    for (const auto& [partition, total] : updates) {
      const auto known = paces_.find(partition);
      Pace pace = known != paces_.end() ? known->second : Pace{.total = total};
      const uint64_t since = total - std::min(total, pace.total);
      pace.recent += (static_cast<double>(since) - pace.recent) / 8;
      pace.total = total;
      sum += pace.recent;
      if (pace.recent > most) {
        most = pace.recent;
        hottest.partition = partition;
      }
      paces[partition] = pace;
    }
    paces_ = std::move(paces);
    if (sum > 0) hottest.share = most / sum;
    return hottest;
  }

 private:
  struct Pace {
    uint64_t total = 0;
    double recent = 0;  // Moving average of the updates between two calls of Look.
  };
  std::map<uint32_t, Pace> paces_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_HOT_PARTITION_H_
