// Pulls and pushes as a peer may send them: the reader takes what the generated parser takes, gives
// the same numbers and bytes however the message is cut into slices, and never reads beyond it.
//
// First byte: which message. Second: where it is cut. The rest is the message.
#include <cstdint>
#include <string>
#include <vector>

#include "capstan/base/check.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "capstan/wire/reader.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/wire/samples.h"

namespace capstan::wire {
namespace {

// The payload back in the generated class, one overload a message; that of pushes is in samples.h.
void Restore(const Payload& payload, const PartitionPart& part, v1::PartitionPull& to) {
  for (const TablePart& rows : payload.tables_of(part)) {
    v1::TableKeys& table = *to.add_tables();
    table.set_table(rows.table);
    table.set_keys(TextOf(rows.keys));
  }
  for (const BlockPart& block : payload.blocks_of(part)) to.add_blocks(block.block);
}

void Restore(const Payload& payload, const PartitionPart& part, v1::PartitionValues& to) {
  to.set_dense_version(part.dense_version);
  to.set_sparse_version(part.sparse_version);
  for (const TablePart& rows : payload.tables_of(part)) {
    v1::TableValues& table = *to.add_tables();
    table.set_table(rows.table);
    table.set_values(TextOf(rows.values));
    table.set_updates(TextOf(rows.updates));
  }
  for (const BlockPart& values : payload.blocks_of(part)) {
    v1::BlockValues& block = *to.add_blocks();
    block.set_block(values.block);
    block.set_values(TextOf(values.values));
  }
}

template <typename T>
void Compare(const Schema& schema, const std::string& bytes, const std::vector<size_t>& cuts) {
  const Message message(Cut(bytes, cuts));
  T read;
  Payload payload;
  const bool ok = Read(schema, message, read, payload).ok();
  T expected;
  CAPSTAN_CHECK(ok == expected.ParseFromString(bytes));
  if (!ok) return;
  for (const PartitionPart& part : payload.partitions) {
    auto& partition = *read.add_partitions();
    partition.set_partition(part.partition);
    Restore(payload, part, partition);
  }
  // What neither knows is not kept by the reader.
  expected.DiscardUnknownFields();
  read.DiscardUnknownFields();
  CAPSTAN_CHECK(read.SerializeAsString() == expected.SerializeAsString());
}

}  // namespace
}  // namespace capstan::wire

void Fuzz(std::string_view input) {
  using namespace capstan;
  if (input.size() < 2) return;
  const auto cut = static_cast<uint8_t>(input[1]);
  const std::vector<size_t> cuts = {1 + size_t{cut} % 64, size_t{cut} / 64};
  const std::string bytes(input.substr(2));
  switch (static_cast<uint8_t>(input[0]) % 3) {
    case 0:
      return wire::Compare<v1::PushRequest>(wire::kPushRequest, bytes, cuts);
    case 1:
      return wire::Compare<v1::PullRequest>(wire::kPullRequest, bytes, cuts);
    case 2:
      return wire::Compare<v1::PullReply>(wire::kPullReply, bytes, cuts);
  }
}
