#include "capstan/data/tasks/one_label.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "capstan/base/absl_view.h"
#include "capstan/base/status.h"
#include "capstan/config/data_labels.h"
#include "capstan/config/spelling.h"
#include "capstan/data/formats/cells.h"
#include "capstan/data/formats/compression.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/line_reader.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/parquet/column_texts.h"
#include "capstan/data/parquet/parquet_file.h"
#include "capstan/data/parquet/record_columns.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

constexpr uint64_t kFewestRecords = 200;  // Fewer records may all have one label by chance.
constexpr size_t kNamedTexts = 5;
// The most lines of the first file that are read to find enough labels.
constexpr uint64_t kMostLines = 100000;

// Returns the text of a line's label; empty if the line has none.
std::string LabelOf(std::string_view line, uint32_t column, CellScanner& scanner) {
  scanner.Begin(line);
  std::string_view cell;
  for (uint32_t i = 0; i <= column; ++i) {
    if (!scanner.Next(cell)) return "";
  }
  return std::string(Trim(cell));
}

absl::StatusOr<std::vector<std::string>> ParquetLabelTexts(const Source& source,
                                                           const v1::DataSpec& data,
                                                           const std::string& path, size_t label) {
  CAPSTAN_ASSIGN_OR_RETURN(const parquet::ParquetFile file, parquet::OpenParquetFile(source, path));
  const LabelRule labels(data, v1::LOSS_LOGISTIC, /*classes=*/1);
  std::vector<parquet::WantedColumn> wanted = parquet::WantedColumns(data, labels);
  std::erase_if(wanted, [label](const auto& column) {
    return !column.rule.is_label() || column.place != label;
  });
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<uint32_t> places,
                           parquet::FindColumns(wanted, data, /*labels_ignored=*/false, file));
  return parquet::FirstTexts(source, file, places.front(), kMostLines, kNamedTexts);
}

// Returns the first distinct texts of the label with this index, in the order of the file.
absl::StatusOr<std::vector<std::string>> LabelTexts(const Source& source, const v1::DataSpec& data,
                                                    const std::string& file, size_t label) {
  if (data.format() == v1::DATA_FORMAT_PARQUET) return ParquetLabelTexts(source, data, file, label);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents, OpenContents(source, file));
  LineReader lines(file, std::move(contents), 0);
  CellScanner scanner(data.format());
  std::vector<std::string> texts;
  std::string_view line;
  const uint32_t column = LabelsOf(data)[label].column();
  if (data.header()) (void)lines.Next(line);
  for (uint64_t i = 0; i < kMostLines && texts.size() < kNamedTexts && lines.Next(line); ++i) {
    std::string text = LabelOf(line, column, scanner);
    if (text.empty() || std::find(texts.begin(), texts.end(), text) != texts.end()) continue;
    texts.push_back(std::move(text));
  }
  CAPSTAN_RETURN_IF_ERROR(lines.status());
  return texts;
}

template <typename Texts>
std::string InQuotes(const Texts& texts) {
  return absl::StrJoin(texts, ", ", [](std::string* out, const std::string& text) {
    absl::StrAppend(out, Quote(text));
  });
}

absl::StatusOr<std::string> NonePositive(const Source& source, const v1::DataSpec& data,
                                         const std::string& file, size_t label) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<std::string> texts,
                           LabelTexts(source, data, file, label));
  const std::string name = LabelsOf(data)[label].name();
  std::string what = absl::StrCat("have a label ", name, name.empty() ? "" : " that is one ",
                                  "of data.schema.positive (", InQuotes(data.positive_labels()),
                                  "), so they all count as 0");
  if (texts.empty()) return what;
  absl::StrAppend(&what, "; ", file, " begins with the labels ", InQuotes(texts));
  const std::vector<absl::string_view> names(texts.begin(), texts.end());
  const absl::string_view meant = Nearest(data.positive_labels(0), names);
  if (!meant.empty()) {
    absl::StrAppend(&what, "; did you mean ", Quote({meant.data(), meant.size()}), "?");
  }
  return what;
}

// Returns the warning about the label with this index; empty if there is none.
absl::StatusOr<std::string> WarningOf(const Source& source, const v1::DataSpec& data,
                                      const LabelOrder& order, const TaskMix& mix, size_t label) {
  const bool texts = !data.positive_labels().empty() && order.only == 0.0F;
  if (!order.classes || !order.only || (!texts && order.records < kFewestRecords)) return "";
  if (texts) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string none,
                             NonePositive(source, data, mix.ranges()[0].file(), label));
    return absl::StrCat("none of the ", order.records, " training records looked at ", none);
  }
  const std::string name = LabelsOf(data)[label].name();
  std::string what =
      absl::StrCat("all of the ", order.records, " training records looked at have the label ",
                   name, name.empty() ? "" : " ", *order.only);
  if (data.binarize_label()) {
    absl::StrAppend(&what, ", with data.label_threshold: ", data.label_threshold());
  }
  return what;
}

}  // namespace

absl::StatusOr<std::string> OneLabelWarning(const Source& source, const v1::DataSpec& data,
                                            std::span<const LabelOrder> orders,
                                            const TaskMix& mix) {
  std::string what;
  for (size_t label = 0; label < orders.size(); ++label) {
    CAPSTAN_ASSIGN_OR_RETURN(const std::string one,
                             WarningOf(source, data, orders[label], mix, label));
    absl::StrAppend(&what, what.empty() || one.empty() ? "" : "; ", one);
  }
  if (what.empty() || mix.mixed_records() == mix.ranges().expected_records()) return what;
  return absl::StrCat(what,
                      "; these are the first ones of large compressed files, whose tasks are not "
                      "mixed with each other: if they lie in the order of their labels, decompress "
                      "them, or shuffle the records");
}

}  // namespace capstan
