// Reads a pull or push that was received from a peer.
#ifndef CAPSTAN_WIRE_READER_H_
#define CAPSTAN_WIRE_READER_H_

#include "absl/status/status.h"
#include "capstan/wire/message.h"
#include "capstan/wire/payload.h"
#include "google/protobuf/message.h"

namespace capstan::wire {

// Reads `message`, the wire format of the type of `head`: the partitions into `payload`, as views
// into the message, and the other fields into `head`, whose own partitions stay empty. Clears both
// first. Accepts what protobuf accepts: fields in any order, unknown fields, repeated occurrences
// of a singular field (the last one counts), overlong varints. INVALID_ARGUMENT, with the message
// and the field: it is malformed.
absl::Status Read(const Schema& schema, const Message& message, google::protobuf::Message& head,
                  Payload& payload);

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_READER_H_
