// What a partition writes into the trace (capstan/base/trace): pushes that it has accepted, or had
// accepted before (`again`), with their lease (`generation`) and low watermark; pushes that its
// backup has repeated; pushes whose sender was told that they are done; the moment after which
// pushes are not contained in the copy for a move, in a delta to that copy, or in the copy for a
// checkpoint; streams that it has closed; and that it begins a timeline with the content of a
// checkpoint. Only pushes of streams are traced, as only they have a unique name.
#ifndef CAPSTAN_PS_PARTITION_TRACED_H_
#define CAPSTAN_PS_PARTITION_TRACED_H_

#include <cstdint>
#include <string>

#include "capstan/base/ids.h"
#include "capstan/v1/ps.pb.h"
#include "ps/partition/push_message.h"

namespace capstan::ps {

// These do nothing unless the process writes a trace. All but TraceAnswered are called under the
// partition's lock.
void TraceCloned(PartitionIndex partition, ViewEpoch move, bool delta);
void TraceMarked(PartitionIndex partition, const std::string& checkpoint);
void TracePushed(const PushShare& share, const v1::PartitionOutcome& outcome);
void TraceReplayed(const PushShare& share, ViewEpoch pair);
void TraceAnswered(const PushMessage& push, const v1::PushReply& reply);
void TraceShut(PartitionIndex partition, StreamId stream, uint64_t batches);
// `checkpoint`: empty if the partition begins with initial values, or has recovered partially.
void TraceLoaded(PartitionIndex partition, Timeline timeline, const std::string& checkpoint);

}  // namespace capstan::ps

#endif  // CAPSTAN_PS_PARTITION_TRACED_H_
