#include "chief/machines/checkpointer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "capstan/base/check.h"
#include "chief/state/pause.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kFirstQuestionPause = absl::Milliseconds(20);
constexpr absl::Duration kLongestQuestionPause = absl::Milliseconds(500);
// How long the next attempt waits after one that has failed: at first, and after many failures.
constexpr absl::Duration kFirstAgain = absl::Seconds(1);
constexpr absl::Duration kLongestAgain = absl::Seconds(30);

}  // namespace

bool Checkpointer::Due(absl::Time now) const {
  if (!enabled() || running() || options_.every <= absl::ZeroDuration()) return false;
  return now >= last_begun_ + options_.every;
}

// Ids sort by step, term and attempt. The last digits distinguish the checkpoints of chiefs with
// the same term, between which the state was lost.
std::string Checkpointer::NextId(uint64_t step) {
  return absl::StrFormat("%012d-%04x%04x%04x", step, options_.term & 0xFFFF, ++attempts_ & 0xFFFF,
                         options_.run_id & 0xFFFF);
}

void Checkpointer::Begin(Order order, absl::Time now, ShardCalls& calls) {
  CAPSTAN_CHECK(!running());
  last_begun_ = now;
  Attempt& attempt = attempt_.emplace();
  attempt.id = NextId(order.manifest.step());
  attempt.begun = now;
  attempt.moved = now;
  attempt.pause = kFirstQuestionPause;
  attempt.order = std::move(order);
  for (uint32_t shard : attempt.order.shards) {
    Ask(shard, absl::InfinitePast(), calls);
  }
}

void Checkpointer::Ask(uint32_t shard, absl::Time due, ShardCalls& calls) const {
  v1::SavePartitionsRequest request;
  request.set_uri(UriOf(attempt_->id));
  request.set_id(attempt_->id);
  request.set_parent(attempt_->order.parent);
  request.set_freeze(attempt_->order.leaving.contains(shard));
  calls.Send(shard, std::move(request),
             {.deadline = options_.call_deadline, .due = due, .may_be_refused = true});
}

void Checkpointer::OnSaved(uint32_t shard, const v1::SavePartitionsReply& reply, absl::Time now,
                           ShardCalls& calls) {
  if (!running() || attempt_->done.contains(shard)) return;
  uint64_t& saved = attempt_->saved[shard];
  const bool more = attempt_->marked.insert(shard).second || reply.partitions_saved() > saved;
  if (more || reply.done()) attempt_->moved = now;
  saved = reply.partitions_saved();
  if (!reply.done()) {
    Ask(shard, now + attempt_->pause, calls);
    attempt_->pause = std::min(kLongestQuestionPause, attempt_->pause * 1.25);
    return;
  }
  attempt_->done.insert(shard);
  attempt_->files.insert(attempt_->files.end(), reply.files().begin(), reply.files().end());
}

v1::Manifest Checkpointer::Complete() const {
  v1::Manifest manifest = attempt_->order.manifest;
  manifest.set_id(attempt_->id);
  std::vector<v1::SavedFile> files = attempt_->files;
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.partition() < b.partition(); });
  const bool delta =
      std::any_of(files.begin(), files.end(), [](const auto& file) { return file.delta(); });
  if (delta) manifest.set_parent(attempt_->order.parent);
  manifest.mutable_files()->Assign(files.begin(), files.end());
  return manifest;
}

std::optional<WriteManifest> Checkpointer::TakeManifest() {
  if (!running() || attempt_->writing) return std::nullopt;
  if (attempt_->done.size() < attempt_->order.shards.size()) return std::nullopt;
  attempt_->writing = true;
  return WriteManifest{UriOf(attempt_->id), Complete()};
}

std::optional<v1::Manifest> Checkpointer::OnManifestWritten(const absl::Status& written,
                                                            absl::Time now) {
  CAPSTAN_CHECK(running() && attempt_->writing);
  if (!written.ok()) {
    CountFailure(written, now);
    // The manifest may have been stored nevertheless: then the checkpoint exists, but nobody relies
    // on it.
    garbage_.uncertain.push_back(attempt_->id);
    attempt_.reset();
    return std::nullopt;
  }
  ++taken_;
  failures_in_a_row_ = 0;
  last_failure_ = absl::OkStatus();
  if (!last_given_up_.empty()) GiveUp("");
  last_took_ = now - attempt_->begun;
  v1::Manifest manifest = Complete();
  attempt_.reset();
  return manifest;
}

void Checkpointer::CountFailure(const absl::Status& why, absl::Time now) {
  ++failures_;
  failed_at_ = now;
  last_failure_ = why;
  again_ = now + PauseAfter(failures_in_a_row_, kFirstAgain, kLongestAgain);
  ++failures_in_a_row_;
}

void Checkpointer::Abandon(const absl::Status& why, absl::Time now, ShardCalls& calls) {
  if (!running()) return;
  // CANCELLED: the attempt itself has not failed, and another one may follow at once.
  if (!absl::IsCancelled(why)) CountFailure(why, now);
  // If its manifest is being written, the attempt may still become a checkpoint: its files are
  // kept.
  if (!attempt_->writing) GiveUp(attempt_->id);
  attempt_.reset();
  calls.Cancel<v1::SavePartitionsRequest>();
}

bool Checkpointer::Overdue(absl::Time now) const {
  return running() && now - attempt_->moved > options_.patience;
}

void Checkpointer::GiveUp(std::string id) {
  if (!last_given_up_.empty()) garbage_.ids.push_back(last_given_up_);
  if (!id.empty()) garbage_.ids.push_back(id);
  last_given_up_ = std::move(id);
}

std::optional<DeleteCheckpoints> Checkpointer::TakeGarbage() {
  if (garbage_.ids.empty() && garbage_.uncertain.empty()) return std::nullopt;
  return std::exchange(garbage_, {});
}

void Checkpointer::AddGarbage(std::vector<std::string> ids) {
  std::move(ids.begin(), ids.end(), std::back_inserter(garbage_.ids));
}

std::vector<uint32_t> Checkpointer::Unsaved() const {
  std::vector<uint32_t> unsaved;
  if (!running()) return unsaved;
  for (uint32_t shard : attempt_->order.shards) {
    if (!attempt_->done.contains(shard)) unsaved.push_back(shard);
  }
  return unsaved;
}

}  // namespace capstan::chief
