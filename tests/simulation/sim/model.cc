#include "tests/simulation/sim/model.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "capstan/base/check.h"
#include "capstan/base/clock.h"
#include "capstan/base/status.h"
#include "capstan/checkpoint/checkpoint_reader.h"
#include "capstan/metrics/registry.h"
#include "ps/partition/machine_state.h"
#include "ps/transfer/load_job.h"
#include "tests/simulation/sim/messages.h"

namespace capstan::sim {
namespace {

// Does everything at once.
class AtOnce : public Background {
 public:
  std::unique_ptr<Work> Begin(absl::AnyInvocable<void()> work) override {
    work();
    return std::make_unique<Work>();
  }
};

constexpr uint64_t kTimeline = 1;
constexpr uint64_t kIncarnation = 1;

}  // namespace

Reading ReadCells(const Job& job, ps::Shard& shard, const v1::View& view, uint32_t index) {
  v1::PullRequest empty;
  *empty.mutable_header() = HeaderFor(view, index);
  empty.mutable_header()->set_timeline(shard.timeline());
  empty.set_evaluation(true);
  const absl::Status checked = shard.view().CheckHeader(empty.header());
  if (!checked.ok()) return {.cells = {}, .status = checked};
  Step all;
  absl::Status status;
  // Each partition by itself: where one cannot be read the others are.
  for (uint32_t partition = 0; partition < job.options().partitions; ++partition) {
    v1::PullRequest request = empty;
    AddPullOfAll(job, partition, view, index, request);
    if (request.partitions().empty()) continue;
    auto query = ps::PullQuery::Read(ToBuffer(request), shard.catalog());
    CAPSTAN_CHECK(query.ok());
    // Who evaluates waits for nobody, so the answer comes at once.
    shard.Pull(*std::move(query), absl::InfiniteFuture(),
               [&](const absl::StatusOr<grpc::ByteBuffer>& buffer, absl::Duration) {
                 status.Update(buffer.status());
                 if (!buffer.ok()) return;
                 v1::PullReply reply;
                 CAPSTAN_CHECK(reply.ParseFromString(Bytes(*buffer)));
                 TakeValues(job, request, reply, all);
               });
  }
  return {.cells = std::move(all.pulled), .status = status};
}

absl::StatusOr<Cells> ReadCheckpoint(const Job& job, const std::string& uri,
                                     const StoreOpener& open) {
  const FakeClock clock;
  metrics::Registry registry;
  ps::ShardMetrics metrics(registry);
  CAPSTAN_ASSIGN_OR_RETURN(
      const std::unique_ptr<ps::Shard> shard,
      ps::Shard::Create(job.spec(), {ShardIndex{}, Incarnation{kIncarnation}}, metrics, clock));
  v1::View view;
  view.set_timeline(kTimeline);
  view.add_shards()->set_incarnation(kIncarnation);
  v1::LoadPartitionsRequest order;
  order.mutable_header()->set_timeline(kTimeline);
  order.set_uri(uri);
  for (uint32_t partition = 0; partition < job.options().partitions; ++partition) {
    order.add_partitions(partition);
    view.add_owners(0);
  }
  AtOnce background;
  CAPSTAN_RETURN_IF_ERROR(shard->contents().BeginLoad(kTimeline));
  CAPSTAN_RETURN_IF_ERROR(
      ps::LoadJob(*shard, order, {.open_store = open, .background = background}).Run());
  shard->view().SetLease(absl::InfiniteFuture());  // With replicas it answers no pull without one.
  Reading model = ReadCells(job, *shard, view, /*index=*/0);
  CAPSTAN_RETURN_IF_ERROR(model.status);
  return std::move(model.cells);
}

absl::StatusOr<uint64_t> OpenStreamsIn(const Job& job, const std::string& uri,
                                       const StoreOpener& open) {
  CAPSTAN_ASSIGN_OR_RETURN(const CheckpointReader reader, CheckpointReader::Open(uri, open));
  CAPSTAN_ASSIGN_OR_RETURN(const DenseLayout layout,
                           DenseLayout::Create(job.spec().tensors(), job.spec().partition_count()));
  uint64_t streams = 0;
  for (uint32_t i = 0; i < job.options().partitions; ++i) {
    CAPSTAN_ASSIGN_OR_RETURN(const DecodedPartition partition,
                             reader.Read(static_cast<PartitionIndex>(i), job.spec(), layout));
    CAPSTAN_ASSIGN_OR_RETURN(const ps::PartitionState state,
                             ps::DecodeMachineState(partition.machine));
    for (const ps::PartState& part : state.parts) {
      streams += static_cast<uint64_t>(
          std::count_if(part.ledger.streams.begin(), part.ledger.streams.end(),
                        [](const StreamEntry& entry) { return !entry.stream.is_session(); }));
    }
  }
  return streams;
}

}  // namespace capstan::sim
