// Converts to absl::string_view, which in Debian's Abseil is not std::string_view. To convert back,
// use std::string_view(view.data(), view.size()).
#ifndef CAPSTAN_BASE_ABSL_VIEW_H_
#define CAPSTAN_BASE_ABSL_VIEW_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace capstan {

inline absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace capstan

#endif  // CAPSTAN_BASE_ABSL_VIEW_H_
