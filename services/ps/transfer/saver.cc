#include "ps/transfer/saver.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "capstan/base/log.h"
#include "capstan/base/status.h"

namespace capstan::ps {
namespace {

constexpr size_t kPast = 64;

}  // namespace

Saver::~Saver() {
  std::unique_ptr<Background::Work> work;  // Ends after `lock` is released.
  absl::MutexLock lock(&mu_);
  if (!save_) return;
  save_->job->Cancel();
  work = std::move(save_->work);
}

absl::StatusOr<v1::SavePartitionsReply> Saver::Order(const v1::SavePartitionsRequest& request) {
  if (request.id().empty()) return absl::InvalidArgumentError("the order has no id");
  if (outside_.places != nullptr) {
    CAPSTAN_RETURN_IF_ERROR(outside_.places->CheckWrite(request.uri()));
  }
  absl::MutexLock lock(&mu_);
  if (save_ && save_->order.id() == request.id()) {
    if (save_->order.uri() != request.uri()) {
      return absl::InvalidArgumentError(absl::StrCat("save ", request.id(),
                                                     " has been ordered into ", save_->order.uri(),
                                                     ", not ", request.uri()));
    }
    CAPSTAN_RETURN_IF_ERROR(CheckThatItMoves(*save_));
    return AnswerOf(*save_);
  }
  if (std::find(past_.begin(), past_.end(), request.id()) != past_.end()) {
    return absl::AbortedError(absl::StrCat("save ", request.id(), " has been overtaken"));
  }
  if (save_ && !save_->ended) {
    save_->job->Cancel();
    return absl::UnavailableError(absl::StrCat("save ", save_->order.id(), " is ending"));
  }
  if (!shard_.copies().Take(CopyTurn::Holder::kSave)) {
    return absl::UnavailableError("partitions are on their way to other shards");
  }
  Begin(request);
  return AnswerOf(*save_);
}

void Saver::Begin(const v1::SavePartitionsRequest& request) {
  if (save_) {
    save_->work.reset();  // The work has ended.
    past_.push_back(save_->order.id());
    if (past_.size() > kPast) past_.pop_front();
  }
  save_.emplace(Save{.order = request,
                     .job = std::make_unique<SaveJob>(shard_, request, outside_),
                     .began = shard_.clock().Now(),
                     .moved = shard_.clock().Now()});
  save_->job->Mark();
  save_->work = outside_.background.Begin([this, &job = *save_->job] { Run(job); });
}

absl::Status Saver::CheckThatItMoves(Save& save) const {
  if (!save.given_up.ok()) return save.given_up;
  const absl::Time now = shard_.clock().Now();
  const uint64_t taken = save.job->taken();
  if (save.ended || std::exchange(save.taken, taken) != taken) save.moved = now;
  if (now - save.moved <= kStill) return absl::OkStatus();
  save.job->Cancel();  // The job ends when its call to the store returns.
  save.given_up = absl::AbortedError(
      absl::StrCat("save ", save.order.id(), ": the store has taken nothing for ",
                   absl::FormatDuration(kStill), ", after ", taken, " bytes"));
  return save.given_up;
}

void Saver::Run(SaveJob& job) {
  const absl::Status status = job.Run();
  shard_.copies().Release(CopyTurn::Holder::kSave);
  std::string id;
  absl::Duration took;
  {
    absl::MutexLock lock(&mu_);
    save_->status = status;
    save_->ended = true;
    id = save_->order.id();
    took = shard_.clock().Now() - save_->began;
  }
  shard_.metrics().CountSave(status.ok(), job.bytes(), took);
  if (!status.ok()) {
    log::Warn("saving has failed", {{"checkpoint", id}, {"error", status}});
    return;
  }
  log::Info("saved", {{"checkpoint", id},
                      {"partitions", job.partitions_saved()},
                      {"bytes", job.bytes()},
                      {"took", took}});
}

absl::StatusOr<v1::SavePartitionsReply> Saver::AnswerOf(const Save& save) const {
  v1::SavePartitionsReply reply;
  reply.set_partitions_saved(save.job->partitions_saved());
  if (!save.ended) return reply;
  if (!save.status.ok()) return absl::AbortedError(save.status.message());
  reply.set_done(true);
  for (const v1::SavedFile& file : save.job->files()) *reply.add_files() = file;
  return reply;
}

}  // namespace capstan::ps
