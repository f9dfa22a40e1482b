// Reads a pull or push that came from a peer.
#ifndef CAPSTAN_WIRE_READER_H_
#define CAPSTAN_WIRE_READER_H_

#include "absl/status/status.h"
#include "capstan/wire/message.h"
#include "capstan/wire/payload.h"
#include "google/protobuf/message.h"

namespace capstan::wire {

// Reads `message`, which is the wire form of head's type: the partitions into `payload`, as views
// into the message, and the other fields into `head`, whose own partitions stay empty. Clears both
// first. Accepts what protobuf accepts: fields in any order, unknown fields, the last of a repeated
// singular field, overlong varints. INVALID_ARGUMENT, with the message and the field: it is
// malformed.
absl::Status Read(const Schema& schema, const Message& message, google::protobuf::Message& head,
                  Payload& payload);

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_READER_H_
