// A message as JSON for programs: protobuf's, with its names as they are in the proto file and
// every field, but 64-bit integers as numbers, as jq and every language's JSON reader expect them.
#ifndef CAPSTAN_CLI_STATUS_STATUS_JSON_H_
#define CAPSTAN_CLI_STATUS_STATUS_JSON_H_

#include <string>

#include "google/protobuf/message.h"

namespace capstan::cli {

// In one line. REQUIRES: no field is of bytes.
std::string ToJson(const google::protobuf::Message& message);

}  // namespace capstan::cli

#endif  // CAPSTAN_CLI_STATUS_STATUS_JSON_H_
