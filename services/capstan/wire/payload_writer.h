// Writes a pull or push into one slice of exactly its size. The constructor writes all framing
// according to the shape; then the caller writes keys and values directly to their places, in any
// order.
#ifndef CAPSTAN_WIRE_PAYLOAD_WRITER_H_
#define CAPSTAN_WIRE_PAYLOAD_WRITER_H_

#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "capstan/wire/payload.h"
#include "google/protobuf/message_lite.h"

namespace capstan::wire {

// Sizes of the fields, in bytes. Fields of size 0 are omitted, as in protobuf.
struct TableShape {
  uint32_t table = 0;
  size_t keys = 0;
  size_t values = 0;
  size_t pulled = 0;
  size_t updates = 0;
};

struct BlockShape {
  uint32_t block = 0;
  size_t values = 0;
  size_t pulled = 0;
};

struct PartitionShape {
  uint32_t partition = 0;
  uint32_t tables_begin = 0;  // In PayloadShape::tables.
  uint32_t tables_end = 0;
  uint32_t blocks_begin = 0;  // In PayloadShape::blocks.
  uint32_t blocks_end = 0;
};

// The shape must be built in order: a partition is added, then its tables and blocks. Clear() keeps
// the memory for the next message.
struct PayloadShape {
  std::vector<PartitionShape> partitions;
  std::vector<TableShape> tables;
  std::vector<BlockShape> blocks;

  void Clear();
  void AddPartition(uint32_t partition);
  void Add(const TableShape& table);
  void Add(const BlockShape& block);
};

// Where the caller writes the fields, at any alignment; null for fields of size 0.
struct TablePlace {
  char* keys = nullptr;
  char* values = nullptr;
  char* pulled = nullptr;
  char* updates = nullptr;
};
struct BlockPlace {
  char* values = nullptr;
  char* pulled = nullptr;
};

// *Thread-compatible*.
class PayloadWriter {
 public:
  // Writes `head`, which contains the message's other fields (null if there are none), and then the
  // framing of `shape`. The bytes of keys and values are undefined until the caller writes them.
  PayloadWriter(const Schema& schema, const google::protobuf::MessageLite* head,
                const PayloadShape& shape);
  PayloadWriter(const PayloadWriter&) = delete;  // A small slice holds its bytes inline.
  PayloadWriter& operator=(const PayloadWriter&) = delete;

  // `i`: index in the shape's partitions, tables or blocks.
  void SetVersions(size_t i, uint64_t dense, uint64_t sparse);
  const TablePlace& table(size_t i) const { return tables_[i]; }
  const BlockPlace& block(size_t i) const { return blocks_[i]; }

  // Returns the message. Must be called once, when everything was written.
  grpc::ByteBuffer Finish();

 private:
  struct VersionPlace {
    char* dense = nullptr;
    char* sparse = nullptr;
  };
  void Frame(const Schema& schema, const PayloadShape& shape, absl::Span<const size_t> sizes);

  grpc::Slice slice_;
  char* at_;
  std::vector<VersionPlace> versions_;
  std::vector<TablePlace> tables_;
  std::vector<BlockPlace> blocks_;
};

}  // namespace capstan::wire

#endif  // CAPSTAN_WIRE_PAYLOAD_WRITER_H_
