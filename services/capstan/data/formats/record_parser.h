// One line of text -> one record.
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

  // Returns whether the line of names that a file begins with has those that the schema names where
  // the columns were found. False: `error` says which is another.
  virtual bool CheckHeader(std::string_view /*line*/, std::string& /*error*/) { return true; }

  // Appends the record of `line`, which is not blank, to `records`. False: the line is no such
  // record; `records` is as it was and `error` says what was expected. REQUIRES: `records` was made
  // by this parser, or is empty but for offsets = {0}.
  virtual bool Parse(std::string_view line, Batch& records, std::string& error) = 0;
};

// What the first record of these data is appended to.
Batch NoRecords(const v1::DataSpec& data);

// CSV, TSV. Cells of CSV may be quoted ("" within quotes is a quote); a record does not span lines.
// `data.columns` must be set. `vocabularies`: of data.features, where these have some.
std::unique_ptr<RecordParser> NewCellParser(const v1::DataSpec& data, const LabelRule& labels,
                                            const Vocabularies& vocabularies = {});

// LIBSVM, LIBFM: `label index:value index:value ... # comment`; the keys are the indices.
std::unique_ptr<RecordParser> NewPairParser(const v1::DataSpec& data, const LabelRule& labels);

// The parser of data.format. REQUIRES: it is one of the text formats.
std::unique_ptr<RecordParser> NewRecordParser(const v1::DataSpec& data, const LabelRule& labels,
                                              const Vocabularies& vocabularies);
bool IsTextFormat(v1::DataFormat format);

}  // namespace capstan

#endif  // CAPSTAN_DATA_FORMATS_RECORD_PARSER_H_
