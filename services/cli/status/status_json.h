// Writes a message as JSON for programs: protobuf's JSON, with the names of the proto file and
// every field, except that 64-bit integers are numbers, as jq and other JSON readers expect.
#ifndef CAPSTAN_CLI_STATUS_STATUS_JSON_H_
#define CAPSTAN_CLI_STATUS_STATUS_JSON_H_

#include <string>

#include "google/protobuf/message.h"

namespace capstan::cli {

// Returns the JSON in one line. REQUIRES: no field is of type bytes.
std::string ToJson(const google::protobuf::Message& message);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_STATUS_JSON_H_
