#include <cstring>

#include "capstan/checkpoint/blocks.h"
#include "capstan/checkpoint/bytes.h"
#include "capstan/checkpoint/content.h"
#include "capstan/checkpoint/partition_file.h"

namespace capstan {
namespace {

constexpr size_t kWishedPayload = 1 << 20;

// Blocks of equal entries, each beginning with the number of its entries.
class EntryBlocks {
 public:
  EntryBlocks(BlockWriter& writer, BlockKind kind) : writer_(writer), kind_(kind) {}

  // Makes place for an entry of this size.
  void Add(size_t entry_bytes) {
    if (count_ > 0 && writer_.payload_size() + entry_bytes > kWishedPayload) Finish();
    if (count_ == 0) {
      writer_.Begin(kind_);
      count_at_ = writer_.bytes().size();
      AppendNumber(writer_.bytes(), uint32_t{0});
    }
    ++count_;
  }

  void Finish() {
    if (count_ == 0) return;
    std::memcpy(&writer_.bytes()[count_at_], &count_, sizeof(count_));
    writer_.Finish();
    count_ = 0;
  }

 private:
  BlockWriter& writer_;
  const BlockKind kind_;
  uint32_t count_ = 0;
  size_t count_at_ = 0;
};

void EncodeHeader(const PartitionStore& store, const PartitionFileOptions& options,
                  BlockWriter& writer) {
  writer.Begin(BlockKind::kHeader);
  std::string& out = writer.bytes();
  AppendNumber(out, static_cast<uint32_t>(Raw(store.partition())));
  AppendNumber(out, options.partition_count);
  AppendNumber(out, options.timeline);
  AppendNumber(out, Content::kFull);
  AppendNumber(out, static_cast<uint32_t>(store.tables().size()));
  AppendNumber(out, static_cast<uint32_t>(store.blocks().blocks().size()));
  writer.Finish();
  writer.Begin(BlockKind::kMachine);
  AppendNumber(out, options.machine.version);
  out.append(options.machine.bytes);
  writer.Finish();
}

void EncodeTable(const Table& table, BlockWriter& writer) {
  uint64_t candidates = 0;
  table.ForEachCandidate([&](const Candidate&) { ++candidates; });
  std::string& out = writer.bytes();
  writer.Begin(BlockKind::kTableHeader);
  AppendNumber(out, Raw(table.id()));
  AppendNumber(out, static_cast<uint32_t>(table.dim()));
  AppendNumber(out, static_cast<uint32_t>(table.slot_count()));
  AppendNumber(out, static_cast<uint32_t>(table.spec().optimizer().kind()));
  AppendNumber(out, table.progress_examples());
  AppendNumber(out, uint64_t{table.row_count()});
  AppendNumber(out, candidates);
  writer.Finish();
  EntryBlocks rows(writer, BlockKind::kRows);
  table.ForEachRow([&](const RowState& row) {
    rows.Add(kRowFrontBytes + row.state.size() * sizeof(float));
    AppendNumber(out, row.key);
    AppendNumber(out, row.frequency);
    AppendNumber(out, row.touched_examples);
    AppendFloats(out, row.state);
  });
  rows.Finish();
  EntryBlocks entries(writer, BlockKind::kCandidates);
  table.ForEachCandidate([&](const Candidate& candidate) {
    entries.Add(kCandidateBytes);
    AppendNumber(out, candidate.key);
    AppendNumber(out, candidate.seen);
  });
  entries.Finish();
}

void EncodeDense(const DenseBlocks& blocks, const Block& block, BlockWriter& writer) {
  const absl::Span<const float> state = blocks.State(block.id);
  std::string& out = writer.bytes();
  writer.Begin(BlockKind::kDense);
  AppendNumber(out, Raw(block.id));
  AppendNumber(out, block.tensor);
  AppendNumber(out, block.offset);
  AppendNumber(out, block.length);
  AppendNumber(out, static_cast<uint32_t>(state.size() - block.length));
  AppendNumber(out, static_cast<uint32_t>(blocks.optimizer_kind(block.id)));
  AppendFloats(out, state);
  writer.Finish();
}

size_t EstimatedBytes(const PartitionStore& store) {
  size_t bytes = 4096 + store.blocks().memory_bytes();
  for (const auto& table : store.tables()) {
    bytes += table->row_count() * (kRowFrontBytes + 4 * (table->dim() + table->slot_count()));
  }
  return bytes + bytes / 256;
}

}  // namespace

std::string EncodePartition(const PartitionStore& store, const PartitionFileOptions& options) {
  BlockWriter writer;
  writer.bytes().reserve(EstimatedBytes(store) + options.machine.bytes.size());
  EncodeHeader(store, options, writer);
  for (const auto& table : store.tables()) EncodeTable(*table, writer);
  for (const Block& block : store.blocks().blocks()) EncodeDense(store.blocks(), block, writer);
  return std::move(writer).TakeFile();
}

}  // namespace capstan
