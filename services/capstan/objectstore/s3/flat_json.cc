#include "capstan/objectstore/s3/flat_json.h"

#include <nlohmann/json.hpp>

#include "absl/status/status.h"

namespace capstan {

absl::StatusOr<std::map<std::string, std::string>> ParseFlatJson(std::string_view document) {
  const auto object = nlohmann::json::parse(document.begin(), document.end(), /*cb=*/nullptr,
                                            /*allow_exceptions=*/false);
  if (!object.is_object()) return absl::DataLossError("JSON: an object of texts is expected");
  std::map<std::string, std::string> members;
  for (const auto& [name, value] : object.items()) {
    if (value.is_structured()) return absl::DataLossError("JSON: nested values are not expected");
    if (value.is_string()) members[name] = value.get<std::string>();
  }
  return members;
}

}  // namespace capstan
