// How a copy of a partition is ordered, and what the copy holds beside the rows and blocks.
#ifndef CAPSTAN_PS_PARTITION_PARTITION_COPY_H_
#define CAPSTAN_PS_PARTITION_PARTITION_COPY_H_

#include <string>

#include "capstan/base/ids.h"
#include "ps/machines/partition_machine.h"

namespace capstan::ps {

struct CopyOrder {
  Timeline timeline{};
  std::string parent;  // Copy only the changes since it, if they are known.
  // Close the partition, so that it takes no gradients after the copy: the shard is about to leave.
  // If false, a partition that an earlier copy has closed is opened again: the shard stays after
  // all.
  bool close = false;
  // What the copy is made for, which only the trace tells: this move, while the partition is
  // served, or this checkpoint; 0.0 and empty: neither.
  ViewEpoch move = {};
  std::string checkpoint = {};
};

// A copy as of the moment of Partition::BeginCopy.
struct PartitionCopy {
  PartitionState state;
  std::string parent;  // The copy is to hold the changes to this checkpoint; empty: everything.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_PARTITION_COPY_H_
