#include "capstan/config/names.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "capstan/config/spelling.h"

namespace capstan {
namespace {

constexpr size_t kMaxName = 64;

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxName &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
         });
}

}  // namespace

void CheckName(Section& in, absl::string_view key, absl::string_view name) {
  if (IsName(name) || name == "<name>") return;
  in.Refuse(key, absl::StrCat(Shown(name), " is not a name of at most ", kMaxName,
                              " letters, digits, _ and -"));
}

}  // namespace capstan
