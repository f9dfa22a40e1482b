// Converts the identifiers of pushes to messages.
#ifndef CAPSTAN_CONSISTENCY_STREAM_PUSH_H_
#define CAPSTAN_CONSISTENCY_STREAM_PUSH_H_

#include "capstan/consistency/generation.h"
#include "capstan/consistency/stream_ledger.h"
#include "capstan/v1/ps.pb.h"

namespace capstan {

inline void ToProto(const StreamPush& name, v1::StreamPush& proto) {
  proto.set_stream(name.stream.value);
  proto.set_seq(name.seq);
  proto.set_low_watermark(name.low_watermark);
  ToProto(name.generation, *proto.mutable_generation());
}

}  // namespace capstan

#endif  // CAPSTAN_CONSISTENCY_STREAM_PUSH_H_
