// Messages of the data path as the generated classes hold them, and ByteBuffers cut in every way.
#ifndef CAPSTAN_TESTS_UNIT_WIRE_SAMPLES_H_
#define CAPSTAN_TESTS_UNIT_WIRE_SAMPLES_H_

#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "capstan/wire/reader.h"

namespace capstan::wire {

inline v1::PushRequest SamplePush() {
  v1::PushRequest push;
  push.mutable_header()->set_wire_version(1);
  push.mutable_header()->mutable_epoch()->set_n(3);
  push.mutable_header()->set_target_incarnation(0xFEDCBA9876543210u);
  push.set_dtype(v1::DTYPE_FLOAT32);
  push.mutable_stream()->set_stream(77);
  push.mutable_stream()->set_seq(5);
  push.set_examples(1024);
  v1::PartitionGradient& first = *push.add_partitions();
  first.set_partition(0);
  first.set_dense_version(1u << 20);
  first.set_sparse_version(~uint64_t{0});
  v1::TableGradient& rows = *first.add_tables();
  rows.set_table(2);
  rows.set_keys(std::string(3 * 8, 'k'));
  rows.set_values(std::string(3 * 16 * 4, 'v'));
  rows.set_pulled(std::string(3 * 16 * 4, 'p'));
  rows.set_updates(std::string(3 * 4, 'u'));
  v1::PartitionGradient& second = *push.add_partitions();
  second.set_partition(255);
  second.add_tables()->set_keys("12345678");
  v1::BlockGradient& block = *second.add_blocks();
  block.set_block(300);
  block.set_values(std::string(70'000, 'b'));
  second.add_blocks()->set_block(301);
  return push;
}

inline v1::PullRequest SamplePull() {
  v1::PullRequest pull;
  pull.mutable_header()->set_clock(9);
  pull.set_round(4);
  pull.mutable_closed()->set_round(3);
  pull.mutable_closed()->add_lanes()->set_lane(1);
  v1::PartitionPull& first = *pull.add_partitions();
  first.set_partition(7);
  first.add_tables()->set_keys("abcdefgh");
  first.add_blocks(0);
  first.add_blocks(1'000'000);
  pull.add_partitions()->set_partition(8);
  return pull;
}

// The bytes in slices of these sizes, over and over. Each slice has memory of its own: a ByteBuffer
// makes one of small ones that lie within themselves.
inline grpc::ByteBuffer Cut(const std::string& bytes, const std::vector<size_t>& sizes) {
  std::vector<grpc::Slice> slices;
  size_t at = 0;
  for (size_t i = 0; at < bytes.size(); ++i) {
    const size_t size = std::min(sizes[i % sizes.size()], bytes.size() - at);
    void* const own = std::malloc(size);
    std::memcpy(own, bytes.data() + at, size);
    slices.emplace_back(own, size, std::free);
    at += size;
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

inline std::string TextOf(const Bytes& bytes) {
  std::string text(bytes.size(), '\0');
  bytes.CopyTo(text.data());
  return text;
}

inline std::string TextOf(const grpc::ByteBuffer& buffer) {
  std::string text;
  std::vector<grpc::Slice> slices;
  (void)buffer.Dump(&slices);
  for (const grpc::Slice& slice : slices) text.append(slice.begin(), slice.end());
  return text;
}

// Puts one partition's gradient back into the generated class, but for the partition's number.
inline void Restore(const Payload& payload, const PartitionPart& part, v1::PartitionGradient& to) {
  to.set_dense_version(part.dense_version);
  to.set_sparse_version(part.sparse_version);
  for (const TablePart& rows : payload.tables_of(part)) {
    v1::TableGradient& table = *to.add_tables();
    table.set_table(rows.table);
    table.set_keys(TextOf(rows.keys));
    table.set_values(TextOf(rows.values));
    table.set_pulled(TextOf(rows.pulled));
    table.set_updates(TextOf(rows.updates));
  }
  for (const BlockPart& values : payload.blocks_of(part)) {
    v1::BlockGradient& block = *to.add_blocks();
    block.set_block(values.block);
    block.set_values(TextOf(values.values));
    block.set_pulled(TextOf(values.pulled));
  }
}

}  // namespace capstan::wire

#endif  // CAPSTAN_TESTS_UNIT_WIRE_SAMPLES_H_
