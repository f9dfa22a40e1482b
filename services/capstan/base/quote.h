// Text from outside made fit for a line of ours: control bytes, quotes and bytes that are not UTF-8
// are escaped, so that it can forge neither a line nor a field.
#ifndef CAPSTAN_BASE_QUOTE_H_
#define CAPSTAN_BASE_QUOTE_H_

#include <string>
#include <string_view>

namespace capstan {

// `text` as a JSON string, quotes included. Bytes that are not UTF-8 become U+FFFD.
std::string Quoted(std::string_view text);

// `text` without quotes around it; control bytes are escaped.
void AppendEscaped(std::string& line, std::string_view text);

// Needs no quotes: not empty, printable ASCII without space, quote, backslash or `=`.
bool IsPlainWord(std::string_view text);

}  // namespace capstan

#endif  // CAPSTAN_BASE_QUOTE_H_
