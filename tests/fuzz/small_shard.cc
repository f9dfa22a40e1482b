#include "tests/fuzz/small_shard.h"

#include <utility>

#include "capstan/base/background.h"
#include "capstan/base/check.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/placement/view_epoch.h"
#include "capstan/v1/ps.pb.h"
#include "ps/door/caller_check.h"
#include "ps/partition/machine_state.h"
#include "ps/partition/push_message.h"
#include "ps/transfer/load_job.h"

namespace capstan::ps {
namespace {

void SetOptimizer(v1::OptimizerSpec& optimizer) {
  optimizer.set_kind(v1::OPTIMIZER_KIND_ADAGRAD);
  optimizer.set_learning_rate(0.5f);
  optimizer.set_epsilon(1);
}

v1::UpdatePolicy PolicyOf(uint8_t choice) {
  v1::UpdatePolicy policy;
  policy.set_kind(choice % 4 == 3 ? v1::POLICY_KIND_SYNC : v1::POLICY_KIND_ASYNC);
  if (choice % 4 == 1) policy.set_aggregate(2);
  if (choice % 4 == 2) policy.set_stale_gradients(v1::STALE_GRADIENTS_COMPENSATE);
  if (choice % 4 == 3) policy.set_lanes(2);
  return policy;
}

v1::JobSpec Job(uint8_t choice) {
  v1::JobSpec job;
  job.set_job("fuzz");
  job.set_seed(1);
  job.set_partition_count(2);
  *job.mutable_sparse_update() = PolicyOf(choice);
  *job.mutable_dense_update() = PolicyOf(choice / 4);
  v1::TableSpec& table = *job.add_tables();
  table.set_id(1);
  table.set_name("features");
  table.set_dim(2);
  table.set_seed(5);
  SetOptimizer(*table.mutable_optimizer());
  table.add_segments()->set_width(2);
  table.mutable_segments(0)->set_learning_rate_scale(1);
  v1::TensorSpec& tensor = *job.add_tensors();
  tensor.set_name("w");
  tensor.add_shape(3);
  SetOptimizer(*tensor.mutable_optimizer());
  return job;
}

v1::View OnlyShardView(const v1::JobSpec& job) {
  v1::View view;
  view.mutable_epoch()->set_term(1);
  view.set_timeline(Raw(SmallShard::kTimeline));
  for (uint32_t i = 0; i < job.partition_count(); ++i) view.add_owners(0);
  v1::ShardInfo& shard = *view.add_shards();
  shard.set_incarnation(Raw(SmallShard::kIdentity.incarnation));
  return view;
}

// One of this shard and another one owns all, and the other of both has a copy of each.
void MakePairs(v1::View& view, bool owned_here) {
  v1::ShardInfo& other = *view.add_shards();
  other.set_index(1);
  other.set_address("b:1");
  other.set_incarnation(Raw(SmallShard::kOther));
  const v1::ShardInfo& backup = view.shards(owned_here ? 1 : 0);
  for (int i = 0; i < view.owners_size(); ++i) {
    view.set_owners(i, owned_here ? 0 : 1);
    v1::PartitionPair& pair = *view.add_pairs();
    pair.set_partition(static_cast<uint32_t>(i));
    pair.set_backup(backup.index());
    pair.set_backup_incarnation(backup.incarnation());
    pair.mutable_move()->set_n(1);
    *pair.mutable_id() = view.epoch();
  }
}

std::string FileOf(Partition& partition, const Shard& shard) {
  const absl::Time now = shard.clock().Now();
  const auto copy = partition.BeginCopy({.timeline = Timeline{shard.timeline()}}, now);
  CAPSTAN_CHECK(copy.has_value());
  PartitionEncoder encoder({.partition_count = shard.catalog().job().partition_count(),
                            .timeline = shard.timeline(),
                            .machine = EncodeMachineState(copy->state)});
  while (encoder.Prepare()) {
    CAPSTAN_CHECK(partition.ReadCopy([&](PartitionStore& store) { encoder.Read(store); }));
  }
  partition.EndCopy(now);
  partition.SettleCopy("", now);
  return std::move(encoder).TakeRest();
}

}  // namespace

SmallShard::SmallShard(uint8_t choice, Standing standing) {
  v1::JobSpec job = Job(choice);
  view = OnlyShardView(job);
  if (standing != Standing::kOwner) {
    job.set_replicas(1);
    MakePairs(view, standing == Standing::kOwnerWithBackup);
  }
  absl::StatusOr<std::unique_ptr<Shard>> made = Shard::Create(job, kIdentity, metrics, clock);
  CAPSTAN_CHECK(made.ok());
  shard = *std::move(made);
  CAPSTAN_CHECK(shard->SetView(view).ok());
}

void SmallShard::Load() {
  v1::LoadPartitionsRequest order;
  order.mutable_header()->set_timeline(view.timeline());
  for (int i = 0; i < view.owners_size(); ++i) order.add_partitions(static_cast<uint32_t>(i));
  Threads threads;
  CAPSTAN_CHECK(shard->contents().BeginLoad(view.timeline()).ok() &&
                LoadJob(*shard, order, {.background = threads}).Run().ok());
  shard->view().Followed(shard->view().newest()->epoch());
}

grpc::ByteBuffer WithHeader(const Shard& shard, std::string_view request) {
  v1::PushRequest last;  // Has its header under the number that a pull has.
  last.mutable_header()->set_wire_version(kWireVersion);
  last.mutable_header()->set_timeline(shard.timeline());
  last.mutable_header()->set_target_incarnation(Raw(SmallShard::kIdentity.incarnation));
  const grpc::Slice slices[] = {grpc::Slice(request.data(), request.size()),
                                grpc::Slice(last.SerializeAsString())};
  return grpc::ByteBuffer(slices, 2);
}

void Accept(Shard& shard, uint64_t timeline, v1::RequestHeader& header) {
  header.set_wire_version(kWireVersion);
  header.set_target_incarnation(Raw(SmallShard::kIdentity.incarnation));
  header.set_timeline(timeline);
  ToProto(shard.view().newest()->epoch(), *header.mutable_epoch());
}

bool PushTo(const ShardDoor& door, const Shard& shard, std::string_view request, bool may_train) {
  const auto push = door.ReadPush(WithHeader(shard, request));
  if (!push.ok() || !CheckPusher(may_train, (*push)->head()).ok()) return false;
  const auto pushed = door.Push(*push);
  CAPSTAN_CHECK(!pushed.ok() || static_cast<size_t>(pushed->reply.partitions_size()) ==
                                    (*push)->partitions().size());
  return true;
}

std::string ContentOf(Shard& shard) {
  std::string content;
  const absl::Status all =
      shard.partitions().ForEachServed([&](PartitionIndex /*index*/, Partition& partition) {
        content += FileOf(partition, shard);
        return absl::OkStatus();
      });
  CAPSTAN_CHECK(all.ok());
  return content;
}

void CheckThatItCanBeSaved(Shard& shard) {
  const Catalog& catalog = shard.catalog();
  const absl::Status saved = shard.partitions().ForEachServed(
      [&](PartitionIndex index, Partition& partition) -> absl::Status {
        const std::string file = FileOf(partition, shard);
        CAPSTAN_ASSIGN_OR_RETURN(const DecodedPartition decoded,
                                 DecodePartition(file, catalog.job(), catalog.layout(), index));
        return DecodeMachineState(decoded.machine).status();
      });
  CAPSTAN_CHECK(saved.ok());
}

}  // namespace capstan::ps
