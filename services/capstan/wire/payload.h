// What pull and push requests and replies have in common: for each partition the keys and values of
// some tables, and the values of some blocks. One reader and one writer serve all three such
// messages of ps.proto; a Schema has their field numbers.
#ifndef CAPSTAN_WIRE_PAYLOAD_H_
#define CAPSTAN_WIRE_PAYLOAD_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "capstan/wire/message.h"

namespace capstan::wire {

// The field numbers of a message; 0: the message has no such field. In a partition, a table and a
// block, field 1 is always the index or id.
struct Schema {
  uint32_t partitions;
  uint32_t dense_version;
  uint32_t sparse_version;
  uint32_t tables;
  uint32_t blocks;
  bool blocks_are_numbers;  // `blocks` is a repeated uint32, not a repeated message.
  uint32_t table_keys;
  uint32_t table_values;
  uint32_t table_pulled;
  uint32_t table_updates;
  uint32_t block_values;
  uint32_t block_pulled;
};

inline constexpr Schema kPullRequest = {.partitions = 6,
                                        .dense_version = 0,
                                        .sparse_version = 0,
                                        .tables = 2,
                                        .blocks = 3,
                                        .blocks_are_numbers = true,
                                        .table_keys = 2,
                                        .table_values = 0,
                                        .table_pulled = 0,
                                        .table_updates = 0,
                                        .block_values = 0,
                                        .block_pulled = 0};
inline constexpr Schema kPullReply = {.partitions = 1,
                                      .dense_version = 2,
                                      .sparse_version = 3,
                                      .tables = 4,
                                      .blocks = 5,
                                      .blocks_are_numbers = false,
                                      .table_keys = 0,
                                      .table_values = 2,
                                      .table_pulled = 0,
                                      .table_updates = 3,
                                      .block_values = 2,
                                      .block_pulled = 0};
inline constexpr Schema kPushRequest = {.partitions = 6,
                                        .dense_version = 2,
                                        .sparse_version = 3,
                                        .tables = 4,
                                        .blocks = 5,
                                        .blocks_are_numbers = false,
                                        .table_keys = 2,
                                        .table_values = 3,
                                        .table_pulled = 4,
                                        .table_updates = 5,
                                        .block_values = 2,
                                        .block_pulled = 3};

// ---- after reading ----

struct TablePart {
  uint32_t table = 0;
  Bytes keys;
  Bytes values;
  Bytes pulled;
  Bytes updates;
};

struct BlockPart {
  uint32_t block = 0;
  Bytes values;
  Bytes pulled;
};

struct PartitionPart {
  Bytes field;       // The field as received, with tag and length.
  size_t place = 0;  // The offset of `field` in the message.
  uint32_t partition = 0;
  uint64_t dense_version = 0;
  uint64_t sparse_version = 0;
  uint32_t tables_begin = 0;  // Indexes in Payload::tables.
  uint32_t tables_end = 0;
  uint32_t blocks_begin = 0;  // Indexes in Payload::blocks.
  uint32_t blocks_end = 0;
};

// Views into a Message. *Thread-compatible*.
struct Payload {
  std::vector<PartitionPart> partitions;
  std::vector<TablePart> tables;
  std::vector<BlockPart> blocks;

  absl::Span<TablePart> tables_of(const PartitionPart& part) {
    return absl::MakeSpan(tables).subspan(part.tables_begin, part.tables_end - part.tables_begin);
  }
  absl::Span<const TablePart> tables_of(const PartitionPart& part) const {
    return absl::MakeSpan(tables).subspan(part.tables_begin, part.tables_end - part.tables_begin);
  }
  absl::Span<const BlockPart> blocks_of(const PartitionPart& part) const {
    return absl::MakeSpan(blocks).subspan(part.blocks_begin, part.blocks_end - part.blocks_begin);
  }
};

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_PAYLOAD_H_
