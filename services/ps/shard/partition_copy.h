// What a copy of a partition is for, and what it holds beside the rows and blocks.
#ifndef CAPSTAN_PS_SHARD_PARTITION_COPY_H_
#define CAPSTAN_PS_SHARD_PARTITION_COPY_H_

#include <string>

#include "capstan/base/ids.h"
#include "ps/machines/partition_machine.h"

namespace capstan::ps {

struct CopyOrder {
  Timeline timeline{};
  std::string parent;  // Changes to it, if they are known.
  // Nothing is applied afterwards: the shard is about to leave. Otherwise what an earlier copy has
  // closed is open again: its shard stays after all.
  bool close = false;
  // What the copy is made for, which a trace tells: this move, while the partition is served, or
  // this checkpoint; 0.0 and empty: for none.
  ViewEpoch move = {};
  std::string checkpoint = {};
};

// As of the moment of Partition::BeginCopy.
struct PartitionCopy {
  PartitionState state;
  std::string parent;  // The copy is to hold the changes to this checkpoint; empty: everything.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_PARTITION_COPY_H_
