// The JSON of credential servers: one object of texts.
#ifndef CAPSTAN_OBJECTSTORE_S3_FLAT_JSON_H_
#define CAPSTAN_OBJECTSTORE_S3_FLAT_JSON_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace capstan {

// The members whose values are texts; numbers, true, false and null are skipped. DATA_LOSS for what
// is no such object, or holds another; the message holds nothing of the content.
absl::StatusOr<std::map<std::string, std::string>> ParseFlatJson(std::string_view document);

}  // namespace capstan

#endif  // CAPSTAN_OBJECTSTORE_S3_FLAT_JSON_H_
