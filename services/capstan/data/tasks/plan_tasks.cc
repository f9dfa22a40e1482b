#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/divide.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/tasks/extents.h"
#include "capstan/data/tasks/task_size.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

constexpr double kEstimateMargin = 1.5;
constexpr uint64_t kMostRanges = uint64_t{1} << 26;

// Returns the number of records of a range, for a split of `total` records: whole batches, at least
// one.
uint64_t RangeRecords(const v1::DataSpec& data, uint64_t total, uint64_t batch) {
  const uint64_t wished = TaskRecords(data, total);
  if (data.task_records() > 0) return wished;
  return std::max(wished / batch, uint64_t{1}) * batch;
}

// Returns the size in bytes of a range of text, for a split of `total` bytes with `record_bytes`
// per record: at least a batch.
uint64_t RangeBytes(const v1::DataSpec& data, uint64_t total, double record_bytes, uint64_t batch) {
  const uint64_t wished = TaskBytes(data, total);
  if (data.task_bytes() > 0) return wished;
  const uint64_t batch_bytes = static_cast<uint64_t>(record_bytes * static_cast<double>(batch)) + 1;
  return std::max(wished, batch_bytes);
}

absl::Status CheckRangeCount(const Extent& extent, uint64_t count) {
  if (count <= kMostRanges) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(extent.file, ": makes ", count, " tasks, at most ",
                                                 kMostRanges, " are possible; make tasks larger"));
}

v1::TaskRun& AddRun(const Extent& extent, std::vector<v1::TaskRun>& runs) {
  v1::TaskRun& run = runs.emplace_back();
  run.set_file(extent.file);
  run.set_labels_file(extent.labels_file);
  run.set_file_records(extent.file_records);
  run.set_by_records(extent.by_records);
  return run;
}

void CutBytes(const Extent& extent, uint64_t size, std::vector<v1::TaskRun>& runs) {
  if (extent.length == 0) return;
  v1::TaskRun& run = AddRun(extent, runs);
  run.set_end(extent.length);
  run.set_ranges(DivideUp(extent.length, size));
  run.set_record_bytes(extent.record_bytes);
  if (run.ranges() == 1) run.set_records(static_cast<uint64_t>(std::llround(extent.records())));
}

void CutRecords(const Extent& extent, uint64_t size, std::vector<v1::TaskRun>& runs) {
  const uint64_t laid =
      extent.estimated ? static_cast<uint64_t>(extent.records() * kEstimateMargin) : extent.length;
  if (laid == 0) return;
  v1::TaskRun& run = AddRun(extent, runs);
  run.set_end(laid);
  run.set_open(extent.estimated);
  run.set_ranges(DivideUp(laid, size));
  run.set_step(size);
  run.set_records(extent.length);
}

void CutRange(const Extent& extent, uint64_t begin, uint64_t end, uint64_t size,
              std::vector<v1::TaskRun>& runs) {
  if (begin == end) return;
  v1::TaskRun& run = AddRun(extent, runs);
  run.set_begin(begin);
  run.set_end(end);
  run.set_ranges(DivideUp(end - begin, size));
  run.set_step(size);
  run.set_records(run.ranges() == 1 ? end - begin : end);
}

// Neighbouring row groups that together fit into a task make one range, and a row group that does
// not fit is cut. So a task has to skip rows before its own in at most one row group.
void CutGroups(const Extent& extent, uint64_t size, std::vector<v1::TaskRun>& runs) {
  uint64_t begin = 0;
  uint64_t end = 0;  // The end of the row groups, beginning at `begin`, of one task.
  for (const uint64_t group_end : extent.group_ends) {
    if (group_end - begin > size) {
      CutRange(extent, begin, end, size, runs);
      begin = end;
    }
    end = group_end;
  }
  CutRange(extent, begin, end, size, runs);
}

absl::StatusOr<TaskRanges> Cut(const v1::DataSpec& data, const Extents& extents, uint64_t batch) {
  uint64_t bytes = 0;
  uint64_t records = 0;
  double text_records = 0;
  for (const Extent& extent : extents.all) {
    (extent.by_records ? records : bytes) += extent.length;
    if (!extent.by_records) text_records += extent.records();
  }
  const double record_bytes = text_records > 0 ? static_cast<double>(bytes) / text_records : 0;
  std::vector<v1::TaskRun> runs;
  uint64_t ranges = 0;
  for (const Extent& extent : extents.all) {
    const uint64_t size = extent.by_records ? RangeRecords(data, records, batch)
                                            : RangeBytes(data, bytes, record_bytes, batch);
    ranges += extent.length / size + extent.group_ends.size() + 1;
    CAPSTAN_RETURN_IF_ERROR(CheckRangeCount(extent, ranges));
    const auto cut = !extent.group_ends.empty() ? CutGroups
                     : extent.by_records        ? CutRecords
                                                : CutBytes;
    cut(extent, size, runs);
  }
  return TaskRanges(std::move(runs), extents.listing);
}

// Returns whether the ranges cover exactly these files, all plain, with these lengths.
bool CoverBytesOf(const std::vector<FileInfo>& files, const TaskRanges& ranges) {
  const std::span<const v1::TaskRun> runs = ranges.runs();
  size_t next = 0;
  for (const FileInfo& file : files) {
    uint64_t end = 0;
    while (next < runs.size() && runs[next].file() == file.path && end < file.bytes) {
      const v1::TaskRun& run = runs[next++];
      if (run.by_records() || run.begin() != end) return false;
      end = run.end();
    }
    if (end != file.bytes) return false;
  }
  return next == runs.size();
}

}  // namespace

absl::StatusOr<TaskRanges> PlanTasks(const Source& source, const v1::DataSpec& data,
                                     const PlanOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(const Extents extents, FindExtents(source, data, options));
  CAPSTAN_ASSIGN_OR_RETURN(TaskRanges ranges, Cut(data, extents, std::max(1u, options.batch_size)));
  const bool named = data.format() != v1::DATA_FORMAT_SYNTHETIC && !extents.all.empty();
  if ((options.split == Split::kTrain || named) && ranges.expected_records() == 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        extents.all.empty() ? "data" : extents.all.front().file, ": there are no records",
        extents.all.size() > 1 ? ", nor in the other files" : ""));
  }
  return ranges;
}

absl::StatusOr<bool> StillFit(const Source& source, const v1::DataSpec& data, Split split,
                              const TaskRanges& ranges) {
  if (ranges.listing() == 0 && !IsTextFormat(data.format())) return false;
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, ListFiles(source, data, split));
  return ranges.listing() == 0 ? CoverBytesOf(files, ranges) : ranges.listing() == ListingOf(files);
}

}  // namespace capstan
