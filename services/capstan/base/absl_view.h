// Converts to the string_view of Debian's Abseil, which is not std::string_view. The way back is
// std::string_view(view.data(), view.size()).
#ifndef CAPSTAN_BASE_ABSL_VIEW_H_
#define CAPSTAN_BASE_ABSL_VIEW_H_

#include <string_view>

#include "absl/strings/string_view.h"

namespace capstan {

inline absl::string_view AbslView(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace capstan

#endif  // CAPSTAN_BASE_ABSL_VIEW_H_
