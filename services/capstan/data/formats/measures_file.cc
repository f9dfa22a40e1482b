#include "capstan/data/formats/measures_file.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"
#include "capstan/config/columns.h"
#include "capstan/data/formats/listed_file.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/quote.h"

namespace capstan {
namespace {

struct Known {
  Measures measures;
  uint64_t line = 0;  // From 1.
};

struct File {
  absl::flat_hash_map<std::string, Known> columns;
  uint32_t crc32c = 0;
};

// Removes the text before the first tab, and the tab, from `rest`, and sets `cell` to the text.
// Returns false if there is no tab.
bool CutCell(std::string_view& rest, std::string_view& cell) {
  const size_t tab = rest.find('\t');
  if (tab == rest.npos) return false;
  cell = Trim(rest.substr(0, tab));
  rest.remove_prefix(tab + 1);
  return true;
}

// Adds the measures of a line. Returns false if the line is malformed; `error` then says what was
// expected.
bool TakeLine(const ListedLine& line, File& file, std::string& error) {
  if (line.number > kMaxColumns) {
    error = absl::StrCat("is one line too many; expected at most ", kMaxColumns);
    return false;
  }
  std::string_view rest = line.text;
  std::string_view column;
  std::string_view mean;
  if (!CutCell(rest, column) || !CutCell(rest, mean) || column.empty()) {
    error = "expected a column, its mean and its deviation, with tabs between them";
    return false;
  }
  Known known{.line = line.number};
  if (!ParseDouble(mean, known.measures.mean)) {
    error = absl::StrCat("the mean ", Quote(mean), " is no number");
    return false;
  }
  if (!ParseDouble(rest, known.measures.deviation) || known.measures.deviation <= 0) {
    error = absl::StrCat("the deviation ", Quote(Trim(rest)), " is no number above 0");
    return false;
  }
  const auto [found, added] = file.columns.try_emplace(AbslView(column), known);
  if (!added) {
    error = absl::StrCat("is of column ", Quote(column), ", as line ", found->second.line,
                         " is; expected each column once");
  }
  return added;
}

absl::StatusOr<File> ReadFile(const Source& source, const std::string& path) {
  File file;
  const auto take = [&file](const ListedLine& line, std::string& error) {
    return TakeLine(line, file, error);
  };
  CAPSTAN_ASSIGN_OR_RETURN(file.crc32c, ReadListedFile(source, path, take));
  return file;
}

}  // namespace

absl::Status DeriveMeasures(const Source& source, v1::DataSpec& data) {
  std::map<std::string, File> files;  // By path; columns usually share one file.
  for (v1::ColumnSpec& column : *data.mutable_numeric()) {
    const std::string& path = column.file();
    if (path.empty()) continue;
    auto file = files.find(path);
    if (file == files.end()) {
      CAPSTAN_ASSIGN_OR_RETURN(File read, ReadFile(source, path));
      file = files.emplace(path, std::move(read)).first;
    }
    const std::string name = column.name().empty() ? absl::StrCat(column.column()) : column.name();
    const auto found = file->second.columns.find(name);
    if (found == file->second.columns.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": has no line of column ", Quote(name),
                       ", which data.schema.numeric standardizes by this file"));
    }
    column.set_mean(found->second.measures.mean);
    column.set_deviation(found->second.measures.deviation);
    column.set_file_crc32c(file->second.crc32c);
  }
  return absl::OkStatus();
}

}  // namespace capstan
