#include "capstan/base/quote.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

namespace capstan {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Returns how many bytes the well-formed UTF-8 character has with which `text` begins (RFC 3629); 0
// if it begins with none.
size_t CharacterLength(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  if (!std::all_of(text.begin() + 1, text.begin() + length, IsContinuation)) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool beyond = lead == 0xF4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

void AppendAscii(std::string& line, char c) {
  switch (c) {
    case '\n':
      line += "\\n";
      return;
    case '\r':
      line += "\\r";
      return;
    case '\t':
      line += "\\t";
      return;
    default:
      break;
  }
  if (c >= 0x20 && c != 0x7F) {
    line += c;
    return;
  }
  char escape[8];
  std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned char>(c));
  line += escape;
}

}  // namespace

void AppendEscaped(std::string& line, std::string_view text) {
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 1) {
      AppendAscii(line, text[0]);
    } else {
      line += length == 0 ? kReplacement : text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
}

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (size_t begin = 0; begin < text.size();) {
    const size_t special = std::min(text.find_first_of("\"\\", begin), text.size());
    AppendEscaped(quoted, text.substr(begin, special - begin));
    if (special < text.size()) (quoted += '\\') += text[special];
    begin = special + 1;
  }
  return quoted += '"';
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = CharacterLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool IsPlainWord(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7F && c != '"' && c != '\\' && c != '=';
  });
}

std::string FirstBytes(std::string_view text, size_t most) {
  size_t end = std::min(most, text.size());
  while (end > 0 && end < text.size() && IsContinuation(text[end])) --end;
  return std::string(text.substr(0, end));
}

std::string LastBytes(std::string_view text, size_t most) {
  size_t begin = text.size() - std::min(most, text.size());
  while (begin > 0 && begin < text.size() && IsContinuation(text[begin])) ++begin;
  return std::string(text.substr(begin));
}

}  // namespace capstan
