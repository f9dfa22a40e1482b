#include "capstan/data/tasks/task_mix.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/numeric/int128.h"
#include "capstan/base/check.h"
#include "capstan/base/divide.h"
#include "capstan/base/hash.h"
#include "capstan/base/permutation.h"
#include "capstan/data/tasks/task_size.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

// Lengths stay below this, so that they can be multiplied by the number of pieces.
constexpr uint64_t kMostLength = uint64_t{1} << 55;
constexpr uint64_t kAssignStream = 0x7069'6563'6573'3031;  // "pieces01"

constexpr uint32_t kBlock = 8;  // How many ranges are searched linearly to find a piece.

uint64_t LengthOf(const TaskRange& range) { return range.end - range.begin; }

bool IsKnown(const TaskRange& range) {
  return range.expected_records > 0 && range.begin < range.end && range.end <= kMostLength;
}

// Estimates how many of the range's records are in its first `length` bytes or records. For a
// complete range by records the result is exact: a rounded share could be one less.
uint64_t RecordsBefore(const TaskRange& range, uint64_t length) {
  const absl::uint128 records = absl::uint128(range.expected_records) * length / LengthOf(range);
  return absl::Uint128Low64(records);
}

// Returns true if a file must be read from its beginning to reach any of its records.
bool IsReadFromFront(const v1::TaskRun& run, const v1::DataSpec& data) {
  return run.by_records() && data.format() != v1::DATA_FORMAT_SYNTHETIC &&
         data.format() != v1::DATA_FORMAT_FOLDER;
}

}  // namespace

TaskMix::Sizes TaskMix::TaskSizes(const TaskRanges& ranges, const v1::DataSpec& data) {
  Sizes total;
  Sizes longest;
  ranges.Visit(0, [&](uint32_t, const TaskRange& range) {
    if (!IsKnown(range)) return true;
    (range.by_records() ? total.records : total.bytes) += LengthOf(range);
    uint64_t& most = range.by_records() ? longest.records : longest.bytes;
    most = std::max(most, LengthOf(range));
    return true;
  });
  return {std::max(longest.bytes, TaskBytes(data, total.bytes)),
          std::max(longest.records, TaskRecords(data, total.records))};
}

TaskMix::TaskMix(TaskRanges ranges, const v1::DataSpec& data, uint64_t seed)
    : ranges_(std::move(ranges)),
      seed_(seed),
      parts_(data.shuffle() ? std::max(1u, data.pieces()) : 1) {
  if (parts_ == 1) return;
  task_ = TaskSizes(ranges_, data);
  too_often_ = ReadTooOften(data);
  uint64_t pieces = 0;
  ranges_.Visit(0, [&](uint32_t index, const TaskRange& range) {
    if (StaysWhole(range)) {
      whole_.push_back(index);
    } else {
      pieces += PiecesOf(range);
      mixed_records_ += range.expected_records;
    }
    if (index % kBlock == kBlock - 1 || index + 1 == ranges_.size()) pieces_to_.push_back(pieces);
    return true;
  });
  mixed_tasks_ = static_cast<uint32_t>(DivideUp(pieces, parts_));
}

std::vector<bool> TaskMix::ReadTooOften(const v1::DataSpec& data) const {
  // Pieces of each file that can only be read from its beginning.
  std::map<std::string, uint64_t> pieces;
  uint64_t all = 0;
  ranges_.Visit(0, [&](uint32_t, const TaskRange& range) {
    if (!IsKnown(range)) return true;
    all += PiecesOf(range);
    if (IsReadFromFront(*range.run, data)) pieces[range.file()] += PiecesOf(range);
    return true;
  });
  // Pieces of one task are read in one pass.
  const uint64_t tasks = DivideUp(all, parts_);
  std::vector<bool> too_often;
  for (const v1::TaskRun& run : ranges_.runs()) {
    const auto found = pieces.find(run.file());
    too_often.push_back(found != pieces.end() && std::min(found->second, tasks) > kMostPasses);
  }
  return too_often;
}

// Returns into how many pieces a range is cut: as many as its length requires, but no piece without
// a record.
uint64_t TaskMix::PiecesOf(const TaskRange& range) const {
  const uint64_t pieces = DivideUp(LengthOf(range) * parts_, task_.of(range));
  return std::min(pieces, range.expected_records);
}

bool TaskMix::StaysWhole(const TaskRange& range) const {
  return !IsKnown(range) || too_often_[static_cast<size_t>(range.run - ranges_.runs().data())];
}

uint32_t TaskMix::size() const {
  return parts_ == 1 ? ranges_.size() : mixed_tasks_ + static_cast<uint32_t>(whole_.size());
}

std::optional<TaskRange> TaskMix::WholeRange(uint32_t index) const {
  CAPSTAN_CHECK(index < size());
  if (parts_ == 1) return ranges_[index];
  if (index < mixed_tasks_) return std::nullopt;
  return ranges_[whole_[index - mixed_tasks_]];
}

TaskMix::Piece TaskMix::PieceAt(uint64_t number) const {
  const auto to = std::upper_bound(pieces_to_.begin(), pieces_to_.end(), number);
  const auto block = static_cast<size_t>(to - pieces_to_.begin());
  uint64_t rest = number - (block == 0 ? 0 : pieces_to_[block - 1]);
  Piece piece;
  ranges_.Visit(static_cast<uint32_t>(block) * kBlock, [&](uint32_t, const TaskRange& range) {
    const uint64_t count = StaysWhole(range) ? 0 : PiecesOf(range);
    if (rest >= count) {
      rest -= count;
      return true;
    }
    const auto cut = [&](uint64_t i) {
      return i * (LengthOf(range) / count) + std::min(i, LengthOf(range) % count);
    };
    piece = {.run = range.run,
             .begin = range.begin + cut(rest),
             .end = range.begin + cut(rest + 1),
             .records = RecordsBefore(range, cut(rest + 1)) - RecordsBefore(range, cut(rest))};
    return false;
  });
  return piece;
}

std::vector<TaskMix::Piece> TaskMix::PiecesOfTask(uint32_t epoch, uint32_t index) const {
  const uint64_t all = pieces_to_.back();
  std::vector<Piece> pieces;
  for (uint64_t part = 0; part < parts_; ++part) {
    const uint64_t first = part * all / parts_;
    const uint64_t end = (part + 1) * all / parts_;
    // A part may have one piece fewer than there are tasks; then one task has no piece of it.
    const Permutation assignment(mixed_tasks_, seed_ ^ kAssignStream, uint64_t{epoch} << 32 | part);
    const uint64_t drawn = first + assignment(index);
    if (drawn < end) pieces.push_back(PieceAt(drawn));
  }
  return pieces;
}

v1::Task TaskMix::TaskAt(uint32_t epoch, uint32_t index) const {
  if (const std::optional<TaskRange> whole = WholeRange(index)) return whole->ToTask(index);
  v1::Task task;
  task.set_index(index);
  uint64_t records = 0;
  for (const Piece& drawn : PiecesOfTask(epoch, index)) {
    v1::TaskPiece& piece = *task.add_pieces();
    piece.set_file(drawn.run->file());
    piece.set_labels_file(drawn.run->labels_file());
    piece.set_file_records(drawn.run->file_records());
    piece.set_by_records(drawn.run->by_records());
    piece.set_begin(drawn.begin);
    piece.set_end(drawn.end);
    piece.set_expected_records(drawn.records);
    records += drawn.records;
  }
  task.set_expected_records(records);
  return task;
}

uint64_t TaskMix::ExpectedRecords(uint32_t epoch, uint32_t index) const {
  if (const std::optional<TaskRange> whole = WholeRange(index)) return whole->expected_records;
  uint64_t records = 0;
  for (const Piece& piece : PiecesOfTask(epoch, index)) records += piece.records;
  return records;
}

uint64_t TaskMix::fingerprint() const {
  uint64_t print = Mix64(ranges_.size());
  const v1::TaskRun* run = nullptr;
  uint64_t file = 0;
  ranges_.Visit(0, [&](uint32_t, const TaskRange& range) {
    if (range.run != run) file = HashText(range.file());
    run = range.run;
    print = Mix64(print ^ file);
    print = Mix64(print ^ range.begin);
    print = Mix64(print ^ range.end);
    return true;
  });
  if (mixed_tasks_ == 0) return print;
  for (const uint64_t setting : {kAssignStream, parts_, task_.bytes, task_.records}) {
    print = Mix64(print ^ setting);
  }
  return print;
}

std::vector<v1::Task> RangesOf(const v1::Task& task) {
  if (task.pieces().empty()) return {task};
  std::vector<v1::Task> ranges;
  for (const v1::TaskPiece& piece : task.pieces()) {
    v1::Task& range = ranges.emplace_back();
    range.set_index(task.index());
    range.set_file(piece.file());
    range.set_labels_file(piece.labels_file());
    range.set_file_records(piece.file_records());
    range.set_by_records(piece.by_records());
    range.set_begin(piece.begin());
    range.set_end(piece.end());
    range.set_expected_records(piece.expected_records());
  }
  return ranges;
}

}  // namespace capstan
