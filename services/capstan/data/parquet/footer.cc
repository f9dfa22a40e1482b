#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/status.h"
#include "capstan/data/parquet/metadata.h"
#include "capstan/data/parquet/schema.h"
#include "capstan/data/parquet/thrift_reader.h"

namespace capstan::parquet {
namespace {

constexpr int64_t kMostRows = int64_t{1} << 48;

struct Offsets {
  int64_t data = 0;
  int64_t dictionary = 0;
  int64_t bytes = -1;
  int64_t values = -1;
};

void ReadChunkMetadata(ThriftReader& in, Chunk& chunk, Offsets& offsets) {
  for (ThriftField field; in.Next(field);) {
    switch (field.id) {
      case 1:
        chunk.physical = static_cast<Physical>(in.Integer(field));
        break;
      case 4:
        chunk.codec = in.Integer(field);
        break;
      case 5:
        offsets.values = in.Integer(field);
        break;
      case 7:
        offsets.bytes = in.Integer(field);
        break;
      case 9:
        offsets.data = in.Integer(field);
        break;
      case 11:
        offsets.dictionary = in.Integer(field);
        break;
      default:
        in.Skip(field);
    }
  }
}

absl::Status Place(const Offsets& offsets, uint64_t data_bytes, Chunk& chunk) {
  // Writers may omit the offset of a dictionary, and an offset of 0 means that there is none.
  const int64_t begin =
      offsets.dictionary > 0 ? std::min(offsets.dictionary, offsets.data) : offsets.data;
  const auto limit = static_cast<int64_t>(data_bytes);
  if (begin < 0 || offsets.bytes < 0 || begin > limit || offsets.bytes > limit - begin ||
      offsets.values < 0) {
    return absl::DataLossError("the footer speaks of bytes that are not in the file");
  }
  chunk.begin = static_cast<uint64_t>(begin);
  chunk.end = static_cast<uint64_t>(begin + offsets.bytes);
  chunk.values = static_cast<uint64_t>(offsets.values);
  return absl::OkStatus();
}

absl::StatusOr<Chunk> ReadChunk(ThriftReader& in, uint64_t data_bytes) {
  Chunk chunk;
  Offsets offsets;
  bool has_metadata = false;
  for (ThriftField field; in.Next(field);) {
    if (field.id == 1) {
      if (!in.Binary(field).empty()) chunk.unreadable = "lies in another file";
    } else if (field.id == 3) {
      in.Struct(field);
      ReadChunkMetadata(in, chunk, offsets);
      has_metadata = true;
    } else {
      if (field.id == 8) chunk.unreadable = "is encrypted";
      in.Skip(field);
    }
  }
  if (!chunk.unreadable.empty()) return chunk;
  if (in.failed() || !has_metadata) return absl::DataLossError("the footer is malformed");
  CAPSTAN_RETURN_IF_ERROR(Place(offsets, data_bytes, chunk));
  return chunk;
}

absl::StatusOr<RowGroup> ReadRowGroup(ThriftReader& in, uint64_t data_bytes) {
  RowGroup group;
  int64_t rows = -1;
  for (ThriftField field; in.Next(field);) {
    if (field.id == 3) {
      rows = in.Integer(field);
    } else if (field.id == 1) {
      const size_t chunks = in.List(field, ThriftType::kStruct);
      for (size_t i = 0; i < chunks && !in.failed(); ++i) {
        CAPSTAN_ASSIGN_OR_RETURN(Chunk chunk, ReadChunk(in, data_bytes));
        group.chunks.push_back(std::move(chunk));
      }
    } else {
      in.Skip(field);
    }
  }
  if (in.failed() || rows < 0 || rows > kMostRows) {
    return absl::DataLossError("the footer's row groups are malformed");
  }
  group.rows = static_cast<uint64_t>(rows);
  return group;
}

// Checks that the parts of the footer are consistent.
absl::Status CheckRowGroups(const std::vector<Physical>& leaves, int64_t rows,
                            FileMetadata& metadata) {
  for (RowGroup& group : metadata.row_groups) {
    group.first_row = metadata.rows;
    metadata.rows += group.rows;
    if (metadata.rows > static_cast<uint64_t>(kMostRows)) {
      return absl::DataLossError(
          absl::StrCat("its row groups have more than ", kMostRows, " rows"));
    }
    if (group.chunks.size() != leaves.size()) {
      return absl::DataLossError(absl::StrCat("a row group has ", group.chunks.size(),
                                              " columns, the schema has ", leaves.size()));
    }
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      const Chunk& chunk = group.chunks[leaf];
      if (chunk.unreadable.empty() && chunk.physical != leaves[leaf]) {
        return absl::DataLossError("a row group has other types than the schema");
      }
    }
  }
  if (rows == static_cast<int64_t>(metadata.rows)) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the footer speaks of ", rows, " rows, its row groups of ", metadata.rows));
}

}  // namespace

absl::StatusOr<FileMetadata> ParseFooter(std::string_view footer, uint64_t data_bytes) {
  ThriftReader in(footer);
  FileMetadata metadata;
  Schema schema;
  int64_t rows = -1;
  for (ThriftField field; in.Next(field);) {
    if (field.id == 2) {
      CAPSTAN_ASSIGN_OR_RETURN(schema, ReadSchema(in, field));
    } else if (field.id == 3) {
      rows = in.Integer(field);
    } else if (field.id == 4) {
      const size_t groups = in.List(field, ThriftType::kStruct);
      for (size_t i = 0; i < groups && !in.failed(); ++i) {
        CAPSTAN_ASSIGN_OR_RETURN(RowGroup group, ReadRowGroup(in, data_bytes));
        metadata.row_groups.push_back(std::move(group));
      }
    } else {
      in.Skip(field);
    }
  }
  if (in.failed() || schema.columns.empty()) {
    return absl::DataLossError("the footer is malformed");
  }
  metadata.columns = std::move(schema.columns);
  CAPSTAN_RETURN_IF_ERROR(CheckRowGroups(schema.leaves, rows, metadata));
  return metadata;
}

std::string_view PhysicalName(Physical type) {
  constexpr std::string_view kNames[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                         "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
  return kNames[static_cast<size_t>(type)];
}

}  // namespace capstan::parquet
