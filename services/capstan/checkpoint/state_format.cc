#include "capstan/checkpoint/state_format.h"

#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"

namespace capstan {

absl::Status CheckStateFormat(std::string_view name, const v1::ChiefState& state,
                              std::string_view reader) {
  if (state.format() <= kStateFormat) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat(AbslView(name), ": has format ", state.format(), ", expected at most ",
                   kStateFormat, ": this ", AbslView(reader),
                   " is older than the chief that has written it; use a version that is not "
                   "older than that one"));
}

}  // namespace capstan
