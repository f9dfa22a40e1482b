// A push as the owner of a partition sends it to the backup. An owner creates one for each
// partition of each push, so it is a plain value that allocates nothing.
#ifndef CAPSTAN_PS_PARTITION_TOLD_PUSH_H_
#define CAPSTAN_PS_PARTITION_TOLD_PUSH_H_

#include <cstdint>

#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/push_message.h"

namespace capstan::ps {

// The result of a push in one partition. The backup must get the same result.
struct PushResult {
  uint64_t progress_examples = 0;
  v1::Outcome dense = v1::OUTCOME_UNSPECIFIED;
  v1::Outcome sparse = v1::OUTCOME_UNSPECIFIED;
  uint64_t dense_version = 0;  // The versions after the push.
  uint64_t sparse_version = 0;
};

struct ToldPush {
  PartitionIndex partition{};
  ViewEpoch pair;  // The pair to whose backup it is sent.
  PushResult result;
  PushShare gradient;  // REQUIRES: gradient.push is set.
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_TOLD_PUSH_H_
