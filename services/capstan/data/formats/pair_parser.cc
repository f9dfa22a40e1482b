#include "absl/strings/str_cat.h"
#include "capstan/config/data_labels.h"
#include "capstan/data/formats/numbers.h"
#include "capstan/data/formats/quote.h"
#include "capstan/data/formats/record_parser.h"

namespace capstan {
namespace {

constexpr bool IsBlank(char c) { return c == ' ' || c == '\t'; }

// Removes the next token from `rest` and returns it. Returns an empty one at the end and before a
// comment.
std::string_view NextToken(std::string_view& rest) {
  while (!rest.empty() && IsBlank(rest.front())) rest.remove_prefix(1);
  if (rest.starts_with('#')) rest = {};
  size_t size = 0;
  while (size < rest.size() && !IsBlank(rest[size])) ++size;
  std::string_view token = rest.substr(0, size);
  rest.remove_prefix(size);
  return token;
}

class PairParser : public RecordParser {
 public:
  PairParser(const v1::DataSpec& data, const LabelRule& labels)
      : labels_(labels), fields_(data.fields()) {}

  bool Parse(std::string_view line, Batch& records, std::string& error) override {
    const size_t keys = records.keys.size();
    const size_t values = records.values.size();
    float label = 0;
    if (!ParseLabel(line, label, error) || !ParsePairs(line, records, error) ||
        !CheckCount(records.keys.size() - keys, error)) {
      records.keys.resize(keys);
      records.values.resize(values);
      return false;
    }
    records.labels.push_back(label);
    records.offsets.push_back(static_cast<uint32_t>(records.keys.size()));
    return true;
  }

 private:
  bool ParseLabel(std::string_view& line, float& label, std::string& error) const {
    std::string_view rest = line;
    const std::string_view first = NextToken(rest);
    if (labels_.ignored() && first.find(':') != std::string_view::npos) return true;
    line = rest;
    return labels_.Parse(first, label, error);
  }

  static bool ParsePairs(std::string_view line, Batch& records, std::string& error) {
    for (std::string_view pair = NextToken(line); !pair.empty(); pair = NextToken(line)) {
      const size_t colon = pair.find(':');
      uint64_t index;
      float value;
      if (colon == std::string_view::npos || !ParseIndex(pair.substr(0, colon), index) ||
          !ParseFloat(pair.substr(colon + 1), value)) {
        error = absl::StrCat(Quote(pair), " is not index:value");
        return false;
      }
      // Values are stored beginning with the first one that is not 1.
      if (value != 1.0f || !records.values.empty()) {
        records.values.resize(records.keys.size(), 1.0f);
        records.values.push_back(value);
      }
      records.keys.push_back(index);
    }
    return true;
  }

  bool CheckCount(size_t count, std::string& error) const {
    if (fields_ == 0 || count == fields_) return true;
    error = absl::StrCat(count, " features, expected ", fields_);
    return false;
  }

  const LabelRule labels_;
  const size_t fields_;
};

}  // namespace

std::unique_ptr<RecordParser> NewPairParser(const v1::DataSpec& data, const LabelRule& labels) {
  return std::make_unique<PairParser>(data, labels);
}

Batch NoRecords(const v1::DataSpec& data) {
  Batch records;
  records.offsets.push_back(0);
  records.dense_width = data.dense_width();
  records.label_count = LabelCountOf(data);
  return records;
}

bool IsTextFormat(v1::DataFormat format) {
  return format == v1::DATA_FORMAT_CSV || format == v1::DATA_FORMAT_TSV ||
         format == v1::DATA_FORMAT_LIBSVM || format == v1::DATA_FORMAT_LIBFM;
}

std::unique_ptr<RecordParser> NewRecordParser(const v1::DataSpec& data, const LabelRule& labels,
                                              const Vocabularies& vocabularies) {
  if (data.format() == v1::DATA_FORMAT_LIBSVM || data.format() == v1::DATA_FORMAT_LIBFM) {
    return NewPairParser(data, labels);
  }
  return NewCellParser(data, labels, vocabularies);
}

}  // namespace capstan
