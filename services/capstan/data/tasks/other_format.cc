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

absl::Status CheckFirstLine(const std::string& path, std::string_view line, v1::DataFormat format) {
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
  if (lines.Next(line)) CAPSTAN_RETURN_IF_ERROR(CheckFirstLine(path, line, format));
  return otherwise;
}

}  // namespace capstan
