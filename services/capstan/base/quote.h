// Makes text from outside fit for a line of the log: control bytes, quotes and bytes that are not
// UTF-8 are escaped, so that the text can forge neither a line nor a field.
#ifndef CAPSTAN_BASE_QUOTE_H_
#define CAPSTAN_BASE_QUOTE_H_

#include <string>
#include <string_view>

namespace capstan {

// Returns `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
std::string Quoted(std::string_view text);

// Appends `text` without quotes around it, with control bytes escaped.
void AppendEscaped(std::string& line, std::string_view text);

// Returns whether `text` needs no quotes: it is not empty, and printable ASCII without space,
// quote, backslash or `=`.
bool IsPlainWord(std::string_view text);

}  // namespace capstan

#endif  // CAPSTAN_BASE_QUOTE_H_
