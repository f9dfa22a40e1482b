#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/formats/record_parser.h"
#include "capstan/data/tasks/extents.h"
#include "capstan/data/tasks/task_size.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

constexpr double kEstimateMargin = 1.5;
constexpr uint64_t kMostTasks = uint64_t{1} << 20;

// Records of a range of `total` records: whole batches, at least one.
uint64_t RangeRecords(const v1::DataSpec& data, uint64_t total, uint64_t batch) {
  const uint64_t wished = TaskRecords(data, total);
  if (data.task_records() > 0) return wished;
  return std::max(wished / batch, uint64_t{1}) * batch;
}

// Bytes of a range of text of `total` bytes, of which a record takes `record_bytes`: at least a
// batch.
uint64_t RangeBytes(const v1::DataSpec& data, uint64_t total, double record_bytes, uint64_t batch) {
  const uint64_t wished = TaskBytes(data, total);
  if (data.task_bytes() > 0) return wished;
  const uint64_t batch_bytes = static_cast<uint64_t>(record_bytes * static_cast<double>(batch)) + 1;
  return std::max(wished, batch_bytes);
}

// Records that begin before byte `offset`, about.
uint64_t Records(const Extent& extent, uint64_t offset) {
  if (extent.record_bytes <= 0) return 0;
  return static_cast<uint64_t>(std::llround(static_cast<double>(offset) / extent.record_bytes));
}

absl::Status CheckTaskCount(const Extent& extent, uint64_t count) {
  if (count <= kMostTasks) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(extent.file, ": makes ", count, " tasks, at most ",
                                                 kMostTasks, " are possible; make tasks larger"));
}

void CutBytes(const Extent& extent, uint64_t size, std::vector<v1::Task>& tasks) {
  const uint64_t count = (extent.length + size - 1) / size;
  for (uint64_t i = 0; i < count; ++i) {
    v1::Task& task = tasks.emplace_back();
    task.set_file(extent.file);
    task.set_begin(i * (extent.length / count) + std::min(i, extent.length % count));
    task.set_end((i + 1) * (extent.length / count) + std::min(i + 1, extent.length % count));
    task.set_expected_records(Records(extent, task.end()) - Records(extent, task.begin()));
  }
}

void CutRecords(const Extent& extent, uint64_t size, std::vector<v1::Task>& tasks) {
  const uint64_t laid =
      extent.estimated ? static_cast<uint64_t>(extent.records() * kEstimateMargin) : extent.length;
  for (uint64_t begin = 0; begin < laid; begin += size) {
    const bool last = begin + size >= laid;
    v1::Task& task = tasks.emplace_back();
    task.set_file(extent.file);
    task.set_labels_file(extent.labels_file);
    task.set_by_records(true);
    task.set_begin(begin);
    task.set_end(last ? (extent.estimated ? kToTheEnd : laid) : begin + size);
    if (begin < extent.length) task.set_expected_records(std::min(size, extent.length - begin));
  }
}

void CutRange(const Extent& extent, uint64_t begin, uint64_t end, uint64_t size,
              std::vector<v1::Task>& tasks) {
  for (; begin < end; begin += std::min(size, end - begin)) {
    v1::Task& task = tasks.emplace_back();
    task.set_file(extent.file);
    task.set_by_records(true);
    task.set_begin(begin);
    task.set_end(begin + std::min(size, end - begin));
    task.set_expected_records(task.end() - begin);
  }
}

// Row groups that fit into a task together are one, and one that does not fit is cut: so no task
// reads what lies before it in more than one row group.
void CutGroups(const Extent& extent, uint64_t size, std::vector<v1::Task>& tasks) {
  uint64_t begin = 0;
  uint64_t end = 0;  // Of the row groups from `begin` on that are one task.
  for (const uint64_t group_end : extent.group_ends) {
    if (group_end - begin > size) {
      CutRange(extent, begin, end, size, tasks);
      begin = end;
    }
    end = group_end;
  }
  CutRange(extent, begin, end, size, tasks);
}

absl::StatusOr<std::vector<v1::Task>> Cut(const v1::DataSpec& data,
                                          const std::vector<Extent>& extents, uint64_t batch) {
  uint64_t bytes = 0;
  uint64_t records = 0;
  double text_records = 0;
  for (const Extent& extent : extents) {
    (extent.by_records ? records : bytes) += extent.length;
    if (!extent.by_records) text_records += extent.records();
  }
  const double record_bytes = text_records > 0 ? static_cast<double>(bytes) / text_records : 0;
  std::vector<v1::Task> tasks;
  for (const Extent& extent : extents) {
    const uint64_t size = extent.by_records ? RangeRecords(data, records, batch)
                                            : RangeBytes(data, bytes, record_bytes, batch);
    const uint64_t count = extent.length / size + extent.group_ends.size();
    CAPSTAN_RETURN_IF_ERROR(CheckTaskCount(extent, tasks.size() + count));
    const auto cut = !extent.group_ends.empty() ? CutGroups
                     : extent.by_records        ? CutRecords
                                                : CutBytes;
    cut(extent, size, tasks);
  }
  for (size_t i = 0; i < tasks.size(); ++i) tasks[i].set_index(static_cast<uint32_t>(i));
  return tasks;
}

}  // namespace

absl::StatusOr<std::vector<v1::Task>> PlanTasks(const Source& source, const v1::DataSpec& data,
                                                const PlanOptions& options) {
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<Extent> extents, FindExtents(source, data, options));
  CAPSTAN_ASSIGN_OR_RETURN(std::vector<v1::Task> tasks,
                           Cut(data, extents, std::max(1u, options.batch_size)));
  const bool named = data.format() != v1::DATA_FORMAT_SYNTHETIC && !extents.empty();
  if ((options.split == Split::kTrain || named) && EstimateRecords(tasks) == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(extents.empty() ? "data" : extents.front().file, ": there are no records",
                     extents.size() > 1 ? ", nor in the other files" : ""));
  }
  return tasks;
}

absl::StatusOr<bool> StillFit(const Source& source, const v1::DataSpec& data, Split split,
                              std::span<const v1::Task> tasks) {
  if (!IsTextFormat(data.format())) return false;
  CAPSTAN_ASSIGN_OR_RETURN(const std::vector<FileInfo> files, ListFiles(source, data, split));
  size_t next = 0;
  for (const FileInfo& file : files) {
    uint64_t end = 0;
    while (next < tasks.size() && tasks[next].file() == file.path && end < file.bytes) {
      const v1::Task& task = tasks[next++];
      if (task.by_records() || task.begin() != end) return false;
      end = task.end();
    }
    if (end != file.bytes) return false;
  }
  return next == tasks.size();
}

uint64_t EstimateRecords(std::span<const v1::Task> tasks) {
  uint64_t records = 0;
  for (const v1::Task& task : tasks) records += task.expected_records();
  return records;
}

}  // namespace capstan
