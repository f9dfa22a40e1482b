#include "chief/duties/check_wire_version.h"

#include "absl/strings/str_cat.h"
#include "capstan/base/wire_version.h"

namespace capstan::chief {

absl::Status CheckWireVersion(uint32_t version) {
  if (version == kWireVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the peer speaks wire version ", version, ", this chief ", kWireVersion));
}

}  // namespace capstan::chief
