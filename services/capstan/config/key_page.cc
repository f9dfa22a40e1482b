#include "capstan/config/key_page.h"

#include <map>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "capstan/base/status.h"
#include "capstan/config/config.h"
#include "capstan/config/declared_keys.h"

namespace capstan {
namespace {

constexpr absl::string_view kEnd = "<!-- end of keys -->";
constexpr absl::string_view kHead =
    "| key | values | default | meaning |\n"
    "|---|---|---|---|\n";

std::string Begin(absl::string_view name) {
  return absl::StrCat("<!-- keys: ", name, " (made by capstan config keys --page) -->");
}

std::string Cell(absl::string_view text) {
  return text.empty() ? " |" : absl::StrCat(" ", absl::StrReplaceAll(text, {{"|", "\\|"}}), " |");
}

// Both parts of a model have the same values and defaults of a key whose row is for both.
std::string OfOnePart(absl::string_view key) {
  return absl::StrReplaceAll(key, {{"<part>", "dense"}});
}

std::string TableOf(const DeclaredSection& section) {
  std::map<std::string, JobKey> keys;
  for (JobKey& key : JobKeys()) keys.emplace(key.key, key);
  std::string table(kHead);
  for (const DeclaredKey& declared : section.keys) {
    if (declared.help.empty()) continue;
    const JobKey& key = keys[OfOnePart(declared.key)];
    absl::StrAppend(&table, "| `", declared.key, "` |", Cell(key.values),
                    Cell(key.required ? "required" : key.default_value), Cell(declared.help), "\n");
  }
  return table;
}

std::string KeysThatMayChange() {
  std::vector<std::string> keys;
  for (const DeclaredSection& section : DeclaredSections()) {
    for (const DeclaredKey& declared : section.keys) {
      if (declared.may_change) keys.push_back(absl::StrCat("`", declared.key, "`"));
    }
  }
  return absl::StrCat(absl::StrJoin(keys, ", "), "\n");
}

// Replaces the text between the lines of this name by `made`.
absl::Status Fill(absl::string_view name, absl::string_view made, std::string& page) {
  const std::string begin = Begin(name);
  const size_t at = page.find(begin);
  const size_t end = at == page.npos ? at : page.find(std::string(kEnd), at);
  if (end == page.npos || page.find(begin, at + 1) != page.npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("expected one line ", begin, ", and below it ", kEnd));
  }
  page.replace(at, end - at, absl::StrCat(begin, "\n\n", made, "\n"));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> WithKeyTables(std::string page) {
  for (const DeclaredSection& section : DeclaredSections()) {
    CAPSTAN_RETURN_IF_ERROR(Fill(section.name, TableOf(section), page));
  }
  CAPSTAN_RETURN_IF_ERROR(Fill("that may change", KeysThatMayChange(), page));
  return page;
}

std::string PlainText(absl::string_view markdown) {
  std::string text = absl::StrReplaceAll(markdown, {{"`", ""}});
  for (size_t to = text.find("]("); to != text.npos; to = text.find("](", to)) {
    const size_t from = text.rfind('[', to);
    const size_t end = text.find(')', to);
    if (from == text.npos || end == text.npos) break;
    text.erase(to, end + 1 - to);
    text.erase(from, 1);
    --to;
  }
  return text;
}

}  // namespace capstan
