// The records of a range of a text file.
#ifndef CAPSTAN_DATA_TEXT_READER_H_
#define CAPSTAN_DATA_TEXT_READER_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "capstan/data/bad_records.h"
#include "capstan/data/batch.h"
#include "capstan/data/line_reader.h"
#include "capstan/data/record_parser.h"
#include "capstan/data/source.h"
#include "capstan/data/task_reader.h"

namespace capstan {

// Thread-compatible.
class TextReader {
 public:
  // All must outlive this object.
  TextReader(const ReaderOptions& options, const Source& source, BadRecords& bad_records);

  // Appends the records of `task` to `records`.
  absl::Status Read(const v1::Task& task, Batch& records);

 private:
  // The lines of a file in order of their numbers; kept open between tasks.
  struct Numbered {
    std::string file;
    uint64_t next = 0;  // Record that comes next: line - 1, without the header.
    std::unique_ptr<LineReader> lines;
  };

  absl::Status ReadBytes(const v1::Task& task, Batch& records);
  absl::Status ReadRecords(const v1::Task& task, Batch& records);
  absl::Status Seek(const v1::Task& task);
  // Parses a line; `number` tells its line number, and is asked only for a bad one.
  template <typename LineNumber>
  absl::Status Take(const std::string& file, std::string_view line, LineNumber number,
                    Batch& records);
  absl::Status Reject(const std::string& file, uint64_t line_number, const std::string& error);

  const ReaderOptions& options_;
  const Source& source_;
  BadRecords& bad_records_;
  const std::unique_ptr<RecordParser> parser_;
  Numbered open_;
};

// Lines that begin before `offset`.
absl::StatusOr<uint64_t> CountLines(const Source& source, const std::string& file, uint64_t offset);

}  // namespace capstan

#endif  // CAPSTAN_DATA_TEXT_READER_H_
