#include "capstan/data/text_reader.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/compression.h"
#include "capstan/data/tasks.h"

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
      parser_(NewRecordParser(options.data, LabelsOf(options))) {}

absl::Status TextReader::Read(const v1::Task& task, Batch& records) {
  return task.by_records() ? ReadRecords(task, records) : ReadBytes(task, records);
}

absl::Status TextReader::ReadBytes(const v1::Task& task, Batch& records) {
  // From one byte earlier, so that a record that begins exactly at `begin` is seen to be ours.
  const uint64_t start = task.begin() > 0 ? task.begin() - 1 : 0;
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream,
                           source_.Open(task.file(), start, task.end()));
  LineReader lines(task.file(), std::move(stream), start);
  std::string_view line;
  if (task.begin() > 0 || options_.data.header()) lines.Next(line);
  while (lines.next_offset() < task.end() && lines.Next(line)) {
    CAPSTAN_RETURN_IF_ERROR(Take(
        task.file(), line,
        [&]() -> absl::StatusOr<uint64_t> {
          CAPSTAN_ASSIGN_OR_RETURN(uint64_t before,
                                   CountLines(source_, task.file(), lines.line_offset()));
          return before + 1;
        },
        records));
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
  while (open_.next < task.end() && open_.lines->Next(line)) {
    const uint64_t number = ++open_.next + options_.data.header();
    CAPSTAN_RETURN_IF_ERROR(Take(
        task.file(), line, [&]() -> absl::StatusOr<uint64_t> { return number; }, records));
  }
  return open_.lines->status();
}

// Leaves the file at record task.begin, or at its end.
absl::Status TextReader::Seek(const v1::Task& task) {
  std::string_view line;
  const bool usable = open_.lines != nullptr && open_.file == task.file() &&
                      open_.next <= task.begin() && open_.lines->status().ok();
  if (!usable) {
    open_ = {};
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents,
                             OpenContents(source_, task.file()));
    open_ = {task.file(), 0,
             std::make_unique<LineReader>(task.file(), std::move(contents), /*offset=*/0)};
    if (options_.data.header()) open_.lines->Next(line);
  }
  while (open_.next < task.begin() && open_.lines->Next(line)) ++open_.next;
  return open_.lines->status();
}

template <typename LineNumber>
absl::Status TextReader::Take(const std::string& file, std::string_view line, LineNumber number,
                              Batch& records) {
  std::string error;
  if (parser_->Parse(line, records, error)) {
    if (records.keys.size() <= std::numeric_limits<uint32_t>::max()) return absl::OkStatus();
    return absl::ResourceExhaustedError(
        absl::StrCat(file, ": a task of more than 2^32 keys; make tasks smaller"));
  }
  if (IsBlank(line)) return absl::OkStatus();
  CAPSTAN_ASSIGN_OR_RETURN(uint64_t line_number, number());
  return Reject(file, line_number, error);
}

absl::Status TextReader::Reject(const std::string& file, uint64_t line_number,
                                const std::string& error) {
  std::string place = absl::StrCat(file, ":", line_number);
  std::string message = absl::StrCat(place, ": ", error);
  if (line_number == 1 && options_.data.columns() > 0 && !options_.data.header()) {
    absl::StrAppend(&message, " (if this is a line of names: data.header: true)");
  }
  return bad_records_.Report(place, message);
}

absl::StatusOr<uint64_t> CountLines(const Source& source, const std::string& file,
                                    uint64_t offset) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, source.Open(file, 0, offset));
  std::vector<char> buffer(size_t{1} << 20);
  uint64_t lines = 0;
  while (offset > 0) {
    const size_t wanted = std::min<uint64_t>(offset, buffer.size());
    CAPSTAN_ASSIGN_OR_RETURN(size_t n, stream->Read(std::span(buffer).first(wanted)));
    if (n == 0) break;
    lines += static_cast<uint64_t>(
        std::count(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(n), '\n'));
    offset -= n;
  }
  return lines;
}

}  // namespace capstan
