#include "capstan/data/tasks/other_format.h"

#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/cells.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/line_reader.h"
#include "capstan/data/formats/looks_like.h"

namespace capstan {
namespace {

// Returns true if text begins with UTF-16's byte order mark, and has zero bytes as in UTF-16.
bool IsUtf16(std::string_view line) {
  return (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")) &&
         line.find('\0') != std::string_view::npos;
}

}  // namespace

absl::Status CheckFirstLine(const std::string& path, std::string_view line, v1::DataFormat format) {
  if (IsUtf16(line)) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is UTF-16; write it in UTF-8, such as by iconv --from utf-16 --to utf-8"));
  }
  CellScanner scanner(format);
  scanner.Begin(line);
  std::string_view cell;
  if (scanner.Next(cell) && scanner.Next(cell)) return absl::OkStatus();
  const std::string looks = LooksLike(line);
  if (looks.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(path, ": has one column; it looks like ", looks));
}

absl::Status WhyNotUnderstood(const Source& source, const std::string& path, v1::DataFormat format,
                              absl::Status otherwise) {
  if (format != v1::DATA_FORMAT_CSV && format != v1::DATA_FORMAT_TSV) return otherwise;
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents, OpenContents(source, path));
  LineReader lines(path, std::move(contents), 0);
  std::string_view line;
  if (!lines.Next(line)) return otherwise;
  CAPSTAN_RETURN_IF_ERROR(CheckFirstLine(path, line, format));
  if (line.find('\r') == std::string_view::npos || lines.Next(line)) return otherwise;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": its lines end with CR alone; expected LF or CR LF, as tr '\\r' '\\n' makes them"));
}

}  // namespace capstan
