#include "capstan/wire/payload_writer.h"

#include "capstan/base/check.h"
#include "capstan/wire/cursor.h"

namespace capstan::wire {
namespace {

// A version is not known when its place is reserved, so it gets the longest form of a varint,
// padded with continuation bytes, which every protobuf parser accepts.
constexpr size_t kPaddedVarint = 10;

size_t VarintSize(uint64_t value) {
  size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

char* PutVarint(char* at, uint64_t value) {
  for (; value >= 0x80; value >>= 7) *at++ = static_cast<char>(value | 0x80);
  *at++ = static_cast<char>(value);
  return at;
}

void PutPaddedVarint(char* at, uint64_t value) {
  for (size_t i = 0; i + 1 < kPaddedVarint; ++i, value >>= 7) {
    *at++ = static_cast<char>(value | 0x80);
  }
  *at = static_cast<char>(value);
}

// All field numbers are below 16: a tag is one byte.
char* PutTag(char* at, uint32_t field, WireType type) {
  *at++ = static_cast<char>(field << 3 | static_cast<uint32_t>(type));
  return at;
}

size_t NumberSize(uint32_t number) { return number == 0 ? 0 : 1 + VarintSize(number); }

char* PutNumber(char* at, uint32_t field, uint32_t number) {
  if (number == 0) return at;
  return PutVarint(PutTag(at, field, WireType::kVarint), number);
}

// Return the size of an embedded message, or of a field of bytes, with `size` bytes of content. An
// empty field of bytes is omitted.
size_t EmbeddedSize(size_t size) { return 1 + VarintSize(size) + size; }
size_t BytesSize(size_t size) { return size == 0 ? 0 : EmbeddedSize(size); }

char* PutEmbedded(char* at, uint32_t field, size_t size) {
  return PutVarint(PutTag(at, field, WireType::kBytes), size);
}

// Writes the framing of a field of bytes, and sets `place` to where the bytes must be written.
char* PutBytes(char* at, uint32_t field, size_t size, char*& place) {
  if (size == 0) return at;
  place = PutEmbedded(at, field, size);
  return place + size;
}

size_t SizeOf(const TableShape& table) {
  return NumberSize(table.table) + BytesSize(table.keys) + BytesSize(table.values) +
         BytesSize(table.pulled) + BytesSize(table.updates);
}

size_t SizeOf(const BlockShape& block) {
  return NumberSize(block.block) + BytesSize(block.values) + BytesSize(block.pulled);
}

size_t BlockNumbersSize(absl::Span<const BlockShape> blocks) {
  size_t size = 0;
  for (const BlockShape& block : blocks) size += VarintSize(block.block);
  return size;
}

absl::Span<const TableShape> TablesOf(const PayloadShape& shape, const PartitionShape& part) {
  return absl::MakeSpan(shape.tables)
      .subspan(part.tables_begin, part.tables_end - part.tables_begin);
}

absl::Span<const BlockShape> BlocksOf(const PayloadShape& shape, const PartitionShape& part) {
  return absl::MakeSpan(shape.blocks)
      .subspan(part.blocks_begin, part.blocks_end - part.blocks_begin);
}

size_t SizeOf(const Schema& schema, const PayloadShape& shape, const PartitionShape& part) {
  size_t size = NumberSize(part.partition);
  if (schema.dense_version != 0) size += 2 * (1 + kPaddedVarint);
  for (const TableShape& table : TablesOf(shape, part)) size += EmbeddedSize(SizeOf(table));
  if (schema.blocks_are_numbers) return size + BytesSize(BlockNumbersSize(BlocksOf(shape, part)));
  for (const BlockShape& block : BlocksOf(shape, part)) size += EmbeddedSize(SizeOf(block));
  return size;
}

}  // namespace

void PayloadShape::Clear() {
  partitions.clear();
  tables.clear();
  blocks.clear();
}

void PayloadShape::AddPartition(uint32_t partition) {
  const auto table = static_cast<uint32_t>(tables.size());
  const auto block = static_cast<uint32_t>(blocks.size());
  partitions.push_back({partition, table, table, block, block});
}

void PayloadShape::Add(const TableShape& table) {
  tables.push_back(table);
  ++partitions.back().tables_end;
}

void PayloadShape::Add(const BlockShape& block) {
  blocks.push_back(block);
  ++partitions.back().blocks_end;
}

PayloadWriter::PayloadWriter(const Schema& schema, const google::protobuf::MessageLite* head,
                             const PayloadShape& shape)
    : versions_(shape.partitions.size()),
      tables_(shape.tables.size()),
      blocks_(shape.blocks.size()) {
  std::vector<size_t> sizes;
  sizes.reserve(shape.partitions.size());
  const size_t head_size = head == nullptr ? 0 : head->ByteSizeLong();
  size_t total = head_size;
  for (const PartitionShape& part : shape.partitions) {
    sizes.push_back(SizeOf(schema, shape, part));
    total += EmbeddedSize(sizes.back());
  }
  slice_ = grpc::Slice(total);
  // Nobody else has a reference to the slice yet.
  at_ = reinterpret_cast<char*>(const_cast<uint8_t*>(slice_.begin()));
  if (head_size > 0) {
    at_ = reinterpret_cast<char*>(
        head->SerializeWithCachedSizesToArray(reinterpret_cast<uint8_t*>(at_)));
  }
  Frame(schema, shape, sizes);
  CAPSTAN_CHECK(reinterpret_cast<const uint8_t*>(at_) == slice_.end());
}

void PayloadWriter::Frame(const Schema& schema, const PayloadShape& shape,
                          absl::Span<const size_t> sizes) {
  for (size_t i = 0; i < shape.partitions.size(); ++i) {
    const PartitionShape& part = shape.partitions[i];
    at_ = PutEmbedded(at_, schema.partitions, sizes[i]);
    at_ = PutNumber(at_, 1, part.partition);
    if (schema.dense_version != 0) {
      versions_[i].dense = PutTag(at_, schema.dense_version, WireType::kVarint);
      versions_[i].sparse =
          PutTag(versions_[i].dense + kPaddedVarint, schema.sparse_version, WireType::kVarint);
      at_ = versions_[i].sparse + kPaddedVarint;
      SetVersions(i, 0, 0);
    }
    for (uint32_t t = part.tables_begin; t < part.tables_end; ++t) {
      const TableShape& table = shape.tables[t];
      at_ = PutNumber(PutEmbedded(at_, schema.tables, SizeOf(table)), 1, table.table);
      at_ = PutBytes(at_, schema.table_keys, table.keys, tables_[t].keys);
      at_ = PutBytes(at_, schema.table_values, table.values, tables_[t].values);
      at_ = PutBytes(at_, schema.table_pulled, table.pulled, tables_[t].pulled);
      at_ = PutBytes(at_, schema.table_updates, table.updates, tables_[t].updates);
    }
    if (schema.blocks_are_numbers) {
      const size_t size = BlockNumbersSize(BlocksOf(shape, part));
      if (size > 0) at_ = PutEmbedded(at_, schema.blocks, size);
      for (const BlockShape& block : BlocksOf(shape, part)) at_ = PutVarint(at_, block.block);
      continue;
    }
    for (uint32_t b = part.blocks_begin; b < part.blocks_end; ++b) {
      const BlockShape& block = shape.blocks[b];
      at_ = PutNumber(PutEmbedded(at_, schema.blocks, SizeOf(block)), 1, block.block);
      at_ = PutBytes(at_, schema.block_values, block.values, blocks_[b].values);
      at_ = PutBytes(at_, schema.block_pulled, block.pulled, blocks_[b].pulled);
    }
  }
}

void PayloadWriter::SetVersions(size_t i, uint64_t dense, uint64_t sparse) {
  PutPaddedVarint(versions_[i].dense, dense);
  PutPaddedVarint(versions_[i].sparse, sparse);
}

grpc::ByteBuffer PayloadWriter::Finish() { return grpc::ByteBuffer(&slice_, 1); }

}  // namespace capstan::wire
