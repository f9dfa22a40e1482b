#include "capstan/data/tasks/sample_reader.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {

SampleReader::SampleReader(const ReaderOptions& options, const Source& source, ImageIntake& intake)
    : options_(options), source_(source), intake_(intake) {}

absl::Status SampleReader::Read(const v1::Task& range, OpenAhead& streams, Batch& records,
                                TaskImages& images) {
  if (range.by_records()) return ReadRecords(range, records, images);
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> stream, streams.Next());
  return ReadBytes(range, std::move(stream), records, images);
}

absl::Status SampleReader::ReadBytes(const v1::Task& task, std::unique_ptr<ByteStream> stream,
                                     Batch& records, TaskImages& images) {
  const std::unique_ptr<SampleStream> samples = NewSampleStream(
      options_.data, std::move(stream), {OpenAhead::FirstByte(task), task.begin(), task.end()});
  while (true) {
    CAPSTAN_ASSIGN_OR_RETURN(const bool more, samples->Next(sample_));
    if (!more) break;
    CAPSTAN_RETURN_IF_ERROR(intake_.Take(task.file(), sample_, records, images));
  }
  if (samples->offset() >= task.end() || task.end() == kToTheEnd) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(task.file(), ": there is nothing at byte ", samples->offset(), ", and byte ",
                   task.end(), " was there when the job was planned: it has become shorter"));
}

absl::Status SampleReader::ReadRecords(const v1::Task& task, Batch& records, TaskImages& images) {
  CAPSTAN_RETURN_IF_ERROR(Seek(task));
  while (open_.next < task.end()) {
    CAPSTAN_ASSIGN_OR_RETURN(const bool more, NextNumbered());
    if (!more) return absl::OkStatus();
    CAPSTAN_RETURN_IF_ERROR(intake_.Take(task.file(), sample_, records, images));
  }
  return absl::OkStatus();
}

// Moves to record task.begin of the file, or to the file's end if it has fewer records.
absl::Status SampleReader::Seek(const v1::Task& task) {
  const bool usable = open_.samples != nullptr && open_.file == task.file() &&
                      open_.next <= task.begin() &&
                      !restarts_.IsNearer(task.file(), task.begin(), open_.samples->offset());
  if (!usable) {
    open_ = {};
    CAPSTAN_ASSIGN_OR_RETURN(RestartPoints::Start start,
                             restarts_.Open(source_, task.file(), task.begin()));
    const SampleRange range = {
        .first_byte = start.offset, .begin = start.offset, .at_sample = true};
    open_ = {task.file(), start.record,
             NewSampleStream(options_.data, std::move(start.contents), range)};
  }
  while (open_.next < task.begin()) {
    CAPSTAN_ASSIGN_OR_RETURN(const bool more, NextNumbered());
    if (!more) return absl::OkStatus();
  }
  return absl::OkStatus();
}

// Replaces sample_ by the next one of the open file. Returns false if there is none.
absl::StatusOr<bool> SampleReader::NextNumbered() {
  if (const std::optional<uint64_t> begin = open_.samples->next_begin()) {
    restarts_.Mark(open_.next, *begin);
  }
  const absl::StatusOr<bool> more = open_.samples->Next(sample_);
  if (!more.ok()) open_ = {};
  if (more.ok() && *more) ++open_.next;
  return more;
}

}  // namespace capstan
