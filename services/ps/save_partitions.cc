#include "ps/save_partitions.h"

#include <memory>
#include <utility>

#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/objectstore/object_store.h"
#include "capstan/v1/partition_state.pb.h"

namespace capstan::ps {
namespace {

constexpr uint32_t kMachineStateVersion = 1;

void ToProto(const PartState& state, v1::PartMachineState& proto) {
  proto.set_version(state.version);
  proto.set_lost(state.ledger.lost);
  for (const StreamEntry& entry : state.ledger.streams) {
    v1::OpenStream& stream = *proto.add_streams();
    stream.set_stream(entry.stream.value);
    stream.set_prefix(entry.prefix);
    stream.set_above(entry.above);
    capstan::ToProto(entry.generation, *stream.mutable_generation());
  }
  for (const auto& [first, last] : state.ledger.closed) {
    v1::StreamInterval& interval = *proto.add_closed();
    interval.set_first(first);
    interval.set_last(last);
  }
}

MachineState Encode(const PartitionState& state) {
  v1::PartitionMachineState proto;
  proto.set_round(state.round);
  ToProto(state.parts[static_cast<size_t>(Part::kDense)], *proto.mutable_dense());
  ToProto(state.parts[static_cast<size_t>(Part::kSparse)], *proto.mutable_sparse());
  return {kMachineStateVersion, proto.SerializeAsString()};
}

}  // namespace

absl::StatusOr<v1::SavePartitionsReply> SavePartitions(Shard& shard, const std::string& uri) {
  CAPSTAN_ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> folder, OpenObjectStore(uri));
  v1::SavePartitionsReply reply;
  CAPSTAN_RETURN_IF_ERROR(shard.ForEachPartition([&](PartitionIndex index, Partition& partition) {
    std::string encoded;
    uint64_t rows = 0;
    partition.Visit([&](const PartitionStore& store, const PartitionState& state) {
      encoded = EncodePartition(store, {.partition_count = shard.catalog().job().partition_count(),
                                        .timeline = shard.timeline(),
                                        .machine = Encode(state)});
      rows = store.row_count();
    });
    absl::StatusOr<v1::SavedFile> file = WritePartitionFile(*folder, index, encoded, rows);
    if (file.ok()) *reply.add_files() = *std::move(file);
    return file.status();
  }));
  return reply;
}

}  // namespace capstan::ps
