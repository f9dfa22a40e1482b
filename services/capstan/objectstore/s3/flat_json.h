// Parses the JSON of credential servers: one object whose values are strings.
#ifndef CAPSTAN_OBJECTSTORE_S3_FLAT_JSON_H_
#define CAPSTAN_OBJECTSTORE_S3_FLAT_JSON_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace capstan {

// Returns the members whose values are strings; skips numbers, true, false and null. DATA_LOSS: it
// is not such an object, or contains another object; the message reveals nothing of the content.
absl::StatusOr<std::map<std::string, std::string>> ParseFlatJson(std::string_view document);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_FLAT_JSON_H_
