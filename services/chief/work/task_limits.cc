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
  return std::min(range.end() - range.begin(), kMost);
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

uint64_t MostBatches(const v1::Task& task, uint64_t batch_size) {
  return MostRecords(task) / std::max<uint64_t>(batch_size, 1) + 1;
}

absl::Status CheckNumbers(const v1::Task& task, uint64_t batch_size,
                          const v1::LeaseReport& report) {
  const uint64_t records = MostRecords(task);
  const uint64_t batches = MostBatches(task, batch_size);
  absl::Status status = Check("batches", report.batches_done(), batches);
  status.Update(Check("batches in all", report.total_batches(), batches));
  status.Update(Check("examples", report.examples(), records));
  status.Update(Check("examples in all", report.total_examples(), records));
  status.Update(Check("bad records", report.bad_records(), records));
  return status;
}

absl::Status CheckNumbers(const v1::Task& task, uint64_t batch_size, const v1::LaneTaskDone& done) {
  const uint64_t records = MostRecords(task);
  absl::Status status = Check("batches", done.batches(), MostBatches(task, batch_size));
  status.Update(Check("examples", done.examples(), records));
  status.Update(Check("bad records", done.bad_records(), records));
  return status;
}

}  // namespace capstan::chief
