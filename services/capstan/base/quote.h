// Makes text from outside safe for a line of the log: control bytes, quotes and bytes that are not
// UTF-8 are escaped, so that the text can forge neither a line nor a field. Also shortens text.
#ifndef CAPSTAN_BASE_QUOTE_H_
#define CAPSTAN_BASE_QUOTE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace capstan {

// Returns `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
std::string Quoted(std::string_view text);

// Appends `text` without quotes around it, with control bytes escaped.
void AppendEscaped(std::string& line, std::string_view text);

// Returns true if `text` needs no quotes: it is not empty, and is printable ASCII without spaces,
// quotes, backslashes and `=`.
bool IsPlainWord(std::string_view text);

// Return the first, or the last, `most` bytes of `text`, or a few less, so that no character of
// several bytes is cut: a message with half of one cannot be parsed.
std::string FirstBytes(std::string_view text, size_t most);
std::string LastBytes(std::string_view text, size_t most);

}  // namespace capstan

#endif  // CAPSTAN_BASE_QUOTE_H_
