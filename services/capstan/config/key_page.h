// Generates the tables of docs/job-yaml.md from the keys' readers and declarations.
#ifndef CAPSTAN_CONFIG_KEY_PAGE_H_
#define CAPSTAN_CONFIG_KEY_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace capstan {

// Returns the page with newly generated text between each line `<!-- keys: NAME (made by capstan
// config keys --page) -->` and the next line `<!-- end of keys -->`: the table of the section of
// this name or, for "that may change", the list of these keys. Text outside of these is not
// changed. INVALID_ARGUMENT: such a line is missing or occurs twice; the message names it.
absl::StatusOr<std::string> WithKeyTables(std::string page);

// Returns a text of the page as a terminal shows it: without the Markdown of names and of links.
std::string PlainText(absl::string_view markdown);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_KEY_PAGE_H_
