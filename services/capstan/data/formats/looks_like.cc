#include "capstan/data/formats/looks_like.h"

#include <algorithm>
#include <cctype>

namespace capstan {
namespace {

constexpr std::string_view kConvert = "; write it as csv, such as with pandas' to_csv";

// Returns true if the first 8 bytes, little-endian, are the length of a record of at most a few
// megabytes.
bool BeginsTfRecord(std::string_view begin) {
  constexpr size_t kLength = 8;
  if (begin.size() < kLength || begin.substr(0, 3) == std::string_view("\0\0\0", 3)) return false;
  return std::all_of(begin.begin() + 3, begin.begin() + kLength, [](char c) { return c == 0; });
}

bool IsBinary(std::string_view begin) {
  return std::any_of(begin.begin(), begin.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 && c != '\t' && c != '\r' && c != '\n';
  });
}

}  // namespace

std::string LooksLike(std::string_view begin) {
  const std::string convert(kConvert);
  if (begin.substr(0, 4) == "PAR1") return "a Parquet file: format: parquet reads it";
  if (begin.substr(0, 6) == "ARROW1") return "an Arrow file" + convert;
  if (begin.substr(0, 4) == "PK\x03\x04") return "a zip or xlsx file" + convert;
  if (BeginsTfRecord(begin)) return "a TFRecord file" + convert + "; format: tfrecord reads images";
  if (IsBinary(begin)) return "a binary file" + convert;
  const std::string_view line = begin.substr(0, begin.find('\n'));
  const auto count = [line](char c) { return std::count(line.begin(), line.end(), c); };
  if (count('\t') > 0) return "cells with tabs between them: format: tsv reads them";
  if (count(',') > 0) return "cells with commas between them: format: csv reads them";
  for (const char c : {';', '|'}) {
    if (count(c) == 0) continue;
    return std::string("cells with '") + c + "' between them" + convert;
  }
  if (count(':') > 0) return "index:value pairs: format: libsvm or libfm reads them";
  return "";
}

}  // namespace capstan
