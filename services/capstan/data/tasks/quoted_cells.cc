#include "capstan/data/tasks/quoted_cells.h"

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/cells.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/line_reader.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/tasks/extents.h"

namespace capstan {
namespace {

constexpr uint64_t kMostLinesLookedAt = 1000;

bool IsQuoted(std::string_view cell) {
  return cell.size() > 1 && cell.starts_with('"') && cell.ends_with('"');
}

}  // namespace

absl::StatusOr<std::string> QuotedCellsWarning(const Source& source, const v1::DataSpec& data) {
  if (data.format() != v1::DATA_FORMAT_TSV) return "";
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<FileInfo> files,
                           ListFiles(source, data, Split::kTrain));
  if (files.empty()) return "";
  const std::string& path = files.front().path;
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents, OpenContents(source, path));
  LineReader lines(path, std::move(contents), 0);
  CellScanner scanner(data.format());
  std::string_view line;
  for (uint64_t number = 1; number <= kMostLinesLookedAt && lines.Next(line); ++number) {
    scanner.Begin(line);
    std::string_view cell;
    for (uint64_t column = 0; scanner.Next(cell); ++column) {
      if (!IsQuoted(cell)) continue;
      return absl::StrCat(path, ":", number, ": column ", column, ": ", Quote(cell),
                          " is in quotes, which in a tsv are a part of the text; have it written "
                          "without quotes (pandas: quoting=csv.QUOTE_NONE), or as csv");
    }
  }
  CAPSTAN_RETURN_IF_ERROR(lines.status());
  return "";
}

}  // namespace capstan
