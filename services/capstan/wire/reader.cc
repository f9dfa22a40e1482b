#include "capstan/wire/reader.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "capstan/wire/cursor.h"

namespace capstan::wire {
namespace {

// A limit of how many items are read, far above what any request needs: an item of one byte takes
// many times that in memory.
constexpr size_t kMaxItems = size_t{1} << 20;

bool Is(Tag tag, uint32_t field, WireType type) {
  return field != 0 && tag.field == field && tag.type == type;
}

uint32_t ReadNumber(Cursor& cursor) { return static_cast<uint32_t>(cursor.ReadVarint()); }

void ReadTable(const Schema& schema, Cursor& cursor, TablePart& part) {
  const size_t outer = cursor.Enter();
  for (Tag tag; cursor.NextField(tag);) {
    if (Is(tag, 1, WireType::kVarint)) {
      part.table = ReadNumber(cursor);
    } else if (Is(tag, schema.table_keys, WireType::kBytes)) {
      part.keys = cursor.ReadBytes();
    } else if (Is(tag, schema.table_values, WireType::kBytes)) {
      part.values = cursor.ReadBytes();
    } else if (Is(tag, schema.table_pulled, WireType::kBytes)) {
      part.pulled = cursor.ReadBytes();
    } else if (Is(tag, schema.table_updates, WireType::kBytes)) {
      part.updates = cursor.ReadBytes();
    } else {
      cursor.Skip(tag);
    }
  }
  cursor.Leave(outer);
}

void ReadBlock(const Schema& schema, Cursor& cursor, BlockPart& part) {
  const size_t outer = cursor.Enter();
  for (Tag tag; cursor.NextField(tag);) {
    if (Is(tag, 1, WireType::kVarint)) {
      part.block = ReadNumber(cursor);
    } else if (Is(tag, schema.block_values, WireType::kBytes)) {
      part.values = cursor.ReadBytes();
    } else if (Is(tag, schema.block_pulled, WireType::kBytes)) {
      part.pulled = cursor.ReadBytes();
    } else {
      cursor.Skip(tag);
    }
  }
  cursor.Leave(outer);
}

// Reads block numbers, which protobuf allows to be packed or not.
void ReadBlockNumbers(Tag tag, Cursor& cursor, Payload& payload) {
  if (tag.type == WireType::kVarint) {
    payload.blocks.push_back({.block = ReadNumber(cursor), .values = {}, .pulled = {}});
    return;
  }
  const size_t outer = cursor.Enter();
  while (cursor.More() && payload.blocks.size() < kMaxItems) {
    payload.blocks.push_back({.block = ReadNumber(cursor), .values = {}, .pulled = {}});
  }
  if (cursor.More()) cursor.Refuse();
  cursor.Leave(outer);
}

// Reads one field of a partition. Returns its name for error messages.
const char* ReadPart(const Schema& schema, Tag tag, Cursor& cursor, Payload& payload) {
  const bool number = tag.type == WireType::kVarint;
  if (Is(tag, schema.tables, WireType::kBytes)) {
    ReadTable(schema, cursor, payload.tables.emplace_back());
    return "partitions.tables";
  }
  if (schema.blocks_are_numbers && tag.field == schema.blocks &&
      (number || tag.type == WireType::kBytes)) {
    ReadBlockNumbers(tag, cursor, payload);
    return "partitions.blocks";
  }
  if (!schema.blocks_are_numbers && Is(tag, schema.blocks, WireType::kBytes)) {
    ReadBlock(schema, cursor, payload.blocks.emplace_back());
    return "partitions.blocks";
  }
  PartitionPart& part = payload.partitions.back();
  if (Is(tag, 1, WireType::kVarint)) {
    part.partition = ReadNumber(cursor);
  } else if (Is(tag, schema.dense_version, WireType::kVarint)) {
    part.dense_version = cursor.ReadVarint();
  } else if (Is(tag, schema.sparse_version, WireType::kVarint)) {
    part.sparse_version = cursor.ReadVarint();
  } else {
    cursor.Skip(tag);
  }
  return "partitions";
}

// Appends the partition whose tag was read. Returns nullptr, or the name of the field that is
// malformed.
const char* ReadPartition(const Schema& schema, Cursor& cursor, Payload& payload) {
  PartitionPart& part = payload.partitions.emplace_back();
  part.tables_begin = static_cast<uint32_t>(payload.tables.size());
  part.blocks_begin = static_cast<uint32_t>(payload.blocks.size());
  const char* reading = "partitions";
  const size_t outer = cursor.Enter();
  for (Tag tag; cursor.NextField(tag);) {
    reading = ReadPart(schema, tag, cursor, payload);
    if (payload.tables.size() + payload.blocks.size() > kMaxItems) cursor.Refuse();
    if (!cursor.ok()) return reading;
  }
  cursor.Leave(outer);
  part.tables_end = static_cast<uint32_t>(payload.tables.size());
  part.blocks_end = static_cast<uint32_t>(payload.blocks.size());
  return cursor.ok() ? nullptr : "partitions";
}

void Append(const Bytes& field, std::string& text) {
  const size_t size = text.size();
  text.resize(size + field.size());
  field.CopyTo(text.data() + size);
}

absl::Status Malformed(const google::protobuf::Message& head, const char* field) {
  return absl::InvalidArgumentError(absl::StrCat(head.GetDescriptor()->name(), ".", field,
                                                 " is malformed, or has too many items"));
}

}  // namespace

absl::Status Read(const Schema& schema, const Message& message, google::protobuf::Message& head,
                  Payload& payload) {
  payload.partitions.clear();
  payload.tables.clear();
  payload.blocks.clear();
  Cursor cursor(message);
  std::string others;
  for (Tag tag; cursor.NextField(tag);) {
    if (!Is(tag, schema.partitions, WireType::kBytes)) {
      Append(cursor.Skip(tag), others);
      continue;
    }
    const Cursor::Mark begin = cursor.Field();
    const char* const field = ReadPartition(schema, cursor, payload);
    if (field != nullptr) return Malformed(head, field);
    if (payload.partitions.size() > kMaxItems) return Malformed(head, "partitions");
    payload.partitions.back().field = cursor.Since(begin);
    payload.partitions.back().place = message.size() - begin.left;
  }
  if (!cursor.ok() || !head.ParseFromString(others)) return Malformed(head, "header");
  return absl::OkStatus();
}

}  // namespace capstan::wire
