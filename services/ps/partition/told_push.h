// A push as its partition's owner tells it to the backup. An owner makes one for each partition of
// each push, so it is a plain value, which allocates nothing.
#ifndef CAPSTAN_PS_PARTITION_TOLD_PUSH_H_
#define CAPSTAN_PS_PARTITION_TOLD_PUSH_H_

#include <cstdint>

#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/push_message.h"

namespace capstan::ps {

// What a push has come to in one partition. The backup must come to the same.
struct PushResult {
  uint64_t progress_examples = 0;
  v1::Outcome dense = v1::OUTCOME_UNSPECIFIED;
  v1::Outcome sparse = v1::OUTCOME_UNSPECIFIED;
  uint64_t dense_version = 0;  // The versions after the push.
  uint64_t sparse_version = 0;
};

struct ToldPush {
  PartitionIndex partition{};
  ViewEpoch pair;  // The pair whose backup is told.
  PushResult result;
  PushShare gradient;  // REQUIRES: gradient.push is set.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_TOLD_PUSH_H_
