#include "capstan/checkpoint/partition_encoder.h"

#include <algorithm>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/checkpoint/bytes.h"

namespace capstan {
namespace {

// How much is read at once: this takes some tens of microseconds under the lock.
constexpr size_t kReadBytes = 32 << 10;
constexpr size_t kPieceBytes = size_t{512} << 10;
// The most memory that is reserved, unless a table's rows need more.
constexpr size_t kMostReserved = size_t{1} << 20;

}  // namespace

PartitionEncoder::PartitionEncoder(const PartitionFileOptions& options)
    : options_(options), row_blocks_(writer_, BlockKind::kRows) {}

bool PartitionEncoder::Prepare() {
  if (stage_ == Stage::kRows && !table_begun_) BeginTable();
  if (stage_ == Stage::kRows) row_blocks_.CutIfLong();
  if (stage_ == Stage::kRows && next_place_ == places_.size()) EndTable();
  if (stage_ == Stage::kKeys && table_ == tables_) stage_ = Stage::kDense;
  if (stage_ == Stage::kDense) {
    if (next_dense_ > 0) writer_.Finish();
    if (next_dense_ == dense_.size()) stage_ = Stage::kEnd;
  }
  return stage_ != Stage::kEnd;
}

void PartitionEncoder::Read(PartitionStore& store) {
  switch (stage_) {
    case Stage::kHeader:
      return ReadHeader(store);
    case Stage::kKeys:
      return ReadKeys(*store.tables()[table_]);
    case Stage::kRows:
      return ReadRows(*store.tables()[table_]);
    case Stage::kDense:
      return ReadDense(store.blocks());
    case Stage::kEnd:
      break;
  }
  CAPSTAN_CHECK(false);
}

Content PartitionEncoder::content() const {
  if (options_.moved) return delta() ? Content::kMovedDelta : Content::kMovedFull;
  return delta() ? Content::kDelta : Content::kFull;
}

size_t PartitionEncoder::RowBytes() const {
  return kRowFrontBytes + (facts_.versions ? kRowVersionBytes : 0) +
         sizeof(float) * (facts_.dim + facts_.slots);
}

void PartitionEncoder::ReadHeader(PartitionStore& store) {
  tables_ = store.tables().size();
  for (const Block& block : store.blocks().blocks()) {
    if (store.blocks().IsMarked(block.id)) dense_.push_back(block.id);
  }
  std::string& out = writer_.bytes();
  writer_.Begin(BlockKind::kHeader);
  AppendNumber(out, static_cast<uint32_t>(Raw(store.partition())));
  AppendNumber(out, options_.partition_count);
  AppendNumber(out, options_.timeline);
  AppendNumber(out, content());
  AppendNumber(out, static_cast<uint32_t>(tables_));
  AppendNumber(out, static_cast<uint32_t>(dense_.size()));
  out.append(options_.parent);
  writer_.Finish();
  writer_.Begin(BlockKind::kMachine);
  AppendNumber(out, options_.machine.version);
  out.append(options_.machine.bytes);
  writer_.Finish();
  stage_ = Stage::kKeys;
}

void PartitionEncoder::ReadKeys(Table& table) {
  facts_ = {.id = Raw(table.id()),
            .dim = static_cast<uint32_t>(table.dim()),
            .slots = static_cast<uint32_t>(table.slot_count()),
            .optimizer = static_cast<uint32_t>(table.spec().optimizer().kind()),
            .progress_examples = table.mark().progress_examples,
            .rows = table.mark().rows,
            .versions = options_.moved && table.counts_updates()};
  if (facts_.versions) facts_.life = table.life();
  places_ = table.MarkedRows();
  candidates_ = table.mark().candidates;
  erased_ = table.mark().erased;
  next_place_ = 0;
  table_begun_ = false;
  stage_ = Stage::kRows;
}

void PartitionEncoder::BeginTable() {
  table_begun_ = true;
  rows_ += places_.size();
  std::sort(places_.begin(), places_.end());
  std::sort(erased_.begin(), erased_.end());
  std::sort(candidates_.begin(), candidates_.end(),
            [](const Candidate& a, const Candidate& b) { return a.key < b.key; });
  std::string& out = writer_.bytes();
  const size_t row_bytes = RowBytes();
  const size_t bytes = places_.size() * row_bytes + candidates_.size() * kCandidateBytes;
  out.reserve(out.size() + std::min(bytes, kMostReserved) + 4096);
  writer_.Begin(BlockKind::kTableHeader);
  AppendNumber(out, facts_.id);
  AppendNumber(out, facts_.dim);
  AppendNumber(out, facts_.slots);
  AppendNumber(out, facts_.optimizer);
  AppendNumber(out, facts_.progress_examples);
  AppendNumber(out, uint64_t{places_.size()});
  AppendNumber(out, uint64_t{candidates_.size()});
  if (delta()) {
    AppendNumber(out, facts_.rows);
    AppendNumber(out, uint64_t{erased_.size()});
  }
  if (options_.moved) {
    AppendNumber(out, static_cast<uint32_t>(facts_.versions));
    AppendNumber(out, facts_.life);
  }
  writer_.Finish();
  EntryBlocks erased(writer_, BlockKind::kErased);
  for (uint64_t key : erased_) {
    erased.Add();
    AppendNumber(out, key);
    erased.CutIfLong();
  }
  erased.Finish();
}

void PartitionEncoder::ReadRows(Table& table) {
  std::string& out = writer_.bytes();
  const size_t row_bytes = RowBytes();
  const size_t wanted = std::max<size_t>(1, kReadBytes / row_bytes);
  const size_t count = std::min(wanted, places_.size() - next_place_);
  table.VisitMarked(absl::MakeConstSpan(places_).subspan(next_place_, count),
                    [&](const RowState& row) {
                      row_blocks_.Add();
                      AppendNumber(out, row.key);
                      AppendNumber(out, row.frequency);
                      AppendNumber(out, row.touched_examples);
                      // The present version: if the row has changed since the mark, the next delta
                      // has the version again.
                      if (facts_.versions) AppendNumber(out, table.VersionOf(row.key));
                      AppendFloats(out, row.state);
                    });
  next_place_ += count;
}

void PartitionEncoder::EndTable() {
  row_blocks_.Finish();
  std::string& out = writer_.bytes();
  EntryBlocks candidates(writer_, BlockKind::kCandidates);
  for (const Candidate& candidate : candidates_) {
    candidates.Add();
    AppendNumber(out, candidate.key);
    AppendNumber(out, candidate.seen);
    candidates.CutIfLong();
  }
  candidates.Finish();
  places_ = {};
  candidates_ = {};
  erased_ = {};
  ++table_;
  stage_ = Stage::kKeys;
}

void PartitionEncoder::ReadDense(DenseBlocks& blocks) {
  const BlockId id = dense_[next_dense_++];
  const Block& block = *blocks.Find(id);
  const absl::Span<const float> state = blocks.ReadMarked(id);
  std::string& out = writer_.bytes();
  writer_.Begin(BlockKind::kDense);
  AppendNumber(out, Raw(block.id));
  AppendNumber(out, block.tensor);
  AppendNumber(out, block.offset);
  AppendNumber(out, block.length);
  AppendNumber(out, static_cast<uint32_t>(state.size() - block.length));
  AppendNumber(out, static_cast<uint32_t>(blocks.optimizer_kind(block.id)));
  AppendFloats(out, state);
}

std::string PartitionEncoder::TakePiece() {
  if (writer_.finished() < kPieceBytes) return {};
  std::string piece = writer_.TakeFinished();
  writer_.bytes().reserve(piece.size() + kReadBytes);
  return piece;
}

std::string PartitionEncoder::TakeRest() && {
  CAPSTAN_CHECK(stage_ == Stage::kEnd);
  return std::move(writer_).TakeFile();
}

std::string EncodePartition(PartitionStore& store, const PartitionFileOptions& options) {
  store.Mark(/*changes_only=*/!options.parent.empty());
  PartitionEncoder encoder(options);
  while (encoder.Prepare()) encoder.Read(store);
  store.SettleMark(/*safe=*/false);
  return std::move(encoder).TakeRest();
}

}  // namespace capstan
