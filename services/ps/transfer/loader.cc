#include "ps/transfer/loader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"

namespace capstan::ps {
namespace {

bool SameOrder(const v1::LoadPartitionsRequest& a, const v1::LoadPartitionsRequest& b) {
  return a.uri() == b.uri() && a.parameters_only() == b.parameters_only() &&
         a.has_partial() == b.has_partial() &&
         std::equal(a.partitions().begin(), a.partitions().end(), b.partitions().begin(),
                    b.partitions().end());
}

// Returns true if what is stored does not fit, is damaged or is missing. All other errors may be
// temporary: a store may be unavailable, and its access keys may be provided later, or be replaced.
bool Lasts(const absl::Status& status) {
  return absl::IsDataLoss(status) || absl::IsNotFound(status) || absl::IsInvalidArgument(status) ||
         absl::IsFailedPrecondition(status);
}

}  // namespace

Loader::~Loader() {
  std::unique_ptr<Background::Work> work;  // Ends after `lock` is released.
  absl::MutexLock lock(&mu_);
  if (!load_) return;
  load_->job->Cancel();
  work = std::move(load_->work);
}

absl::Status Loader::Check(const v1::LoadPartitionsRequest& request) const {
  const Catalog& catalog = shard_.catalog();
  if (outside_.places != nullptr && !request.uri().empty()) {
    CAPSTAN_RETURN_IF_ERROR(outside_.places->CheckRead(request.uri()));
  }
  for (uint32_t partition : request.partitions()) {
    CAPSTAN_RETURN_IF_ERROR(catalog.CheckPartition(partition));
  }
  if (!request.has_coordinator()) return absl::OkStatus();
  for (Part part : {Part::kDense, Part::kSparse}) {
    const uint32_t lanes = catalog.policy(part).lanes();
    if (catalog.IsSync(part) && request.coordinator().lanes_size() != static_cast<int>(lanes)) {
      return absl::InvalidArgumentError(absl::StrCat("the coordinator is told of ",
                                                     request.coordinator().lanes_size(),
                                                     " lanes, the job has ", lanes));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::LoadPartitionsReply> Loader::Order(const v1::LoadPartitionsRequest& request) {
  CAPSTAN_RETURN_IF_ERROR(Check(request));
  const uint64_t timeline = request.header().timeline();
  absl::MutexLock lock(&mu_);
  if (load_ && load_->order.header().timeline() == timeline) {
    if (!SameOrder(load_->order, request)) {
      return absl::FailedPreconditionError(
          absl::StrCat("timeline ", timeline, " has been ordered with other contents"));
    }
    if (!load_->ended) return ReplyOf(*load_);
    if (load_->status.ok() && shard_.timeline() == timeline) return ReplyOf(*load_);
    if (!load_->status.ok() && Lasts(load_->status)) return load_->status;
  }
  CAPSTAN_RETURN_IF_ERROR(shard_.contents().BeginLoad(timeline));
  // The load under way gives up soon; this order begins its own when it is repeated.
  if (load_ && !load_->ended) {
    load_->job->Cancel();
    return v1::LoadPartitionsReply();
  }
  Begin(request);
  return ReplyOf(*load_);
}

void Loader::Begin(const v1::LoadPartitionsRequest& request) {
  if (load_) load_->work.reset();  // The work has ended.
  load_.emplace(Load{.order = request,
                     .job = std::make_unique<LoadJob>(shard_, request, outside_),
                     .began = shard_.clock().Now()});
  load_->work = outside_.background.Begin([this, &job = *load_->job] { Run(job); });
}

void Loader::Run(LoadJob& job) {
  absl::Status status = job.Run();
  Load ended;
  {
    absl::MutexLock lock(&mu_);
    load_->status = status;
    load_->took = shard_.clock().Now() - load_->began;
    load_->ended = true;
    ended.order = load_->order;
    ended.took = load_->took;
  }
  shard_.metrics().CountLoad(status.ok(), job.bytes(), ended.took);
  const uint64_t timeline = ended.order.header().timeline();
  const std::string& uri = ended.order.uri();
  if (!status.ok()) {
    log::Warn("loading has failed", {{"timeline", timeline}, {"uri", uri}, {"error", status}});
    return;
  }
  log::Info("loaded", {{"timeline", timeline},
                       {"uri", uri},
                       {"partitions", ended.order.partitions_size()},
                       {"rows", job.rows()},
                       {"bytes", job.bytes()},
                       {"took", ended.took}});
}

v1::LoadPartitionsReply Loader::ReplyOf(const Load& load) const {
  v1::LoadPartitionsReply reply;
  reply.set_done(load.ended && load.status.ok());
  reply.set_rows(load.job->rows());
  reply.set_bytes(load.job->bytes());
  reply.set_batches_lost(load.job->batches_lost());
  reply.set_seconds(
      absl::ToDoubleSeconds(load.ended ? load.took : shard_.clock().Now() - load.began));
  return reply;
}

}  // namespace capstan::ps
