// The options of a copy of a partition, and what the copy contains beside rows and blocks.
#ifndef CAPSTAN_PS_PARTITION_PARTITION_COPY_H_
#define CAPSTAN_PS_PARTITION_PARTITION_COPY_H_

#include <string>

#include "capstan/base/ids.h"
#include "ps/machines/partition_machine.h"

namespace capstan::ps {

struct CopyOrder {
  Timeline timeline{};
  std::string parent;  // Copy only the changes since this checkpoint, if they are known.
  // Close the partition, so that it accepts no gradients after the copy: the shard is about to
  // leave. If false, a partition that an earlier copy has closed is reopened: the shard stays.
  bool close = false;
  // The purpose of the copy, for the trace only: this move, while the partition is served, or this
  // checkpoint; 0.0 and empty: neither.
  ViewEpoch move = {};
  std::string checkpoint = {};
};

// A copy as of the moment of Partition::BeginCopy.
struct PartitionCopy {
  PartitionState state;
  std::string parent;  // The copy contains the changes since this checkpoint; empty: everything.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_PARTITION_COPY_H_
