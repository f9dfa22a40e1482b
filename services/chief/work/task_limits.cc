#include "chief/work/task_limits.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

namespace capstan::chief {
namespace {

constexpr uint64_t kEndNotKnown = std::numeric_limits<uint64_t>::max();
constexpr uint64_t kMost = uint64_t{1} << 40;

template <typename Range>
uint64_t RecordsOf(const Range& range) {
  if (range.end() == kEndNotKnown || range.end() <= range.begin()) return kMost;
  // The last line of a file may end without a line break.
  return std::min(range.end() - range.begin() + 1, kMost);
}

absl::Status Check(const char* what, uint64_t number, uint64_t most) {
  if (number <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a worker reports ", number, " ", what, " of a task that has ", most,
                   " at the most; its reports are not to be believed"));
}

}  // namespace

uint64_t MostRecords(const v1::Task& task) {
  if (task.pieces().empty()) return RecordsOf(task);
  uint64_t records = 0;
  for (const v1::TaskPiece& piece : task.pieces()) {
    records = std::min(records + RecordsOf(piece), kMost);
  }
  return records;
}

absl::Status CheckNumbers(const v1::Task& task, const v1::LeaseReport& report) {
  const uint64_t records = MostRecords(task);
  absl::Status status = Check("batches", report.batches_done(), records + 1);
  status.Update(Check("batches in all", report.total_batches(), records + 1));
  status.Update(Check("examples", report.examples(), records));
  status.Update(Check("examples in all", report.total_examples(), records));
  status.Update(Check("bad records", report.bad_records(), records));
  return status;
}

absl::Status CheckNumbers(const v1::Task& task, const v1::LaneTaskDone& done) {
  const uint64_t records = MostRecords(task);
  absl::Status status = Check("batches", done.batches(), records + 1);
  status.Update(Check("examples", done.examples(), records));
  status.Update(Check("bad records", done.bad_records(), records));
  return status;
}

}  // namespace capstan::chief
