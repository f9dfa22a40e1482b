// What workers, shards and the chief ask of a shard: whatever arrives, it answers, and what it
// holds afterwards can be saved and read back.
//
// First byte: the job's policies. The rest is a list of requests, which get a header that the shard
// accepts here.
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "absl/time/time.h"
#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/status.h"
#include "capstan/base/wire_version.h"
#include "capstan/checkpoint/partition_encoder.h"
#include "capstan/checkpoint/partition_file.h"
#include "capstan/metrics/registry.h"
#include "capstan/v1/ps.pb.h"
#include "capstan/wire/message.h"
#include "capstan/wire/reader.h"
#include "ps/shard/load_job.h"
#include "ps/shard/machine_state.h"
#include "ps/shard/pull_query.h"
#include "ps/shard/push_message.h"
#include "ps/shard/shard.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/messages.h"

namespace capstan::ps {
namespace {

constexpr ShardIdentity kIdentity = {ShardIndex{0}, Incarnation{0xC0FFEE}};
constexpr Timeline kTimeline{1};

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
  view.set_timeline(Raw(kTimeline));
  for (uint32_t i = 0; i < job.partition_count(); ++i) view.add_owners(0);
  v1::ShardInfo& shard = *view.add_shards();
  shard.set_incarnation(Raw(kIdentity.incarnation));
  return view;
}

// A request with the right header behind whatever it brings itself: the last one counts.
grpc::ByteBuffer WithHeader(std::string_view request) {
  v1::PushRequest last;  // Has its header under the number that a pull has.
  last.mutable_header()->set_wire_version(kWireVersion);
  last.mutable_header()->set_timeline(Raw(kTimeline));
  last.mutable_header()->set_target_incarnation(Raw(kIdentity.incarnation));
  const grpc::Slice slices[] = {grpc::Slice(request.data(), request.size()),
                                grpc::Slice(last.SerializeAsString())};
  return grpc::ByteBuffer(slices, 2);
}

void Pull(Shard& shard, const grpc::ByteBuffer& request) {
  auto query = PullQuery::Read(request, shard.catalog());
  if (!query.ok() || !shard.CheckHeader((*query)->head().header()).ok()) return;
  bool answered = false;
  shard.Pull(*std::move(query), absl::InfiniteFuture(),
             [&answered](const absl::StatusOr<grpc::ByteBuffer>& reply, absl::Duration) {
               answered = true;
               if (!reply.ok()) return;
               const wire::Message message(*reply);
               v1::PullReply head;
               wire::Payload payload;
               CAPSTAN_CHECK(wire::Read(wire::kPullReply, message, head, payload).ok());
             });
  CAPSTAN_CHECK(answered);  // No part is ssp.
}

void Push(Shard& shard, const grpc::ByteBuffer& request) {
  const auto push = shard.ReadPush(request);
  if (!push.ok() || !shard.CheckHeader((*push)->head().header()).ok()) return;
  const auto reply = shard.Push(*push);
  CAPSTAN_CHECK(!reply.ok() ||
                static_cast<size_t>(reply->partitions_size()) == (*push)->partitions().size());
}

// Of the coordinator; some wait, and are forgotten.
template <typename Request, typename Ask>
void AskCoordinator(Shard& shard, std::string_view message, Ask ask) {
  Request request;
  if (!Parse(message, request)) return;
  request.mutable_header()->set_timeline(Raw(kTimeline));
  bool answered = false;
  const std::optional<WaiterId> waiter = ask(request, answered);
  CAPSTAN_CHECK(answered || (waiter.has_value() && shard.ForgetRound(*waiter)));
}

template <typename Request, typename Carry>
void Order(std::string_view message, Carry carry) {
  Request request;
  if (!Parse(message, request)) return;
  request.mutable_header()->set_timeline(Raw(kTimeline));
  carry(request);
}

void Hear(Shard& shard, uint8_t kind, std::string_view message) {
  switch (kind % 8) {
    case 0:
      return Push(shard, WithHeader(message));
    case 1:
      return Pull(shard, WithHeader(message));
    case 2:
      return AskCoordinator<v1::OpenRoundRequest>(
          shard, message, [&shard](const auto& request, bool& answered) {
            return shard.OpenRound(request, [&answered](const auto&) { answered = true; });
          });
    case 3:
      return Order<v1::ReportLaneRequest>(
          message, [&shard](const auto& request) { (void)shard.ReportLane(request); });
    case 4:
      return AskCoordinator<v1::HoldRoundsRequest>(
          shard, message, [&shard](const auto& request, bool& answered) {
            return shard.HoldRounds(request, absl::InfiniteFuture(),
                                    [&answered](const auto&) { answered = true; });
          });
    case 5:
      return AskCoordinator<v1::WatchCountsRequest>(
          shard, message, [&shard](const auto& request, bool& answered) {
            return shard.WatchCounts(request, absl::InfiniteFuture(),
                                     [&answered](const auto&) { answered = true; });
          });
    case 6:
      return Order<v1::CommitRoundRequest>(
          message, [&shard](const auto& request) { (void)shard.CommitRound(request); });
    default:
      return Order<v1::CloseStreamsRequest>(
          message, [&shard](const auto& request) { (void)shard.CloseStreams(request); });
  }
}

// Initial values in every partition.
void Load(Shard& shard, const v1::View& view) {
  v1::LoadPartitionsRequest order;
  order.mutable_header()->set_timeline(view.timeline());
  for (int i = 0; i < view.owners_size(); ++i) order.add_partitions(static_cast<uint32_t>(i));
  Threads threads;
  CAPSTAN_CHECK(shard.BeginLoad(view.timeline()).ok() &&
                LoadJob(shard, order, {.background = threads}).Run().ok());
}

std::string FileOf(Partition& partition, const Catalog& catalog, absl::Time now) {
  const auto copy = partition.BeginCopy({.timeline = kTimeline}, now);
  CAPSTAN_CHECK(copy.has_value());
  PartitionEncoder encoder({.partition_count = catalog.job().partition_count(),
                            .timeline = Raw(kTimeline),
                            .machine = EncodeMachineState(copy->state)});
  while (encoder.Prepare()) {
    CAPSTAN_CHECK(partition.ReadCopy([&](PartitionStore& store) { encoder.Read(store); }));
  }
  partition.EndCopy(now);
  partition.SettleCopy("", now);
  return std::move(encoder).TakeRest();
}

// What the shard holds can be saved and read back.
void Save(Shard& shard) {
  const Catalog& catalog = shard.catalog();
  const absl::Status saved =
      shard.ForEachPartition([&](PartitionIndex index, Partition& partition) -> absl::Status {
        const std::string file = FileOf(partition, catalog, shard.clock().Now());
        CAPSTAN_ASSIGN_OR_RETURN(const DecodedPartition decoded,
                                 DecodePartition(file, catalog.job(), catalog.layout(), index));
        return DecodeMachineState(decoded.machine).status();
      });
  CAPSTAN_CHECK(saved.ok());
}

}  // namespace
}  // namespace capstan::ps

void Fuzz(std::string_view input) {
  using namespace capstan;
  if (input.empty()) return;
  metrics::Registry registry;
  ps::ShardMetrics metrics(registry);
  const FakeClock clock;
  const v1::JobSpec job = ps::Job(static_cast<uint8_t>(input[0]));
  const auto shard = ps::Shard::Create(job, ps::kIdentity, metrics, clock);
  const v1::View view = ps::OnlyShardView(job);
  CAPSTAN_CHECK(shard.ok() && (*shard)->SetView(view).ok());
  ps::Load(**shard, view);
  input.remove_prefix(1);
  ForEachMessage(input, [&shard](uint8_t kind, std::string_view message) {
    ps::Hear(**shard, kind, message);
  });
  (*shard)->Flush();
  ps::Save(**shard);
}
