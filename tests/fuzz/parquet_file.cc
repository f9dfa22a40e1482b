// A Parquet file: its footer, and the cells of each of its columns, however they are asked for.
#include "capstan/data/parquet/parquet_file.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "capstan/base/check.h"
#include "capstan/data/parquet/codecs.h"
#include "capstan/data/parquet/column_reader.h"
#include "capstan/data/parquet/ranged_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/data/files.h"

namespace capstan::parquet {
namespace {

constexpr uint64_t kMostRows = 3000;  // A few bytes may say that there are very many nulls.
constexpr size_t kMostGroups = 20;
constexpr size_t kMostColumns = 50;

// The nulls of rows [begin, end), `step` at a time, and how many values there are.
struct Content {
  std::vector<uint32_t> present;
  size_t values = 0;
  friend bool operator==(const Content&, const Content&) = default;
};

absl::StatusOr<Content> Read(const Source& source, const ParquetFile& file, const Column& column,
                             const Chunk& chunk, uint64_t begin, uint64_t end, uint64_t step) {
  RangedFile ranged(source, file.info);
  ColumnReader reader(column, chunk, ranged);
  if (absl::Status status = reader.Skip(begin); !status.ok()) return status;
  Content content;
  for (uint64_t row = begin; row < end;) {
    const absl::StatusOr<const Cells*> cells = reader.Next(std::min(step, end - row));
    if (!cells.ok()) return cells.status();
    CAPSTAN_CHECK((*cells)->rows() > 0 && (*cells)->rows() <= std::min(step, end - row));
    row += (*cells)->rows();
    content.present.insert(content.present.end(), (*cells)->present.begin(),
                           (*cells)->present.end());
    content.values +=
        (*cells)->dictionary != nullptr ? (*cells)->places.size() : (*cells)->values.size();
  }
  return content;
}

// Of a list: some entries behind the pages of the first rows.
void ReadList(const Source& source, const ParquetFile& file, const Column& column,
              const Chunk& chunk, uint64_t skipped) {
  RangedFile ranged(source, file.info);
  ColumnReader reader(column, chunk, ranged);
  const absl::StatusOr<uint64_t> begun = reader.SkipPages(skipped);
  if (!begun.ok()) return;
  CAPSTAN_CHECK(*begun <= skipped);
  for (uint64_t entries = 0; entries < kMostRows;) {
    const absl::StatusOr<const Cells*> cells = reader.NextEntries();
    if (!cells.ok() || (*cells)->rows() == 0) return;
    const std::vector<uint32_t>& present = (*cells)->present;
    const size_t values =
        (*cells)->dictionary != nullptr ? (*cells)->places.size() : (*cells)->values.size();
    CAPSTAN_CHECK((*cells)->begins.size() == present.size());
    CAPSTAN_CHECK(values == static_cast<size_t>(std::count(present.begin(), present.end(), 1u)));
    entries += present.size();
  }
}

}  // namespace
}  // namespace capstan::parquet

void Fuzz(std::string_view input) {
  using namespace capstan::parquet;
  const std::unique_ptr<const capstan::Source> text = capstan::NewTextSource(input);
  const capstan::Source& source = *text;
  const auto file = OpenParquetFile(source, "file");
  if (!file.ok()) return;
  const std::vector<RowGroup>& groups = file->metadata.row_groups;
  for (size_t g = 0; g < std::min(groups.size(), kMostGroups); ++g) {
    for (size_t c = 0; c < std::min(file->metadata.columns.size(), kMostColumns); ++c) {
      const Column& column = file->metadata.columns[c];
      if (!column.unreadable.empty()) continue;
      const Chunk& chunk = groups[g].chunks[column.leaf];
      if (!chunk.unreadable.empty() || !WhyUnsupportedCodec(chunk.codec).empty()) continue;
      if (column.list) {
        for (const uint64_t skipped : {0, 2}) ReadList(source, *file, column, chunk, skipped);
        continue;
      }
      const uint64_t rows = std::min(chunk.values, kMostRows);
      const auto whole = Read(source, *file, column, chunk, 0, rows, rows);
      const auto parts = Read(source, *file, column, chunk, 0, rows, 7);
      CAPSTAN_CHECK(whole.ok() == parts.ok());
      if (whole.ok()) CAPSTAN_CHECK(*whole == *parts);
      (void)Read(source, *file, column, chunk, rows / 2, rows, 1000);
    }
  }
}
