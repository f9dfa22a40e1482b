#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/blocks.h"
#include "capstan/checkpoint/bytes.h"
#include "capstan/checkpoint/content.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/optim/optimizer_description.h"

namespace capstan {
namespace {

struct Header {
  uint32_t partition = 0;
  uint32_t partition_count = 0;
  uint64_t timeline = 0;
  Content content{};
  uint32_t tables = 0;
  uint32_t dense_blocks = 0;
  std::string parent;  // Only a delta has one.
};

struct TableHeader {
  uint32_t table = 0;
  uint32_t dim = 0;
  uint32_t slots = 0;
  uint32_t optimizer = 0;
  uint64_t progress_examples = 0;
  uint64_t rows = 0;
  uint64_t candidates = 0;
  // Only a delta has these.
  uint64_t rows_after = 0;
  uint64_t erased = 0;
  // Only a partition that moves to another shard has these.
  bool versions = false;
  uint32_t life = 0;
};

absl::Status Malformed(absl::string_view what) {
  return absl::DataLossError(absl::StrCat(what, " is malformed"));
}

// Reads the payload of a header block.
absl::StatusOr<Header> ParseHeader(std::string_view payload) {
  ByteCursor reader(payload);
  Header header;
  header.partition = reader.Number<uint32_t>();
  header.partition_count = reader.Number<uint32_t>();
  header.timeline = reader.Number<uint64_t>();
  header.content = reader.Number<Content>();
  header.tables = reader.Number<uint32_t>();
  header.dense_blocks = reader.Number<uint32_t>();
  if (reader.beyond_end()) return Malformed("the header");
  header.parent = std::string(reader.rest());
  return header;
}

// A file whose checksums are right but that contradicts itself also counts as damaged.
absl::Status AsDamage(const absl::Status& status) {
  return status.ok() ? status : absl::DataLossError(status.message());
}

// Returns true if the stored state of one optimizer may be used by another, because it has the same
// meaning for both.
bool Compatible(uint32_t stored, v1::OptimizerKind wanted) {
  const auto kind = static_cast<v1::OptimizerKind>(stored);
  if (kind == wanted) return true;
  const OptimizerDescription* const there = FindOptimizer(kind);
  const OptimizerDescription* const here = FindOptimizer(wanted);
  return there != nullptr && here != nullptr && there->slots_of == here->slots_of;
}

class Decoder {
 public:
  // `parent`: the file must be a delta to this checkpoint; empty: it must be a full one.
  Decoder(BlockReader reader, const std::string& parent, DecodedPartition& result)
      : reader_(std::move(reader)), parent_(parent), result_(result) {}

  absl::Status Run(uint32_t partition_count);

 private:
  absl::StatusOr<std::string_view> Expect(BlockKind kind, absl::string_view name);
  absl::StatusOr<Header> ReadHeader();
  bool delta() const { return !parent_.empty(); }
  absl::Status CheckContent(const Header& header) const;
  absl::Status ReadTable();
  absl::StatusOr<TableHeader> ReadTableHeader();
  absl::StatusOr<Table*> FindTable(const TableHeader& header);
  template <typename ReadBlock>
  absl::Status ReadEntries(uint64_t count, absl::string_view what, const ReadBlock& read_block);
  absl::StatusOr<uint64_t> ReadErased(Table& table);
  absl::StatusOr<uint64_t> ReadRows(Table& table, bool versions);
  absl::StatusOr<uint64_t> ReadCandidates(Table& table);
  absl::Status ReadDense();

  BlockReader reader_;
  const std::string parent_;
  DecodedPartition& result_;
  bool moved_ = false;
  std::vector<float> state_;
  absl::flat_hash_set<uint32_t> read_tables_;
  absl::flat_hash_set<BlockId> read_blocks_;
};

absl::StatusOr<std::string_view> Decoder::Expect(BlockKind kind, absl::string_view name) {
  CAPSTAN_ASSIGN_OR_RETURN(const BlockView block, reader_.Next());
  if (block.kind == kind) return block.payload;
  return absl::DataLossError(absl::StrCat("a block of kind ", static_cast<uint32_t>(block.kind),
                                          " is in the place of the ", name));
}

absl::Status Decoder::Run(uint32_t partition_count) {
  CAPSTAN_ASSIGN_OR_RETURN(const Header header, ReadHeader());
  const auto partition = static_cast<uint32_t>(Raw(result_.store->partition()));
  if (header.partition != partition || header.partition_count != partition_count) {
    return absl::FailedPreconditionError(absl::StrCat("holds partition ", header.partition, " of ",
                                                      header.partition_count, ", not ", partition,
                                                      " of ", partition_count));
  }
  const size_t dense_blocks = result_.store->blocks().blocks().size();
  if (header.tables != result_.store->tables().size() ||
      (delta() ? header.dense_blocks > dense_blocks : header.dense_blocks != dense_blocks)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "holds ", header.tables, " tables and ", header.dense_blocks, " dense blocks, the job has ",
        result_.store->tables().size(), " and ", dense_blocks));
  }
  for (uint32_t i = 0; i < header.tables; ++i) CAPSTAN_RETURN_IF_ERROR(ReadTable());
  for (uint32_t i = 0; i < header.dense_blocks; ++i) CAPSTAN_RETURN_IF_ERROR(ReadDense());
  return Expect(BlockKind::kEnd, "end").status();
}

absl::StatusOr<Header> Decoder::ReadHeader() {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, Expect(BlockKind::kHeader, "header"));
  CAPSTAN_ASSIGN_OR_RETURN(Header header, ParseHeader(bytes));
  CAPSTAN_RETURN_IF_ERROR(CheckContent(header));
  moved_ = IsMoved(header.content);
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view machine, Expect(BlockKind::kMachine, "machine"));
  ByteCursor machine_reader(machine);
  result_.timeline = header.timeline;
  result_.machine.version = machine_reader.Number<uint32_t>();
  if (machine_reader.beyond_end()) return Malformed("the machine block");
  result_.machine.bytes = std::string(machine_reader.rest());
  return header;
}

absl::Status Decoder::CheckContent(const Header& header) const {
  if (header.content < Content::kFull || header.content > Content::kMovedDelta) {
    return absl::FailedPreconditionError(absl::StrCat(
        "content ", static_cast<uint32_t>(header.content), " of partition files is not known"));
  }
  if (IsDelta(header.content) == delta() && header.parent == parent_) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      "holds ", header.parent.empty() ? "everything" : absl::StrCat("changes to ", header.parent),
      ", expected ", delta() ? absl::StrCat("changes to ", parent_) : "everything"));
}

absl::StatusOr<Table*> Decoder::FindTable(const TableHeader& header) {
  Table* table = result_.store->FindTable(static_cast<TableId>(header.table));
  if (table == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("holds table ", header.table, ", which the job does not have"));
  }
  if (table->dim() != header.dim || table->slot_count() != header.slots ||
      !Compatible(header.optimizer, table->spec().optimizer().kind())) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", table->spec().name(), ": stored with dim ", header.dim, ", ", header.slots,
        " slots and optimizer ", header.optimizer, ", the job has ", table->dim(), ", ",
        table->slot_count(), " and ", static_cast<int>(table->spec().optimizer().kind())));
  }
  if (!read_tables_.insert(header.table).second) {
    return absl::DataLossError(absl::StrCat("table ", header.table, " occurs twice"));
  }
  return table;
}

absl::StatusOr<TableHeader> Decoder::ReadTableHeader() {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, Expect(BlockKind::kTableHeader, "table"));
  ByteCursor reader(bytes);
  TableHeader header;
  header.table = reader.Number<uint32_t>();
  header.dim = reader.Number<uint32_t>();
  header.slots = reader.Number<uint32_t>();
  header.optimizer = reader.Number<uint32_t>();
  header.progress_examples = reader.Number<uint64_t>();
  header.rows = reader.Number<uint64_t>();
  header.candidates = reader.Number<uint64_t>();
  header.rows_after = delta() ? reader.Number<uint64_t>() : header.rows;
  header.erased = delta() ? reader.Number<uint64_t>() : 0;
  header.versions = moved_ && reader.Number<uint32_t>() != 0;
  header.life = moved_ ? reader.Number<uint32_t>() : 0;
  if (!reader.finished()) return Malformed("a table's header");
  return header;
}

// Reads blocks of one kind, of which `read_block` reads the next and returns how many entries it
// has, until there are `count` entries.
template <typename ReadBlock>
absl::Status Decoder::ReadEntries(uint64_t count, absl::string_view what,
                                  const ReadBlock& read_block) {
  uint64_t entries = 0;
  while (entries < count) {
    CAPSTAN_ASSIGN_OR_RETURN(const uint64_t more, read_block());
    entries += more;
  }
  return entries == count ? absl::OkStatus() : Malformed(what);
}

absl::Status Decoder::ReadTable() {
  CAPSTAN_ASSIGN_OR_RETURN(const TableHeader header, ReadTableHeader());
  CAPSTAN_ASSIGN_OR_RETURN(Table* const table, FindTable(header));
  table->RestoreProgress(header.progress_examples);
  table->ForgetCandidates();
  if (header.versions != (moved_ && table->counts_updates())) {
    return Malformed("whether a table's rows have versions");
  }
  state_.resize(header.dim + header.slots);
  CAPSTAN_RETURN_IF_ERROR(ReadEntries(header.erased, "a table's number of erased keys",
                                      [&] { return ReadErased(*table); }));
  CAPSTAN_RETURN_IF_ERROR(ReadEntries(header.rows, "a table's number of rows",
                                      [&] { return ReadRows(*table, header.versions); }));
  CAPSTAN_RETURN_IF_ERROR(ReadEntries(header.candidates, "a table's number of candidates",
                                      [&] { return ReadCandidates(*table); }));
  if (header.versions) table->RestoreLife(header.life);
  if (table->row_count() == header.rows_after) return absl::OkStatus();
  return Malformed("a table's number of rows");
}

absl::StatusOr<uint64_t> Decoder::ReadErased(Table& table) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, Expect(BlockKind::kErased, "erased keys"));
  ByteCursor reader(bytes);
  const auto count = reader.Number<uint32_t>();
  if (count == 0 || reader.rest().size() != count * sizeof(uint64_t)) {
    return Malformed("a block of erased keys");
  }
  for (uint32_t i = 0; i < count; ++i) table.RestoreErased(reader.Number<uint64_t>());
  return count;
}

absl::StatusOr<uint64_t> Decoder::ReadRows(Table& table, bool versions) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, Expect(BlockKind::kRows, "rows"));
  ByteCursor reader(bytes);
  const auto count = reader.Number<uint32_t>();
  const uint64_t row_bytes =
      kRowFrontBytes + (versions ? kRowVersionBytes : 0) + state_.size() * sizeof(float);
  if (count == 0 || reader.rest().size() != count * row_bytes) return Malformed("a block of rows");
  for (uint32_t i = 0; i < count; ++i) {
    RowState row;
    row.key = reader.Number<uint64_t>();
    row.frequency = reader.Number<uint32_t>();
    row.touched_examples = reader.Number<uint64_t>();
    if (versions) row.version = static_cast<RowVersion>(reader.Number<uint32_t>());
    reader.Floats(absl::MakeSpan(state_));
    row.state = state_;
    CAPSTAN_RETURN_IF_ERROR(
        AsDamage(delta() ? table.RestoreChangedRow(row) : table.RestoreRow(row)));
  }
  return count;
}

absl::StatusOr<uint64_t> Decoder::ReadCandidates(Table& table) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes,
                           Expect(BlockKind::kCandidates, "candidates"));
  ByteCursor reader(bytes);
  const auto count = reader.Number<uint32_t>();
  if (count == 0 || reader.rest().size() != count * kCandidateBytes) {
    return Malformed("a block of candidates");
  }
  for (uint32_t i = 0; i < count; ++i) {
    Candidate candidate;
    candidate.key = reader.Number<uint64_t>();
    candidate.seen = reader.Number<uint32_t>();
    CAPSTAN_RETURN_IF_ERROR(AsDamage(table.RestoreCandidate(candidate)));
  }
  return count;
}

absl::Status Decoder::ReadDense() {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, Expect(BlockKind::kDense, "dense block"));
  ByteCursor reader(bytes);
  Block stored;
  stored.id = static_cast<BlockId>(reader.Number<uint32_t>());
  stored.tensor = reader.Number<uint32_t>();
  stored.offset = reader.Number<uint64_t>();
  stored.length = reader.Number<uint32_t>();
  const auto slots = reader.Number<uint32_t>();
  const auto optimizer = reader.Number<uint32_t>();
  const uint64_t floats = uint64_t{stored.length} + slots;
  if (reader.beyond_end() || reader.rest().size() != floats * sizeof(float)) {
    return Malformed("a dense block");
  }
  DenseBlocks& blocks = result_.store->blocks();
  const Block* wanted = blocks.Find(stored.id);
  if (wanted == nullptr || wanted->tensor != stored.tensor || wanted->offset != stored.offset ||
      wanted->length != stored.length || !Compatible(optimizer, blocks.optimizer_kind(stored.id))) {
    return absl::FailedPreconditionError(
        absl::StrCat("dense block ", Raw(stored.id), " is not as the job has it"));
  }
  if (!read_blocks_.insert(stored.id).second) {
    return absl::DataLossError(absl::StrCat("dense block ", Raw(stored.id), " occurs twice"));
  }
  state_.resize(floats);
  reader.Floats(absl::MakeSpan(state_));
  return AsDamage(blocks.Restore(stored.id, state_));
}

absl::StatusOr<DecodedPartition> Decode(BlockReader reader, const v1::JobSpec& job,
                                        const DenseLayout& layout, PartitionIndex partition,
                                        SlabArena* arena) {
  DecodedPartition result;
  CAPSTAN_ASSIGN_OR_RETURN(result.store, PartitionStore::Create(job, layout, partition, arena));
  CAPSTAN_RETURN_IF_ERROR(
      Decoder(std::move(reader), /*parent=*/"", result).Run(job.partition_count()));
  return result;
}

}  // namespace

absl::StatusOr<DecodedPartition> DecodePartition(std::string_view file, const v1::JobSpec& job,
                                                 const DenseLayout& layout,
                                                 PartitionIndex partition, SlabArena* arena) {
  CAPSTAN_ASSIGN_OR_RETURN(BlockReader reader, BlockReader::Open(file));
  return Decode(std::move(reader), job, layout, partition, arena);
}

absl::StatusOr<DecodedPartition> DecodePartition(ByteFeed file, const v1::JobSpec& job,
                                                 const DenseLayout& layout,
                                                 PartitionIndex partition, SlabArena* arena) {
  CAPSTAN_ASSIGN_OR_RETURN(BlockReader reader, BlockReader::Open(std::move(file)));
  return Decode(std::move(reader), job, layout, partition, arena);
}

bool IsFullPartition(std::string_view file) {
  absl::StatusOr<BlockReader> reader = BlockReader::Open(file);
  if (!reader.ok()) return false;
  const absl::StatusOr<BlockView> first = reader->Next();
  if (!first.ok() || first->kind != BlockKind::kHeader) return false;
  const absl::StatusOr<Header> header = ParseHeader(first->payload);
  return header.ok() && !IsDelta(header->content);
}

absl::Status ApplyDelta(std::string_view file, const v1::JobSpec& job, const std::string& parent,
                        DecodedPartition& partition) {
  CAPSTAN_ASSIGN_OR_RETURN(BlockReader reader, BlockReader::Open(file));
  return Decoder(std::move(reader), parent, partition).Run(job.partition_count());
}

absl::Status ApplyDelta(ByteFeed file, const v1::JobSpec& job, const std::string& parent,
                        DecodedPartition& partition) {
  CAPSTAN_ASSIGN_OR_RETURN(BlockReader reader, BlockReader::Open(std::move(file)));
  return Decoder(std::move(reader), parent, partition).Run(job.partition_count());
}

}  // namespace capstan
