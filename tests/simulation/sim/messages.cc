#include "tests/simulation/sim/messages.h"

#include <algorithm>
#include <cstring>

#include "capstan/base/check.h"
#include "capstan/base/wire_version.h"

namespace capstan::sim {
namespace {

template <typename Value>
void Put(const Value& value, std::string& to) {
  to.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

float FloatAt(const std::string& bytes, size_t index) {
  CAPSTAN_CHECK((index + 1) * sizeof(float) <= bytes.size());
  float value;
  std::memcpy(&value, bytes.data() + index * sizeof(float), sizeof(float));
  return value;
}

uint64_t KeyAt(const std::string& bytes, size_t index) {
  uint64_t key;
  std::memcpy(&key, bytes.data() + index * sizeof(key), sizeof(key));
  return key;
}

uint32_t VersionAt(const std::string& bytes, size_t index) {
  CAPSTAN_CHECK((index + 1) * sizeof(uint32_t) <= bytes.size());
  uint32_t version;
  std::memcpy(&version, bytes.data() + index * sizeof(version), sizeof(version));
  return version;
}

bool Holds(const v1::View& view, uint32_t shard, uint32_t partition) {
  return partition < static_cast<uint32_t>(view.owners_size()) &&
         view.owners(static_cast<int>(partition)) == shard;
}

template <typename Blocks>
void AddPart(uint32_t partition, const std::vector<uint64_t>& keys, const Blocks& blocks,
             v1::PullRequest& request) {
  v1::PartitionPull& part = *request.add_partitions();
  part.set_partition(partition);
  if (!keys.empty()) {
    v1::TableKeys& table = *part.add_tables();
    table.set_table(Job::kTable);
    for (uint64_t key : keys) Put(key, *table.mutable_keys());
  }
  for (BlockId block : blocks) part.add_blocks(Raw(block));
}

template <typename Add>
void ForEachPart(const Job& job, const NamedBatch& batch, const v1::View& view, uint32_t shard,
                 const Add& add) {
  const std::map<uint32_t, std::vector<uint64_t>> keys = job.KeysOf(batch);
  for (uint32_t p = 0; p < job.options().partitions; ++p) {
    if (!Holds(view, shard, p)) continue;
    const auto found = keys.find(p);
    const auto blocks = job.layout().blocks_of(static_cast<PartitionIndex>(p));
    if (found == keys.end() && blocks.empty()) continue;
    add(p, found == keys.end() ? std::vector<uint64_t>() : found->second, blocks);
  }
}

}  // namespace

std::vector<uint32_t> ShardsOf(const Job& job, const NamedBatch& batch, const v1::View& view) {
  std::set<uint32_t> shards;
  for (const v1::ShardInfo& info : view.shards()) {
    ForEachPart(job, batch, view, info.index(),
                [&](uint32_t, const auto&, const auto&) { shards.insert(info.index()); });
  }
  return {shards.begin(), shards.end()};
}

std::set<uint32_t> PartitionsOf(const Job& job, const NamedBatch& batch) {
  std::set<uint32_t> partitions;
  for (const auto& [partition, keys] : job.KeysOf(batch)) partitions.insert(partition);
  for (const Block& block : job.layout().blocks()) {
    partitions.insert(static_cast<uint32_t>(Raw(block.partition)));
  }
  return partitions;
}

v1::RequestHeader HeaderFor(const v1::View& view, uint32_t shard) {
  v1::RequestHeader header;
  header.set_wire_version(kWireVersion);
  *header.mutable_epoch() = view.epoch();
  header.set_timeline(view.timeline());
  for (const v1::ShardInfo& info : view.shards()) {
    if (info.index() == shard) header.set_target_incarnation(info.incarnation());
  }
  return header;
}

void LeaveOutCommit(v1::PullRequest& request) { request.clear_closed(); }

void LeaveOutCommit(v1::PushRequest& request) {
  if (request.has_stage()) request.mutable_stage()->clear_closed();
}

void AddPull(const Job& job, const NamedBatch& batch, const v1::View& view, uint32_t shard,
             v1::PullRequest& request) {
  ForEachPart(job, batch, view, shard, [&](uint32_t p, const auto& keys, const auto& blocks) {
    AddPart(p, keys, blocks, request);
  });
}

void AddPullOfAll(const Job& job, uint32_t partition, const v1::View& view, uint32_t shard,
                  v1::PullRequest& request) {
  const auto keys = job.AllKeys().find(partition);
  const bool has_keys = keys != job.AllKeys().end();
  const auto blocks = job.layout().blocks_of(static_cast<PartitionIndex>(partition));
  if (!Holds(view, shard, partition) || (!has_keys && blocks.empty())) return;
  AddPart(partition, has_keys ? keys->second : std::vector<uint64_t>(), blocks, request);
}

void AddGradients(const Job& job, const Step& step, const v1::View& view, uint32_t shard,
                  v1::PushRequest& request) {
  const auto keys_of_all = job.KeysOf(step.batch);
  if (!keys_of_all.empty()) request.set_counted_in(keys_of_all.begin()->first + 1);
  ForEachPart(job, step.batch, view, shard, [&](uint32_t p, const auto& keys, const auto& blocks) {
    v1::PartitionGradient& part = *request.add_partitions();
    part.set_partition(p);
    const auto versions = step.versions.find(p);
    if (versions != step.versions.end()) {
      part.set_dense_version(versions->second.dense);
      part.set_sparse_version(versions->second.sparse);
    }
    if (!keys.empty()) {
      v1::TableGradient& table = *part.add_tables();
      table.set_table(Job::kTable);
      for (uint64_t key : keys) {
        Put(key, *table.mutable_keys());
        for (uint32_t c = 0; c < Job::kDim; ++c) {
          Put(step.gradient.at({key, c}), *table.mutable_values());
        }
        const auto version = step.row_versions.find(key);
        if (version != step.row_versions.end()) Put(version->second, *table.mutable_updates());
      }
    }
    for (BlockId id : blocks) {
      const Block& block = job.layout().block(id);
      v1::BlockGradient& gradient = *part.add_blocks();
      gradient.set_block(Raw(id));
      for (uint32_t i = 0; i < block.length; ++i) {
        Put(step.gradient.at({Job::ElementOf(block) + i, 0}), *gradient.mutable_values());
      }
    }
  });
}

void TakeValues(const Job& job, const v1::PullRequest& request, const v1::PullReply& reply,
                Step& step) {
  CAPSTAN_CHECK(request.partitions_size() == reply.partitions_size());
  for (int i = 0; i < request.partitions_size(); ++i) {
    const v1::PartitionPull& asked = request.partitions(i);
    const v1::PartitionValues& got = reply.partitions(i);
    step.versions[asked.partition()] = {got.dense_version(), got.sparse_version()};
    for (int t = 0; t < asked.tables_size(); ++t) {
      const std::string& keys = asked.tables(t).keys();
      const std::string& updates = got.tables(t).updates();
      for (size_t k = 0; k < keys.size() / sizeof(uint64_t); ++k) {
        if (!updates.empty()) step.row_versions[KeyAt(keys, k)] = VersionAt(updates, k);
        for (uint32_t c = 0; c < Job::kDim; ++c) {
          step.pulled[{KeyAt(keys, k), c}] = FloatAt(got.tables(t).values(), k * Job::kDim + c);
        }
      }
    }
    for (int b = 0; b < asked.blocks_size(); ++b) {
      const Block& block = job.layout().block(BlockId{asked.blocks(b)});
      for (uint32_t e = 0; e < block.length; ++e) {
        step.pulled[{Job::ElementOf(block) + e, 0}] = FloatAt(got.blocks(b).values(), e);
      }
    }
  }
}

grpc::ByteBuffer ToBuffer(const google::protobuf::MessageLite& message) {
  const grpc::Slice slice(message.SerializeAsString());
  return grpc::ByteBuffer(&slice, 1);
}

std::string Bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  CAPSTAN_CHECK(buffer.Dump(&slices).ok());
  std::string bytes;
  for (const grpc::Slice& slice : slices) {
    bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return bytes;
}

std::vector<v1::PushRequest> ChunksOf(const v1::PushRequest& whole) {
  v1::PushRequest head = whole;
  head.clear_partitions();
  std::vector<v1::PushRequest> chunks(std::max(1, whole.partitions_size()), head);
  for (int i = 0; i < whole.partitions_size(); ++i) {
    *chunks[static_cast<size_t>(i)].add_partitions() = whole.partitions(i);
  }
  return chunks;
}

}  // namespace capstan::sim
