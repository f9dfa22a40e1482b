#include "capstan/data/tasks/task_mix.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/hash.h"
#include "capstan/base/permutation.h"
#include "capstan/data/tasks/task_size.h"
#include "capstan/data/tasks/tasks.h"

namespace capstan {
namespace {

constexpr uint64_t kMostLength = uint64_t{1} << 55;  // So that it can be multiplied by the pieces.
constexpr uint64_t kAssignStream = 0x7069'6563'6573'3031;  // "pieces01"

uint64_t LengthOf(const v1::Task& range) { return range.end() - range.begin(); }

uint64_t DivideUp(uint64_t value, uint64_t by) { return value / by + (value % by != 0 ? 1 : 0); }

bool IsKnown(const v1::Task& range) {
  return range.expected_records() > 0 && range.begin() < range.end() && range.end() <= kMostLength;
}

// About how many of a range's records lie in its first `length` bytes or records.
uint64_t RecordsBefore(const v1::Task& range, uint64_t length) {
  const double share = static_cast<double>(length) / static_cast<double>(LengthOf(range));
  return static_cast<uint64_t>(static_cast<double>(range.expected_records()) * share);
}

// To be read from the front, whatever is wanted of it.
bool IsReadFromFront(const v1::Task& range, const v1::DataSpec& data) {
  return range.by_records() && data.format() != v1::DATA_FORMAT_SYNTHETIC &&
         data.format() != v1::DATA_FORMAT_FOLDER;
}

}  // namespace

TaskMix::Sizes TaskMix::TaskSizes(const std::vector<v1::Task>& ranges, const v1::DataSpec& data) {
  Sizes total;
  Sizes longest;
  for (const v1::Task& range : ranges) {
    if (!IsKnown(range)) continue;
    (range.by_records() ? total.records : total.bytes) += LengthOf(range);
    uint64_t& most = range.by_records() ? longest.records : longest.bytes;
    most = std::max(most, LengthOf(range));
  }
  return {std::max(longest.bytes, TaskBytes(data, total.bytes)),
          std::max(longest.records, TaskRecords(data, total.records))};
}

TaskMix::TaskMix(std::vector<v1::Task> ranges, const v1::DataSpec& data, uint64_t seed)
    : ranges_(std::move(ranges)),
      seed_(seed),
      parts_(data.shuffle() ? std::max(1u, data.pieces()) : 1),
      task_(TaskSizes(ranges_, data)) {
  if (parts_ == 1) {
    whole_.resize(ranges_.size());
    std::iota(whole_.begin(), whole_.end(), 0u);
    return;
  }
  const std::vector<bool> too_often = ReadTooOften(data);
  uint64_t pieces = 0;
  for (uint32_t i = 0; i < ranges_.size(); ++i) {
    const v1::Task& range = ranges_[i];
    if (!IsKnown(range) || too_often[i]) {
      whole_.push_back(i);
      continue;
    }
    mixed_.push_back(i);
    pieces_to_.push_back(pieces += PiecesOf(range));
    mixed_records_ += range.expected_records();
  }
  mixed_tasks_ = static_cast<uint32_t>(DivideUp(pieces, parts_));
}

std::vector<bool> TaskMix::ReadTooOften(const v1::DataSpec& data) const {
  std::map<std::string, uint64_t> pieces;  // Of files that are read from their front.
  uint64_t all = 0;
  for (const v1::Task& range : ranges_) {
    if (!IsKnown(range)) continue;
    all += PiecesOf(range);
    if (IsReadFromFront(range, data)) pieces[range.file()] += PiecesOf(range);
  }
  // Pieces of one task are read in one pass.
  const uint64_t tasks = DivideUp(all, parts_);
  std::vector<bool> too_often;
  for (const v1::Task& range : ranges_) {
    const auto found = pieces.find(range.file());
    too_often.push_back(found != pieces.end() && std::min(found->second, tasks) > kMostPasses);
  }
  return too_often;
}

// As many as its length needs, and none without a record.
uint64_t TaskMix::PiecesOf(const v1::Task& range) const {
  const uint64_t pieces = DivideUp(LengthOf(range) * parts_, task_.of(range));
  return std::min(pieces, range.expected_records());
}

uint32_t TaskMix::size() const { return mixed_tasks_ + static_cast<uint32_t>(whole_.size()); }

const v1::Task* TaskMix::WholeRange(uint32_t index) const {
  CAPSTAN_CHECK(index < size());
  return index < mixed_tasks_ ? nullptr : &ranges_[whole_[index - mixed_tasks_]];
}

TaskMix::Piece TaskMix::PieceAt(uint64_t number) const {
  const auto to = std::upper_bound(pieces_to_.begin(), pieces_to_.end(), number);
  const auto place = static_cast<size_t>(to - pieces_to_.begin());
  const uint64_t before = place == 0 ? 0 : pieces_to_[place - 1];
  const v1::Task& range = ranges_[mixed_[place]];
  const uint64_t count = *to - before;
  const auto cut = [&](uint64_t i) {
    return i * (LengthOf(range) / count) + std::min(i, LengthOf(range) % count);
  };
  const uint64_t from = cut(number - before);
  const uint64_t end = cut(number - before + 1);
  return {.range = mixed_[place],
          .begin = range.begin() + from,
          .end = range.begin() + end,
          .records = RecordsBefore(range, end) - RecordsBefore(range, from)};
}

std::vector<TaskMix::Piece> TaskMix::PiecesOfTask(uint32_t epoch, uint32_t index) const {
  const uint64_t all = pieces_to_.back();
  std::vector<Piece> pieces;
  for (uint64_t part = 0; part < parts_; ++part) {
    const uint64_t first = part * all / parts_;
    const uint64_t end = (part + 1) * all / parts_;
    // A part may have a piece less than there are tasks: one of them goes without.
    const Permutation assignment(mixed_tasks_, seed_ ^ kAssignStream, uint64_t{epoch} << 32 | part);
    const uint64_t drawn = first + assignment(index);
    if (drawn < end) pieces.push_back(PieceAt(drawn));
  }
  return pieces;
}

v1::Task TaskMix::TaskAt(uint32_t epoch, uint32_t index) const {
  v1::Task task;
  if (const v1::Task* whole = WholeRange(index)) {
    task = *whole;
    task.set_index(index);
    return task;
  }
  task.set_index(index);
  uint64_t records = 0;
  for (const Piece& drawn : PiecesOfTask(epoch, index)) {
    const v1::Task& range = ranges_[drawn.range];
    v1::TaskPiece& piece = *task.add_pieces();
    piece.set_file(range.file());
    piece.set_labels_file(range.labels_file());
    piece.set_by_records(range.by_records());
    piece.set_begin(drawn.begin);
    piece.set_end(drawn.end);
    piece.set_expected_records(drawn.records);
    records += drawn.records;
  }
  task.set_expected_records(records);
  return task;
}

uint64_t TaskMix::ExpectedRecords(uint32_t epoch, uint32_t index) const {
  if (const v1::Task* whole = WholeRange(index)) return whole->expected_records();
  uint64_t records = 0;
  for (const Piece& piece : PiecesOfTask(epoch, index)) records += piece.records;
  return records;
}

uint64_t TaskMix::fingerprint() const {
  uint64_t print = Mix64(ranges_.size());
  for (const v1::Task& range : ranges_) {
    print = Mix64(print ^ HashText(range.file()));
    print = Mix64(print ^ range.begin());
    print = Mix64(print ^ range.end());
  }
  if (mixed_.empty()) return print;
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
    range.set_by_records(piece.by_records());
    range.set_begin(piece.begin());
    range.set_end(piece.end());
    range.set_expected_records(piece.expected_records());
  }
  return ranges;
}

}  // namespace capstan
