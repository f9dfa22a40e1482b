#include "capstan/base/quote.h"

#include <algorithm>
#include <cstdio>

#include "capstan/base/utf8.h"

namespace capstan {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

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
