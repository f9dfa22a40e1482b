#include "capstan/data/tasks/sample_reader.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/compression.h"
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
    absl::StatusOr<bool> more = open_.samples->Next(sample_);
    if (!more.ok()) open_ = {};
    CAPSTAN_RETURN_IF_ERROR(more.status());
    if (!*more) return absl::OkStatus();
    ++open_.next;
    CAPSTAN_RETURN_IF_ERROR(intake_.Take(task.file(), sample_, records, images));
  }
  return absl::OkStatus();
}

// Leaves the file at record task.begin, or at its end.
absl::Status SampleReader::Seek(const v1::Task& task) {
  const bool usable =
      open_.samples != nullptr && open_.file == task.file() && open_.next <= task.begin();
  if (!usable) {
    open_ = {};
    CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> contents,
                             OpenContents(source_, task.file()));
    open_ = {task.file(), 0, NewSampleStream(options_.data, std::move(contents), {})};
  }
  while (open_.next < task.begin()) {
    absl::StatusOr<bool> more = open_.samples->Next(sample_);
    if (!more.ok()) open_ = {};
    CAPSTAN_RETURN_IF_ERROR(more.status());
    if (!*more) return absl::OkStatus();
    ++open_.next;
  }
  return absl::OkStatus();
}

}  // namespace capstan
