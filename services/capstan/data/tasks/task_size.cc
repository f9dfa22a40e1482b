#include "capstan/data/tasks/task_size.h"

#include <algorithm>

namespace capstan {
namespace {

constexpr uint64_t kFewestTasks = 8;
constexpr uint64_t kMostTaskBytes = uint64_t{8} << 20;  // Bytes of text.
constexpr uint64_t kMostTaskRecords = uint64_t{1} << 16;
constexpr uint64_t kMostTaskMemory = uint64_t{32} << 20;  // Bytes of records after parsing.

uint64_t ShareOf(uint64_t total) { return (total + kFewestTasks - 1) / kFewestTasks; }

}  // namespace

uint64_t TaskBytes(const v1::DataSpec& data, uint64_t total) {
  if (data.task_bytes() > 0) return data.task_bytes();
  return std::min(kMostTaskBytes, ShareOf(total));
}

uint64_t TaskRecords(const v1::DataSpec& data, uint64_t total) {
  if (data.task_records() > 0) return data.task_records();
  const uint64_t record_memory =
      16 + uint64_t{12} * (data.fields() + static_cast<uint64_t>(data.features_size())) +
      uint64_t{4} * data.dense_width();
  const uint64_t fitting = std::max<uint64_t>(1, kMostTaskMemory / record_memory);
  return std::min({kMostTaskRecords, fitting, ShareOf(total)});
}

}  // namespace capstan
