// Quotes a piece of a file for a message.
#ifndef CAPSTAN_DATA_FORMATS_QUOTE_H_
#define CAPSTAN_DATA_FORMATS_QUOTE_H_

#include <string>
#include <string_view>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace capstan {

// Returns `text` in quotes, with unprintable bytes escaped, cut after 40 bytes.
inline std::string Quote(std::string_view text) {
  constexpr size_t kShown = 40;
  std::string_view front = text.substr(0, kShown);
  return absl::StrCat("\"", absl::CHexEscape(absl::string_view(front.data(), front.size())),
                      text.size() > kShown ? "..." : "", "\"");
}

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_QUOTE_H_
