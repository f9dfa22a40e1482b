// Reads a pull or push that came from a peer.
#ifndef CAPSTAN_WIRE_READER_H_
#define CAPSTAN_WIRE_READER_H_

#include "absl/status/status.h"
#include "capstan/wire/message.h"
#include "capstan/wire/payload.h"
#include "google/protobuf/message.h"

namespace capstan::wire {

// Reads `message`, the wire form of a `head`'s type: the partitions into `payload`, as views into
// the message, and the other fields into `head`, whose own partitions stay empty. Both are cleared
// first. Takes what protobuf takes: fields in any order, unknown ones, the last of a repeated
// singular one, overlong varints. INVALID_ARGUMENT names the message and the field that is
// malformed.
absl::Status Read(const Schema& schema, const Message& message, google::protobuf::Message& head,
                  Payload& payload);

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_READER_H_
