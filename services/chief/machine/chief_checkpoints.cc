// ChiefMachine: checkpoints; see Checkpointer.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "chief/machine/chief_machine.h"

namespace capstan::chief {
namespace {

constexpr size_t kMaxAskers = 64;
constexpr double kMebibyte = 1 << 20;
// Shards that wait to leave say so five times a second.
constexpr absl::Duration kLeftAfter = absl::Seconds(2);

std::map<std::string, double> MetricsOf(const v1::Evaluation& evaluation) {
  return {evaluation.metrics().begin(), evaluation.metrics().end()};
}

}  // namespace

void ChiefMachine::TakeCheckpoint(uint64_t asker, absl::Time now) {
  askers_.push_back(asker);
  if (!checkpointer_.enabled()) {
    AnswerAskers(absl::FailedPreconditionError("the job has no checkpoint.uri"));
  } else if (ended() || state_ == v1::JOB_STATE_PENDING) {
    AnswerAskers(absl::FailedPreconditionError("the job is not running"));
  } else if (askers_.size() > kMaxAskers) {
    askers_.pop_back();
    actions_.push_back(AnswerCheckpoint{
        asker, absl::ResourceExhaustedError(absl::StrCat(kMaxAskers, " wait for it already"))});
  }
  Advance(now);
}

void ChiefMachine::AnswerAskers(const absl::StatusOr<std::string>& uri) {
  for (uint64_t asker : std::exchange(askers_, {})) {
    actions_.push_back(AnswerCheckpoint{asker, uri});
  }
}

// It waits for the moves under way.
bool ChiefMachine::CheckpointWanted(absl::Time now) const {
  return !MovesLinger() && CheckpointDue(now);
}

bool ChiefMachine::CheckpointDue(absl::Time now) const {
  if (state_ != v1::JOB_STATE_RUNNING || end_.begun() || !takeover_.settled()) return false;
  if (!checkpointer_.enabled() || checkpointer_.running()) return false;
  if (!checkpointer_.MayBegin(now)) return false;
  if (!partial_.empty()) return false;  // A shard is not back yet.
  if (checkpointer_.Due(now) || !askers_.empty() || rest_.save || save_again_) return true;
  // What closes the shards, or what opens them again where that has come to nothing.
  return !frozen_ && (closed_ || !ShardsToSave(now).empty());
}

// A copy of which no shard makes its last one opens those that an attempt before has closed.
void ChiefMachine::SeeOpenings() {
  if (checkpointer_.marked() && checkpointer_.leaving().empty()) closed_ = false;
}

bool ChiefMachine::SeesShardsOff(absl::Time now) const {
  const auto& shards = shards_.shards();
  return std::any_of(shards.begin(), shards.end(), [now](const auto& shard) {
    return shard.second.draining && now - shard.second.heard < kLeftAfter;
  });
}

// With a shard that leaves and is saved, unless it recovers partially, everybody returns to this
// checkpoint: what the others trained after it would be thrown away.
std::set<uint32_t> ChiefMachine::FreezingShards(absl::Time now) const {
  const std::set<uint32_t> leaving = ShardsToSave(now);
  if (leaving.empty() || partial()) return leaving;
  return views_.owners();
}

void ChiefMachine::AdvanceCheckpoint(absl::Time now) {
  if (prune_ && writer_.IsStored(*prune_)) Prune();
  SeeOpenings();
  if (checkpointer_.Overdue(now)) {
    checkpointer_.Abandon(absl::DeadlineExceededError("nothing has moved for too long"), now,
                          calls_);
    OnCheckpointFailed();
  }
  // A shard that has come to leave must be saved whole, with its last update.
  for (uint32_t shard : ShardsToSave(now)) {
    if (checkpointer_.saving() && !checkpointer_.leaves(shard) && !end_.begun()) {
      checkpointer_.Abandon(absl::CancelledError("a shard leaves"), now, calls_);
    }
  }
  if (std::optional<DeleteCheckpoints> garbage = checkpointer_.TakeGarbage()) {
    actions_.push_back(*std::move(garbage));
  }
  if (std::optional<WriteManifest> manifest = checkpointer_.TakeManifest()) {
    actions_.push_back(*std::move(manifest));
  }
  if (!CheckpointWanted(now) || calls_.Pending(Purpose::kClose)) return;
  if ((work_.has_lanes() || rest_.step != Rest::Step::kNone) && !AtRest()) return;
  BeginCheckpoint(now);
}

// The progress is recorded first: whatever the shards save afterwards holds all of it.
void ChiefMachine::BeginCheckpoint(absl::Time now) {
  lost_updates_meter_.BeginCheckpoint();
  close_log_.BeginCheckpoint(UnconfirmedCloses());
  closed_ = closed_ || !FreezingShards(now).empty();
  checkpointer_.Begin({.manifest = ManifestOfNow(now),
                       .parent = ParentOfNext(),
                       .shards = Owners(),
                       .leaving = FreezingShards(now)},
                      now, calls_);
}

// For a chief that takes over, what its predecessors trained since the last checkpoint counts, or
// who is restarted again and again would never save. Without one that is all that was trained.
void ChiefMachine::StartCheckpointClock(absl::Time now) {
  const CheckpointFacts* newest = catalog_.newest();
  const bool own = newest != nullptr && newest->timeline >= first_timeline_;
  const absl::Time last = own ? newest->at : now - absl::Seconds(progress_.elapsed_seconds(now));
  checkpointer_.StartClock(std::min(last, now));
}

v1::Manifest ChiefMachine::ManifestOfNow(absl::Time now) const {
  v1::Manifest manifest;
  manifest.set_step(progress_.steps());
  manifest.set_timeline(timeline());
  *manifest.mutable_job() = plan_.spec;
  *manifest.mutable_progress() = ProgressOfNow();
  manifest.set_elapsed_seconds(progress_.elapsed_seconds(now));
  // The metrics are those of these parameters, and of no others.
  if (rest_.evaluation) *manifest.mutable_metrics() = rest_.evaluation->metrics();
  return manifest;
}

std::string ChiefMachine::ParentOfNext() const {
  const CheckpointFacts* newest = catalog_.newest();
  if (newest == nullptr || newest->timeline < first_timeline_) return "";
  const std::optional<uint32_t> deltas = catalog_.DeltasOf(newest->id);
  return deltas && *deltas < plan_.spec.checkpoint().max_deltas() ? newest->id : "";
}

void ChiefMachine::OnSaveAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  if (answer.reply.ok()) {
    checkpointer_.OnSaved(answer.shard, std::get<v1::SavePartitionsReply>(*answer.reply), now,
                          calls_);
    return;
  }
  checkpointer_.Abandon(answer.reply.status(), now, calls_);
  OnCheckpointFailed();
}

void ChiefMachine::OnCheckpointFailed() {
  end_.saving = false;
  save_again_ = false;
  Log(LogEvent::Level::kError, "a checkpoint has failed; training goes on, and the next is tried",
      {{"error", checkpointer_.last_failure().ToString()},
       {"failures", absl::StrCat(checkpointer_.failures())}});
  AnswerAskers(checkpointer_.last_failure());
}

void ChiefMachine::OnManifestWritten(const absl::Status& written, absl::Time now) {
  if (!checkpointer_.running()) return;
  const bool frozen = !checkpointer_.leaving().empty();
  const std::optional<v1::Manifest> manifest = checkpointer_.OnManifestWritten(written, now);
  if (!manifest) {
    OnCheckpointFailed();
    return Advance(now);
  }
  const CheckpointFacts facts = FactsOf(*manifest, now);
  catalog_.Add(facts);
  lost_updates_meter_.OnCheckpointStored();
  close_log_.OnCheckpointStored();
  frozen_ = frozen;
  save_again_ = false;
  // An attempt that had begun before is not of these parameters.
  if (rest_.save && facts.metrics == MetricsOf(*rest_.evaluation)) {
    rest_.save = false;
    NoteWarning("best model", "");
  }
  prune_ = writer_.Require();
  Log(LogEvent::Level::kInfo, "checkpoint",
      {{"id", facts.id},
       {"examples", absl::StrCat(facts.examples)},
       {"MiB", absl::StrFormat("%.1f", static_cast<double>(facts.bytes) / kMebibyte)},
       {"seconds", absl::StrFormat("%.2f", absl::ToDoubleSeconds(checkpointer_.last_took()))},
       {"delta", facts.parent.empty() ? "no" : "yes"}});
  AnswerAskers(checkpointer_.UriOf(facts.id));
  if (end_.saving) {
    model_uri_ = checkpointer_.UriOf(facts.id);
    Complete(now);
  }
  Advance(now);
}

void ChiefMachine::Prune() {
  prune_.reset();
  std::vector<std::string> ids = catalog_.Superfluous();
  for (const std::string& id : ids) catalog_.Remove(id);
  if (!ids.empty()) actions_.push_back(DeleteCheckpoints{std::move(ids)});
}

}  // namespace capstan::chief
