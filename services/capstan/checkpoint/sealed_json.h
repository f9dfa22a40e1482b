// Protobuf's JSON with a checksum as its last member, so that it is still JSON: the text of
// MANIFEST.json and of the chief's state. See FORMAT.md.
#ifndef CAPSTAN_CHECKPOINT_SEALED_JSON_H_
#define CAPSTAN_CHECKPOINT_SEALED_JSON_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "google/protobuf/message.h"

namespace capstan {

// Returns the text; equal messages have the same text. REQUIRES: a field of the message is set.
absl::StatusOr<std::string> SealJson(const google::protobuf::Message& message);

// Parses `text` into `message`, and ignores unknown fields. DATA_LOSS, with a message that begins
// with `name`: a byte was changed or is missing.
absl::Status OpenSealedJson(std::string_view name, const std::string& text,
                            google::protobuf::Message& message);

}  // namespace capstan

#endif  // CAPSTAN_CHECKPOINT_SEALED_JSON_H_
