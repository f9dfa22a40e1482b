// What a partition tells the trace (capstan/base/trace) of pushes: which one it has taken in, which
// one its backup has carried out, and of which one somebody was told that it is done. Only of
// pushes of streams, which one name tells apart.
#ifndef CAPSTAN_PS_SHARD_TRACED_H_
#define CAPSTAN_PS_SHARD_TRACED_H_

#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/shard/push_message.h"

namespace capstan::ps {

// Each does nothing unless the process writes a trace. The first two are called under the
// partition's lock.
void TracePushed(const PushShare& share, const v1::PartitionOutcome& outcome);
void TraceReplayed(const PushShare& share, ViewEpoch pair);
void TraceAnswered(const PushMessage& push, const v1::PushReply& reply);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_SHARD_TRACED_H_
