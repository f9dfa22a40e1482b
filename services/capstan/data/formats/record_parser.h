// Parses one line of text into one record.
#ifndef CAPSTAN_DATA_FORMATS_RECORD_PARSER_H_
#define CAPSTAN_DATA_FORMATS_RECORD_PARSER_H_

#include <memory>
#include <string>
#include <string_view>

#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/labels.h"
#include "capstan/data/formats/vocabulary.h"
#include "capstan/v1/job.pb.h"

namespace capstan {

// Implementations are thread-compatible.
class RecordParser {
 public:
  virtual ~RecordParser() = default;

  // Checks a file's header line: each column that the schema names must be at the same position as
  // in the first training file. Returns false if one is not; `error` says which.
  virtual bool CheckHeader(std::string_view /*line*/, std::string& /*error*/) { return true; }

  // Appends the record of `line`, which is not blank, to `records`. Returns false if the line is
  // not a record: `records` is then unchanged, and `error` says what was expected. REQUIRES:
  // `records` was filled by this parser, or comes from NoRecords.
  virtual bool Parse(std::string_view line, Batch& records, std::string& error) = 0;
};

// Returns the empty batch to which the first record of `data` can be appended.
Batch NoRecords(const v1::DataSpec& data);

// CSV, TSV. Cells of CSV may be quoted ("" within quotes is a quote); a record does not span lines.
// `data.columns` must be set. `vocabularies` are those of data.features.
std::unique_ptr<RecordParser> NewCellParser(const v1::DataSpec& data, const LabelRule& labels,
                                            const Vocabularies& vocabularies = {});

// LIBSVM, LIBFM: `label index:value index:value ... # comment`; the keys are the indices.
std::unique_ptr<RecordParser> NewPairParser(const v1::DataSpec& data, const LabelRule& labels);

// Returns the parser of data.format. REQUIRES: IsTextFormat(data.format()).
std::unique_ptr<RecordParser> NewRecordParser(const v1::DataSpec& data, const LabelRule& labels,
                                              const Vocabularies& vocabularies);
bool IsTextFormat(v1::DataFormat format);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_RECORD_PARSER_H_
