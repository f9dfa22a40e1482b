#include "tests/integration/shard/local_shard.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "capstan/base/check.h"
#include "capstan/placement/placement.h"
#include "ps/process/shard_peer.h"

namespace capstan {
namespace {

void SetSgd(v1::OptimizerSpec& optimizer) {
  optimizer.set_kind(v1::OPTIMIZER_KIND_SGD);
  optimizer.set_learning_rate(1);
}

// The same in every process, so that a client elsewhere can make the view.
Incarnation IncarnationOf(int index) {
  return Incarnation{0xC0FFEE00u + static_cast<uint32_t>(index)};
}

}  // namespace

v1::JobSpec SmallJob(uint32_t dim, uint32_t dense_width) {
  v1::JobSpec job;
  job.set_job("test");
  job.set_seed(1);
  job.set_partition_count(8);
  job.mutable_train()->set_batch_size(1);
  job.mutable_dense_update()->set_kind(v1::POLICY_KIND_ASYNC);
  job.mutable_sparse_update()->set_kind(v1::POLICY_KIND_ASYNC);
  if (dim > 0) {
    v1::TableSpec& table = *job.add_tables();
    table.set_id(1);
    table.set_name("features");
    table.set_dim(dim);
    table.set_seed(5);
    SetSgd(*table.mutable_optimizer());
    v1::TableSegment& segment = *table.add_segments();
    segment.set_name("all");
    segment.set_width(dim);
    segment.set_learning_rate_scale(1);
  }
  if (dense_width > 0) {
    v1::TensorSpec& tensor = *job.add_tensors();
    tensor.set_name("w");
    tensor.add_shape(dense_width);
    SetSgd(*tensor.mutable_optimizer());
  }
  return job;
}

LocalShard::LocalShard(const v1::JobSpec& job, int index, const ServerOptions& server)
    : identity_{static_cast<ShardIndex>(index), IncarnationOf(index)},
      metrics_(registry_),
      service_(metrics_, server.tls) {
  auto shard = ps::Shard::Create(job, identity_, metrics_, clock_);
  CAPSTAN_CHECK(shard.ok());
  shard_ = *std::move(shard);
  auto started = Server::Start(server, {&service_});
  CAPSTAN_CHECK(started.ok());
  server_ = *std::move(started);
  saver_.emplace(*shard_, ps::Outside{.background = gentle_threads_});
  loader_.emplace(*shard_, ps::Outside{.background = threads_});
  mover_.emplace(*shard_, ps::Mover::Backgrounds{.gentle = gentle_threads_, .hasty = threads_},
                 ps::ShardPeerOpener(server.tls));
  staged_.emplace(*shard_, threads_);
  replicator_.emplace(*shard_);
  followers_.emplace(*shard_, *mover_, *staged_, *replicator_);
  served_.emplace(ps::ServedShard{*shard_, *saver_, *loader_, *mover_, *staged_, *replicator_});
  service_.Serve(&*served_);
  if (job.replicas() > 0) sender_.emplace(*shard_, server.tls);
  ticker_ = std::thread([this] {
    while (!stopping_) {
      shard_->Tick();
      absl::SleepFor(ps::Shard::kTick);
    }
  });
}

LocalShard::~LocalShard() {
  stopping_ = true;
  ticker_.join();
  sender_.reset();
  shard_->streams().Close();
  server_->Shutdown(absl::ZeroDuration());
}

void LocalShard::SetView(const v1::View& view) {
  CAPSTAN_CHECK(shard_->SetView(view).ok());
  CAPSTAN_CHECK(followers_->Follow().ok());
}

v1::LoadPartitionsRequest LocalShards::LoadOrder(int index) const {
  v1::LoadPartitionsRequest order;
  order.mutable_header()->set_timeline(view_.timeline());
  for (int i = 0; i < view_.owners_size(); ++i) {
    if (view_.owners(i) == static_cast<uint32_t>(index)) order.add_partitions(i);
  }
  return order;
}

v1::ShardInfo LocalShards::InfoOf(int index, int port) {
  v1::ShardInfo info;
  info.set_index(static_cast<uint32_t>(index));
  info.set_address(absl::StrCat("127.0.0.1:", port));
  info.set_incarnation(Raw(IncarnationOf(index)));
  return info;
}

LocalShards::LocalShards(const v1::JobSpec& job, int count, int first_port, ServerOptions server,
                         int owners)
    : job_(job) {
  for (int i = 0; i < count; ++i) {
    const int port = first_port == 0 ? 0 : first_port + i;
    server.listen = absl::StrCat("127.0.0.1:", port);
    shards_.push_back(std::make_unique<LocalShard>(job, i, server));
  }
  view_.set_timeline(1);
  view_.mutable_epoch()->set_term(1);
  for (uint32_t owner :
       FirstShardMap(job.partition_count(), static_cast<uint32_t>(owners > 0 ? owners : count))) {
    view_.add_owners(owner);
  }
  for (int i = 0; i < count; ++i) *view_.add_shards() = InfoOf(i, at(i).port());
  for (int i = 0; i < count; ++i) {
    at(i).shard().view().SetLease(absl::InfiniteFuture());
    CAPSTAN_CHECK(at(i).shard().contents().BeginLoad(view_.timeline()).ok());
    Threads threads;
    CAPSTAN_CHECK(ps::LoadJob(at(i).shard(), LoadOrder(i), {.background = threads}).Run().ok());
  }
  Publish();
}

void LocalShards::SetTrainers(const std::vector<uint64_t>& trainers) {
  view_.clear_trainers();
  for (uint64_t trainer : trainers) view_.add_trainers()->set_trainer(trainer);
  Publish();
}

void LocalShards::SetTimeline(uint64_t timeline) {
  view_.set_timeline(timeline);
  Publish();
}

void LocalShards::SetAddress(int index, const std::string& address) {
  view_.mutable_shards(index)->set_address(address);
  Publish();
}

void LocalShards::Change(absl::FunctionRef<void(v1::View&)> change) {
  change(view_);
  Publish();
}

void LocalShards::ChangeFor(const std::vector<int>& hearers,
                            absl::FunctionRef<void(v1::View&)> change) {
  change(view_);
  view_.mutable_epoch()->set_n(view_.epoch().n() + 1);
  for (const int hearer : hearers) at(hearer).SetView(view_);
}

void LocalShards::Publish() {
  view_.mutable_epoch()->set_n(view_.epoch().n() + 1);
  for (const auto& shard : shards_) {
    if (shard != nullptr) shard->SetView(view_);
  }
}

}  // namespace capstan
