#include "capstan/data/tasks/text_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

bool IsBlank(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

LabelRule LabelsOf(const ReaderOptions& options) {
  return LabelRule(options.data, options.loss, options.classes, options.labels);
}

}  // namespace

TextReader::TextReader(const ReaderOptions& options, const Source& source, BadRecords& bad_records)
    : options_(options),
      source_(source),
      bad_records_(bad_records),
      parser_(NewRecordParser(options.data, LabelsOf(options), options.vocabularies)),
      numbers_(source) {}

absl::Status TextReader::Read(const v1::Task& range, OpenAhead& streams, Batch& records) {
  if (range.by_records()) return ReadRecords(range, records);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, streams.Next());
  return ReadBytes(range, std::move(stream), records);
}

absl::Status TextReader::ReadBytes(const v1::Task& task, std::unique_ptr<ByteStream> stream,
                                   Batch& records) {
  LineReader lines(task.file(), std::move(stream), OpenAhead::FirstByte(task));
  std::string_view line;
  if (task.begin() > 0) lines.Next(line);
  if (task.begin() == 0) CAPSTAN_RETURN_IF_ERROR(TakeHeader(task.file(), lines));
  const uint64_t begin = lines.next_offset();
  std::optional<absl::StatusOr<std::optional<uint64_t>>> first;  // The number of the first line.
  // The index of the present line among the lines of the task.
  uint64_t place = 0;
  const auto name = [&]() -> absl::StatusOr<LinePlace> {
    if (!first) first = numbers_.At(task.file(), begin);
    CAPSTAN_ASSIGN_OR_RETURN(std::optional<uint64_t> number, *first);
    if (number) *number += place;
    return LinePlace{task.file(), number, lines.line_offset()};
  };
  for (; lines.next_offset() < task.end() && lines.Next(line); ++place) {
    CAPSTAN_RETURN_IF_ERROR(Take(task.file(), line, name, records));
  }
  CAPSTAN_RETURN_IF_ERROR(lines.status());
  if (lines.next_offset() >= task.end() || task.end() == kToTheEnd) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(task.file(), ": there is nothing at byte ", lines.next_offset(), ", and byte ",
                   task.end(), " was there when the job was planned: it has become shorter"));
}

absl::Status TextReader::ReadRecords(const v1::Task& task, Batch& records) {
  CAPSTAN_RETURN_IF_ERROR(Seek(task));
  std::string_view line;
  while (open_.next < task.end() && NextNumbered(line)) {
    const uint64_t number = open_.next + options_.data.header();
    const auto name = [&]() -> absl::StatusOr<LinePlace> { return {{task.file(), number}}; };
    CAPSTAN_RETURN_IF_ERROR(Take(task.file(), line, name, records));
  }
  return open_.lines->status();
}

// Moves to record task.begin of the file, or to the file's end if it has fewer records.
absl::Status TextReader::Seek(const v1::Task& task) {
  std::string_view line;
  const bool usable = open_.lines != nullptr && open_.file == task.file() &&
                      open_.next <= task.begin() && open_.lines->status().ok() &&
                      !restarts_.IsNearer(task.file(), task.begin(), open_.lines->next_offset());
  if (!usable) {
    open_ = {};
    CAPSTAN_ASSIGN_OR_RETURN(RestartPoints::Start start,
                             restarts_.Open(source_, task.file(), task.begin()));
    open_ = {task.file(), start.record,
             std::make_unique<LineReader>(task.file(), std::move(start.contents), start.offset)};
    if (start.offset == 0) CAPSTAN_RETURN_IF_ERROR(TakeHeader(task.file(), *open_.lines));
  }
  while (open_.next < task.begin() && NextNumbered(line)) {
  }
  return open_.lines->status();
}

// Sets `line` to the next line of the open file. Returns false at its end and after an error.
bool TextReader::NextNumbered(std::string_view& line) {
  restarts_.Mark(open_.next, open_.lines->next_offset());
  if (!open_.lines->Next(line)) return false;
  ++open_.next;
  return true;
}

// Reads and checks the header line, if the job says that there is one.
absl::Status TextReader::TakeHeader(const std::string& file, LineReader& lines) {
  std::string_view line;
  std::string error;
  if (!options_.data.header() || !lines.Next(line)) return lines.status();
  if (parser_->CheckHeader(line, error)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file, ":1: ", error));
}

template <typename Name>
absl::Status TextReader::Take(const std::string& file, std::string_view line, Name name,
                              Batch& records) {
  std::string error;
  if (parser_->Parse(line, records, error)) {
    if (records.keys.size() <= std::numeric_limits<uint32_t>::max()) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat(file, ": a task of more than 2^32 keys; make tasks smaller"));
  }
  if (IsBlank(line)) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(const LinePlace place, name());
  return Reject(place, error);
}

absl::Status TextReader::Reject(const LinePlace& place, const std::string& error) {
  const std::string where = place.number
                                ? absl::StrCat(place.file, ":", *place.number)
                                : absl::StrCat(place.file, ": the line at byte ", place.byte);
  std::string message = absl::StrCat(where, ": ", error);
  if (place.number == 1 && options_.data.columns() > 0 && !options_.data.header()) {
    absl::StrAppend(&message, " (if this is a line of names: data.header: true)");
  }
  return bad_records_.Report(message);
}

}  // namespace capstan
