// The partitions of a shard: an object for each partition of the job; most are empty.
#ifndef CAPSTAN_PS_PARTITION_PARTITION_SET_H_
#define CAPSTAN_PS_PARTITION_PARTITION_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "capstan/base/ids.h"
#include "capstan/base/prefetch.h"
#include "capstan/base/status.h"
#include "capstan/wire/payload.h"
#include "ps/partition/partition.h"

namespace capstan::ps {

// *Thread-safe*, as a partition is.
class PartitionSet {
 public:
  PartitionSet(uint32_t count, const PartitionContext& context) {
    for (uint32_t i = 0; i < count; ++i) {
      partitions_.push_back(std::make_unique<Partition>(static_cast<PartitionIndex>(i), context));
    }
  }

  size_t size() const { return partitions_.size(); }
  // REQUIRES: there is such a partition.
  Partition& operator[](PartitionIndex index) {
    return *partitions_[static_cast<size_t>(Raw(index))];
  }

  // Prefetch a partition that a request is about to use: the one with this index, if it exists, or
  // that of the part after the i-th. A request uses most of the partitions, each for a few rows.
  // Memory to which a partition points is not prefetched, as that needs its lock.
  void AskFor(PartitionIndex index) const {
    const auto place = static_cast<size_t>(Raw(index));
    if (place < size()) Prefetch(partitions_[place].get(), sizeof(Partition));
  }
  void AskForNext(absl::Span<const wire::PartitionPart> parts, size_t i) const {
    if (i + 1 < parts.size()) AskFor(static_cast<PartitionIndex>(parts[i + 1].partition));
  }

  // Calls `visit(index, partition)` for each partition, in ascending order.
  template <typename Visit>
  void ForEach(Visit visit) {
    for (size_t i = 0; i < size(); ++i) visit(static_cast<PartitionIndex>(i), *partitions_[i]);
  }
  // Calls `visit` for each partition that is served here, in ascending order, until a call fails.
  // Returns the error of that call.
  absl::Status ForEachServed(absl::FunctionRef<absl::Status(PartitionIndex, Partition&)> visit) {
    for (size_t i = 0; i < size(); ++i) {
      if (!partitions_[i]->serves()) continue;
      CAPSTAN_RETURN_IF_ERROR(visit(static_cast<PartitionIndex>(i), *partitions_[i]));
    }
    return absl::OkStatus();
  }

  // Returns true if no partition is loaded, neither to be served nor as a backup.
  bool empty() const {
    return std::none_of(partitions_.begin(), partitions_.end(),
                        [](const auto& partition) { return partition->loaded(); });
  }
  bool serves_none() const {
    return std::none_of(partitions_.begin(), partitions_.end(),
                        [](const auto& partition) { return partition->serves(); });
  }

 private:
  std::vector<std::unique_ptr<Partition>> partitions_;
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_PARTITION_SET_H_
