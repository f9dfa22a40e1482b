#include "capstan/checkpoint/checkpoint_names.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "capstan/base/absl_view.h"
#include "capstan/checkpoint/checkpoint.h"

namespace capstan {

bool IsCheckpointName(std::string_view name) {
  const size_t hyphen = name.find('-');
  if (hyphen == 0 || hyphen == std::string_view::npos || hyphen + 1 == name.size()) return false;
  const std::string_view step = name.substr(0, hyphen);
  const std::string_view id = name.substr(hyphen + 1);
  return std::all_of(step.begin(), step.end(), absl::ascii_isdigit) &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

bool IsCheckpointObject(std::string_view name) {
  if (name == kManifestName) return true;
  const size_t hyphen = name.find('-');
  const size_t dot = name.find('.');
  if (hyphen == std::string_view::npos || dot == std::string_view::npos || dot < hyphen) {
    return false;
  }
  int32_t partition = 0;
  return absl::SimpleAtoi(AbslView(name.substr(hyphen + 1, dot - hyphen - 1)), &partition) &&
         partition >= 0 && name == PartitionFileName(PartitionIndex{partition});
}

}  // namespace capstan
