#include "capstan/data/formats/tar_header.h"

#include <algorithm>
#include <charconv>

namespace capstan {
namespace {

constexpr size_t kMagicPlace = 257;
constexpr std::string_view kMagic = "ustar";
constexpr size_t kHeaderSumPlace = 148;
constexpr size_t kHeaderSumBytes = 8;

// Returns a field up to its first zero byte.
std::string_view TextAt(std::string_view block, size_t place, size_t size) {
  const std::string_view field = block.substr(place, size);
  return field.substr(0, field.find('\0'));
}

// Parses a number: octal digits, or a byte of 0x80 followed by bytes of 8 bits.
std::optional<uint64_t> NumberAt(std::string_view block, size_t place, size_t size) {
  const std::string_view field = block.substr(place, size);
  uint64_t number = 0;
  if (static_cast<uint8_t>(field[0]) == 0x80) {
    for (const char byte : field.substr(1)) {
      if (number >> 55 != 0) return std::nullopt;
      number = number << 8 | static_cast<uint8_t>(byte);
    }
    return number;
  }
  bool digits = false;
  for (const char c : field) {
    if (c == ' ' && !digits) continue;
    if (c == ' ' || c == '\0') break;
    if (c < '0' || c > '7') return std::nullopt;
    digits = true;
    number = number << 3 | static_cast<uint64_t>(c - '0');
  }
  return number;
}

bool SumIsRight(std::string_view block) {
  const std::optional<uint64_t> expected = NumberAt(block, kHeaderSumPlace, kHeaderSumBytes);
  if (!expected) return false;
  int64_t sum = 0;
  int64_t sum_of_signed = 0;  // Some old programs added up signed bytes.
  for (size_t i = 0; i < kTarBlock; ++i) {
    const bool blank = i >= kHeaderSumPlace && i < kHeaderSumPlace + kHeaderSumBytes;
    sum += blank ? ' ' : static_cast<uint8_t>(block[i]);
    sum_of_signed += blank ? ' ' : static_cast<int8_t>(block[i]);
  }
  const auto number = static_cast<int64_t>(*expected);
  return number == sum || number == sum_of_signed;
}

// Calls `take` with the key and value of each record of a pax header: "LENGTH KEY=VALUE\n".
template <typename Take>
void ForEachRecord(std::string_view content, Take take) {
  while (!content.empty()) {
    size_t length = 0;
    const char* const end = content.data() + content.size();
    const auto parsed = std::from_chars(content.data(), end, length);
    const size_t digits = static_cast<size_t>(parsed.ptr - content.data());
    if (parsed.ec != std::errc() || length > content.size() || length < digits + 2) return;
    const std::string_view record = content.substr(digits + 1, length - digits - 2);
    const size_t equals = record.find('=');
    if (equals != record.npos) take(record.substr(0, equals), record.substr(equals + 1));
    content.remove_prefix(length);
  }
}

}  // namespace

std::optional<TarHeader> ParseTarHeader(std::string_view block) {
  if (block.size() < kTarBlock || block.substr(kMagicPlace, kMagic.size()) != kMagic) {
    return std::nullopt;
  }
  const std::optional<uint64_t> size = NumberAt(block, 124, 12);
  if (!size || !SumIsRight(block)) return std::nullopt;
  TarHeader header{.name = std::string(TextAt(block, 0, 100)), .size = *size, .kind = block[156]};
  // GNU has other data where POSIX has the beginning of a long name.
  const std::string_view prefix = TextAt(block, 345, 155);
  if (block[kMagicPlace + kMagic.size()] == '\0' && !prefix.empty()) {
    header.name = std::string(prefix) + "/" + header.name;
  }
  return header;
}

void ApplyTarExtension(char kind, std::string_view content, TarHeader& header) {
  if (kind == 'L') header.name = std::string(content.substr(0, content.find('\0')));
  if (kind != 'x') return;
  ForEachRecord(content, [&header](std::string_view key, std::string_view value) {
    if (key == "path") header.name = std::string(value);
    if (key == "size") std::from_chars(value.data(), value.data() + value.size(), header.size);
  });
}

}  // namespace capstan
