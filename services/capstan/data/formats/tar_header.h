// A block of 512 bytes of a tar file as the header of a member (POSIX ustar and pax, GNU).
#ifndef CAPSTAN_DATA_FORMATS_TAR_HEADER_H_
#define CAPSTAN_DATA_FORMATS_TAR_HEADER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace capstan {

inline constexpr uint64_t kTarBlock = 512;

struct TarHeader {
  std::string name;
  uint64_t size = 0;
  char kind = '0';

  bool is_file() const { return kind == '0' || kind == '\0' || kind == '7'; }
  // True: the member's content describes the member that follows.
  bool is_extension() const { return kind == 'x' || kind == 'g' || kind == 'L' || kind == 'K'; }
};

// Parses a block; nullopt if its magic and checksum show that it is not a header.
std::optional<TarHeader> ParseTarHeader(std::string_view block);

// Applies an extension of this `kind` and `content` to `header`, the header of the member after it.
void ApplyTarExtension(char kind, std::string_view content, TarHeader& header);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_TAR_HEADER_H_
