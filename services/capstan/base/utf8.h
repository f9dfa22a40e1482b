// Checks which parts of a text are well-formed UTF-8 (RFC 3629). Pure functions.
#ifndef CAPSTAN_BASE_UTF8_H_
#define CAPSTAN_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace capstan {

// Returns true if this is not the first byte of a character of several bytes.
inline bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Returns the number of bytes of the well-formed character at the beginning of `text`; 0 if there
// is none. REQUIRES: `text` is not empty.
size_t CharacterLength(std::string_view text);

// Returns true if all of `text` is well-formed, as protobuf requires of string fields.
bool IsUtf8(std::string_view text);

}  // namespace capstan

#endif  // CAPSTAN_BASE_UTF8_H_
