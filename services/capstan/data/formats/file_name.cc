#include "capstan/data/formats/file_name.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/utf8.h"

namespace capstan {

absl::Status CheckFileName(std::string_view path) {
  if (IsUtf8(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(absl::CHexEscape(AbslView(path)),
                   ": the name is not UTF-8 (what stands after each \\x is one byte of it); rename "
                   "the file, or write a pattern that does not find it"));
}

}  // namespace capstan
