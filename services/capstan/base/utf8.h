// What of a text is well-formed UTF-8 (RFC 3629). Pure functions.
#ifndef CAPSTAN_BASE_UTF8_H_
#define CAPSTAN_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace capstan {

// Returns true if a character of several bytes goes on with this one.
inline bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Returns how many bytes the well-formed character has with which `text` begins; 0 if it begins
// with none. REQUIRES: `text` is not empty.
size_t CharacterLength(std::string_view text);

// Returns whether all of `text` is well-formed, as protobuf asks of a field of text.
bool IsUtf8(std::string_view text);

}  // namespace capstan

#endif  // CAPSTAN_BASE_UTF8_H_
