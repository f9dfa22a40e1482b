#include "capstan/data/parquet/column_texts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/parquet/cell_text.h"
#include "capstan/data/parquet/codecs.h"
#include "capstan/data/parquet/column_reader.h"
#include "capstan/data/parquet/ranged_file.h"

namespace capstan::parquet {
namespace {

std::string TextAt(const Column& column, const Values& values, size_t value) {
  if (!values.texts.empty()) return std::string(values.texts[value]);
  const int64_t integer = values.integers[value];
  if (column.physical == Physical::kBoolean) return std::string(CellText(integer != 0).view());
  if (column.is_unsigned) return std::string(CellText(static_cast<uint64_t>(integer)).view());
  return std::string(CellText(integer).view());
}

absl::Status CheckReadable(const ParquetFile& file, const Column& column, const Chunk& chunk) {
  const std::string why_not =
      chunk.unreadable.empty() ? WhyUnsupportedCodec(chunk.codec) : chunk.unreadable;
  if (why_not.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file.info.path, ": column ", Quote(column.name), " ", why_not));
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FirstTexts(const Source& source, const ParquetFile& file,
                                                    uint32_t column, uint64_t rows, size_t most) {
  const Column& about = file.metadata.columns[column];
  RangedFile ranged(source, file.info);
  std::vector<std::string> texts;
  for (const RowGroup& group : file.metadata.row_groups) {
    const Chunk& chunk = group.chunks[about.leaf];
    CAPSTAN_RETURN_IF_ERROR(CheckReadable(file, about, chunk));
    ColumnReader reader(about, chunk, ranged);
    const uint64_t here = std::min(rows, group.rows);
    rows -= here;
    for (uint64_t left = here; left > 0 && texts.size() < most;) {
      CAPSTAN_ASSIGN_OR_RETURN(const Cells* const cells, reader.Next(left));
      left -= cells->rows();
      const Values& values = cells->dictionary != nullptr ? *cells->dictionary : cells->values;
      const size_t count = cells->dictionary != nullptr ? cells->places.size() : values.size();
      for (size_t i = 0; i < count && texts.size() < most; ++i) {
        std::string text =
            TextAt(about, values, cells->dictionary != nullptr ? cells->places[i] : i);
        if (text.empty() || std::find(texts.begin(), texts.end(), text) != texts.end()) continue;
        texts.push_back(std::move(text));
      }
    }
  }
  return texts;
}

}  // namespace capstan::parquet
