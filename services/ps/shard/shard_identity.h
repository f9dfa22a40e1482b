// The index of a shard, and the incarnation of its process.
#ifndef CAPSTAN_PS_SHARD_SHARD_IDENTITY_H_
#define CAPSTAN_PS_SHARD_SHARD_IDENTITY_H_

#include "capstan/base/ids.h"

namespace capstan::ps {

struct ShardIdentity {
  ShardIndex index{};
  Incarnation incarnation{};
};

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_SHARD_IDENTITY_H_
