// Reads the records of a range of a text file.
#ifndef CAPSTAN_DATA_TASKS_TEXT_READER_H_
#define CAPSTAN_DATA_TASKS_TEXT_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "capstan/data/formats/bad_records.h"
#include "capstan/data/formats/batch.h"
#include "capstan/data/formats/line_numbers.h"
#include "capstan/data/formats/line_reader.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/formats/restart_points.h"
#include "capstan/data/formats/source.h"
#include "capstan/data/tasks/open_ahead.h"
#include "capstan/data/tasks/task_reader.h"

namespace capstan {

// Thread-compatible.
class TextReader {
 public:
  // `options`, `source` and `bad_records` must outlive this object.
  TextReader(const ReaderOptions& options, const Source& source, BadRecords& bad_records);

  // Appends the records of `range` to `records`. A range of bytes takes its stream from `streams`,
  // whose next stream must be that of this range.
  absl::Status Read(const v1::Task& range, OpenAhead& streams, Batch& records);

 private:
  // The lines of a file in the order of their numbers; kept open between tasks.
  struct Numbered {
    std::string file;
    // The number of the next record, from 0, not counting the header.
    uint64_t next = 0;
    std::unique_ptr<LineReader> lines;
  };

  // Where a line is: its number or, if that is not known, the byte at which it begins.
  struct LinePlace {
    std::string file;
    std::optional<uint64_t> number;
    uint64_t byte = 0;
  };

  absl::Status ReadBytes(const v1::Task& task, std::unique_ptr<ByteStream> stream, Batch& records);
  absl::Status ReadRecords(const v1::Task& task, Batch& records);
  absl::Status Seek(const v1::Task& task);
  bool NextNumbered(std::string_view& line);
  absl::Status TakeHeader(const std::string& file, LineReader& lines);
  // Parses a line; `name` returns where it is, and is called only for a bad one.
  template <typename Name>
  absl::Status Take(const std::string& file, std::string_view line, Name name, Batch& records);
  absl::Status Reject(const LinePlace& place, const std::string& error);

  const ReaderOptions& options_;
  const Source& source_;
  BadRecords& bad_records_;
  const std::unique_ptr<RecordParser> parser_;
  LineNumbers numbers_;
  RestartPoints restarts_;
  Numbered open_;
};

}  // namespace capstan

#endif  // CAPSTAN_DATA_TASKS_TEXT_READER_H_
