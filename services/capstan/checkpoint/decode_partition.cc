#include <vector>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/blocks.h"
#include "capstan/checkpoint/bytes.h"
#include "capstan/checkpoint/content.h"
#include "capstan/checkpoint/partition_file.h"

namespace capstan {
namespace {

struct Header {
  uint32_t partition = 0;
  uint32_t partition_count = 0;
  uint64_t timeline = 0;
  Content content{};
  uint32_t tables = 0;
  uint32_t dense_blocks = 0;
};

struct TableHeader {
  uint32_t table = 0;
  uint32_t dim = 0;
  uint32_t slots = 0;
  uint32_t optimizer = 0;
  uint64_t progress_examples = 0;
  uint64_t rows = 0;
  uint64_t candidates = 0;
};

absl::Status Malformed(absl::string_view what) {
  return absl::DataLossError(absl::StrCat(what, " is malformed"));
}

// Of one optimizer's state into another's: only where both mean the same.
bool Compatible(uint32_t stored, v1::OptimizerKind wanted) {
  const auto is_adam = [](uint32_t kind) {
    return kind == v1::OPTIMIZER_KIND_ADAM || kind == v1::OPTIMIZER_KIND_ADAMW;
  };
  return stored == static_cast<uint32_t>(wanted) || (is_adam(stored) && is_adam(wanted));
}

class Decoder {
 public:
  Decoder(BlockReader reader, DecodedPartition& result) : reader_(reader), result_(result) {}

  absl::Status Run(uint32_t partition_count);

 private:
  absl::StatusOr<std::string_view> Expect(BlockKind kind, absl::string_view name);
  absl::StatusOr<Header> ReadHeader();
  absl::Status ReadTable();
  absl::StatusOr<Table*> FindTable(const TableHeader& header);
  absl::StatusOr<uint64_t> ReadRows(Table& table);
  absl::StatusOr<uint64_t> ReadCandidates(Table& table);
  absl::Status ReadDense();

  BlockReader reader_;
  DecodedPartition& result_;
  std::vector<float> state_;
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
  if (header.tables != result_.store->tables().size() ||
      header.dense_blocks != result_.store->blocks().blocks().size()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "holds ", header.tables, " tables and ", header.dense_blocks, " dense blocks, the job has ",
        result_.store->tables().size(), " and ", result_.store->blocks().blocks().size()));
  }
  for (uint32_t i = 0; i < header.tables; ++i) CAPSTAN_RETURN_IF_ERROR(ReadTable());
  for (uint32_t i = 0; i < header.dense_blocks; ++i) CAPSTAN_RETURN_IF_ERROR(ReadDense());
  return Expect(BlockKind::kEnd, "end").status();
}

absl::StatusOr<Header> Decoder::ReadHeader() {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, Expect(BlockKind::kHeader, "header"));
  ByteReader reader(bytes);
  Header header;
  header.partition = reader.Number<uint32_t>();
  header.partition_count = reader.Number<uint32_t>();
  header.timeline = reader.Number<uint64_t>();
  header.content = reader.Number<Content>();
  header.tables = reader.Number<uint32_t>();
  header.dense_blocks = reader.Number<uint32_t>();
  if (!reader.finished()) return Malformed("the header");
  if (header.content != Content::kFull) {
    return absl::FailedPreconditionError("not a full checkpoint");
  }
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view machine, Expect(BlockKind::kMachine, "machine"));
  ByteReader machine_reader(machine);
  result_.timeline = header.timeline;
  result_.machine.version = machine_reader.Number<uint32_t>();
  if (machine_reader.beyond_end()) return Malformed("the machine block");
  result_.machine.bytes = std::string(machine_reader.rest());
  return header;
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
  if (table->row_count() > 0 || table->progress_examples() > 0) {
    return absl::DataLossError(absl::StrCat("table ", header.table, " occurs twice"));
  }
  return table;
}

absl::Status Decoder::ReadTable() {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, Expect(BlockKind::kTableHeader, "table"));
  ByteReader reader(bytes);
  TableHeader header;
  header.table = reader.Number<uint32_t>();
  header.dim = reader.Number<uint32_t>();
  header.slots = reader.Number<uint32_t>();
  header.optimizer = reader.Number<uint32_t>();
  header.progress_examples = reader.Number<uint64_t>();
  header.rows = reader.Number<uint64_t>();
  header.candidates = reader.Number<uint64_t>();
  if (!reader.finished()) return Malformed("a table's header");
  CAPSTAN_ASSIGN_OR_RETURN(Table* const table, FindTable(header));
  table->RestoreProgress(header.progress_examples);
  state_.resize(header.dim + header.slots);
  for (uint64_t rows = 0; rows < header.rows;) {
    CAPSTAN_ASSIGN_OR_RETURN(const uint64_t more, ReadRows(*table));
    rows += more;
  }
  for (uint64_t candidates = 0; candidates < header.candidates;) {
    CAPSTAN_ASSIGN_OR_RETURN(const uint64_t more, ReadCandidates(*table));
    candidates += more;
  }
  if (table->row_count() == header.rows) return absl::OkStatus();
  return Malformed("a table's number of rows");
}

absl::StatusOr<uint64_t> Decoder::ReadRows(Table& table) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, Expect(BlockKind::kRows, "rows"));
  ByteReader reader(bytes);
  const auto count = reader.Number<uint32_t>();
  const uint64_t row_bytes = kRowFrontBytes + state_.size() * sizeof(float);
  if (count == 0 || reader.rest().size() != count * row_bytes) return Malformed("a block of rows");
  for (uint32_t i = 0; i < count; ++i) {
    RowState row;
    row.key = reader.Number<uint64_t>();
    row.frequency = reader.Number<uint32_t>();
    row.touched_examples = reader.Number<uint64_t>();
    reader.Floats(absl::MakeSpan(state_));
    row.state = state_;
    CAPSTAN_RETURN_IF_ERROR(table.RestoreRow(row));
  }
  return count;
}

absl::StatusOr<uint64_t> Decoder::ReadCandidates(Table& table) {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes,
                           Expect(BlockKind::kCandidates, "candidates"));
  ByteReader reader(bytes);
  const auto count = reader.Number<uint32_t>();
  if (count == 0 || reader.rest().size() != count * kCandidateBytes) {
    return Malformed("a block of candidates");
  }
  for (uint32_t i = 0; i < count; ++i) {
    Candidate candidate;
    candidate.key = reader.Number<uint64_t>();
    candidate.seen = reader.Number<uint32_t>();
    CAPSTAN_RETURN_IF_ERROR(table.RestoreCandidate(candidate));
  }
  return count;
}

absl::Status Decoder::ReadDense() {
  CAPSTAN_ASSIGN_OR_RETURN(const std::string_view bytes, Expect(BlockKind::kDense, "dense block"));
  ByteReader reader(bytes);
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
  state_.resize(floats);
  reader.Floats(absl::MakeSpan(state_));
  return blocks.Restore(stored.id, state_);
}

}  // namespace

absl::StatusOr<DecodedPartition> DecodePartition(std::string_view file, const v1::JobSpec& job,
                                                 const DenseLayout& layout,
                                                 PartitionIndex partition, SlabArena* arena) {
  CAPSTAN_ASSIGN_OR_RETURN(BlockReader reader, BlockReader::Open(file));
  DecodedPartition result;
  CAPSTAN_ASSIGN_OR_RETURN(result.store, PartitionStore::Create(job, layout, partition, arena));
  CAPSTAN_RETURN_IF_ERROR(Decoder(reader, result).Run(job.partition_count()));
  return result;
}

}  // namespace capstan
