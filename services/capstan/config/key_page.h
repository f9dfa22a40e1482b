// The tables of docs/job-yaml.md, made of what the keys' readers and declarations say.
#ifndef CAPSTAN_CONFIG_KEY_PAGE_H_
#define CAPSTAN_CONFIG_KEY_PAGE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace capstan {

// Returns the page with what stands between each line `<!-- keys: NAME (made by capstan config keys
// --page) -->` and the next line `<!-- end of keys -->` made anew: the table of the section of this
// name, or, for "that may change", the list of these keys. What is outside stays as it is.
// INVALID_ARGUMENT: the page lacks such a line, or has it twice; the message names it.
absl::StatusOr<std::string> WithKeyTables(std::string page);

// Returns a text of the page as a terminal shows it: without the marks of names and of links.
std::string PlainText(absl::string_view markdown);

}  // namespace capstan

#endif  // CAPSTAN_CONFIG_KEY_PAGE_H_
