#include <algorithm>

#include "capstan/base/status.h"
#include "capstan/data/bad_records.h"
#include "capstan/data/tasks.h"

namespace capstan {
namespace {

constexpr int kFiles = 16;
constexpr uint64_t kBytes = uint64_t{64} << 10;
constexpr uint64_t kRecords = 1000;

}  // namespace

absl::Status CheckFirstRecords(const Source& source, const ReaderOptions& reader,
                               std::span<const v1::Task> tasks) {
  BadRecords bad_records(reader.data.max_bad_records());
  TaskReader task_reader(reader, source, bad_records);
  int files = 0;
  for (const v1::Task& task : tasks) {
    if (task.begin() != 0) continue;
    if (++files > kFiles) break;
    v1::Task front = task;
    front.set_end(std::min(task.end(), task.by_records() ? kRecords : kBytes));
    CAPSTAN_RETURN_IF_ERROR(task_reader.Read({.task = front, .evaluation = true}).status());
  }
  return absl::OkStatus();
}

}  // namespace capstan
