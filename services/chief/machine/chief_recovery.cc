// ChiefMachine: back to a checkpoint, and on from there; see Recovery and Takeover.
#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "capstan/base/failpoint.h"
#include "capstan/plan/fit.h"
#include "chief/machine/chief_machine.h"

namespace capstan::chief {
namespace {

constexpr absl::Duration kLoadPoll = absl::Milliseconds(50);
constexpr absl::Duration kLoadAgain = absl::Seconds(1);
constexpr absl::Duration kWaitingLine = absl::Seconds(5);

std::set<uint32_t> KeysOf(const std::map<uint32_t, v1::RecoveryLoss>& losses) {
  std::set<uint32_t> keys;
  for (const auto& [key, loss] : losses) keys.insert(key);
  return keys;
}

}  // namespace

// The best last: the initial values only where there is no checkpoint at all.
std::vector<RecoverySource> ChiefMachine::Sources() const {
  std::vector<RecoverySource> sources;
  for (const CheckpointFacts& facts : catalog_.all()) {
    if (facts.timeline < first_timeline_) continue;
    sources.push_back({.uri = checkpointer_.UriOf(facts.id), .id = facts.id});
  }
  if (sources.empty()) sources.push_back({.uri = from_, .parameters_only = !from_.empty()});
  return sources;
}

void ChiefMachine::ReturnToCheckpoint(std::string_view cause, uint32_t shard, absl::Time now) {
  loss_.Clear();
  loss_.set_cause(std::string(cause));
  loss_.set_shard(shard);
  loss_.set_recovery(v1::RECOVERY_ROLLBACK);
  loss_.set_examples(progress_.examples());
  const std::set<uint32_t> shards = views_.owners();
  for (v1::TableLoss& of : lost_updates_meter_.LossOf(shards)) *loss_.add_tables() = std::move(of);
  lost_updates_meter_.OnReturned(shards);
  partial_.clear();
  CancelMoves(absl::CancelledError("the job returns to a checkpoint"), now);
  promotion_.reset();
  views_.DropPairs([](const v1::PartitionPair&) { return true; });
  views_.RemoveAllButOwners();  // The others join again, and hear of the next timeline.
  state_ = v1::JOB_STATE_RESTORING;
  takeover_.Settle();
  views_.ForgetTrainers();
  work_.ReleaseAll();
  calls_.CancelAll();
  checkpointer_.Abandon(absl::CancelledError(loss_.cause()), now, calls_);
  barrier_.Reset();
  end_ = {};
  rest_ = {};
  frozen_ = false;
  closed_ = false;
  save_again_ = false;
  recovery_.Begin(Sources(), now);
  if (cause.empty()) return;
  Log(LogEvent::Level::kWarning, "returning to the last checkpoint",
      {{"cause", loss_.cause()}, {"checkpoint", recovery_.source().id}});
}

void ChiefMachine::AdvanceRecovery(absl::Time now) {
  if (state_ == v1::JOB_STATE_RESTORING) RestoreWithoutThoseThatLeft(now);
  if (std::optional<std::string> uri = recovery_.TakeRead(now)) {
    actions_.push_back(ReadManifest{*std::move(uri)});
  }
  if (state_ != v1::JOB_STATE_RESTORING) {
    if (recovery_.found()) recovery_.BeginLoading(KeysOf(partial_));
    if (recovery_.loaded()) recovery_.End();
    return;
  }
  if (recovery_.found()) EnterTimeline(now);
  if (recovery_.loaded()) EndRecovery(now);
}

void ChiefMachine::OnManifestRead(absl::StatusOr<v1::Manifest> manifest, absl::Time now) {
  const RecoverySource tried = recovery_.source();
  const absl::Status why = manifest.status();
  const absl::Status left = recovery_.OnManifestRead(std::move(manifest), now);
  if (!why.ok()) {
    Log(LogEvent::Level::kError, "a checkpoint cannot be read",
        {{"checkpoint", tried.uri}, {"error", why.ToString()}});
    if (Recovery::IsDamage(why)) catalog_.Remove(tried.id);
  }
  if (!partial_.empty() && Recovery::IsDamage(why)) {
    GiveUpPartialRecovery(why, now);
  } else if (!left.ok()) {
    Fail(v1::FAILURE_KIND_ERROR, std::string(left.message()));
  }
  Advance(now);
}

// From here on everybody starts over from the checkpoint; nobody hears of it before it is stored.
void ChiefMachine::EnterTimeline(absl::Time now) {
  const v1::Manifest& manifest = recovery_.manifest();
  const bool own = !recovery_.source().id.empty();
  if (own && manifest.progress().tasks_fingerprint() != TasksFingerprint(plan_)) {
    Fail(v1::FAILURE_KIND_BAD_INPUT,
         "the training data are not those of the checkpoint: other files, or other sizes");
    return;
  }
  CAPSTAN_FAILPOINT("timeline.begin");
  if (own && begins_again_ && restores_ == 0) resumed_from_ = recovery_.source().uri;
  // A map holds for a timeline: nobody hears of it before.
  if (!views_.has_map()) {
    const std::set<uint32_t> shards = ShardsOfNextMap();
    // What has been trained had room.
    if (absl::Status fits = own ? absl::OkStatus() : CheckFit(shards); !fits.ok()) {
      return Fail(v1::FAILURE_KIND_BAD_INPUT, std::string(fits.message()));
    }
    views_.MakeMap(plan_.spec.partition_count(), shards);
  }
  views_.SetTimeline(next_timeline_++);
  RestoreProgress(own ? manifest : v1::Manifest(), now);
  writer_.Require();
  recovery_.BeginLoading(views_.owners());
}

absl::Status ChiefMachine::CheckFit(const std::set<uint32_t>& shards) const {
  return CheckShardsFit(plan_.spec, static_cast<int>(shards.size()), shards_.LeastMemory());
}

std::set<uint32_t> ChiefMachine::ShardsOfNextMap() {
  std::set<uint32_t> shards = std::exchange(next_map_, {});
  if (!shards.empty()) return shards;
  for (uint32_t index = 0; index < options_.shards; ++index) shards.insert(index);
  return shards;
}

void ChiefMachine::RestoreProgress(const v1::Manifest& manifest, absl::Time now) {
  const v1::TaskProgress& progress = manifest.progress();
  work_.ReleaseAll();
  work_.Restore(progress);
  bad_records_.Restore(progress);
  progress_.Restore(progress.examples(), progress.steps(), now);
  evaluations_.Restore(evaluations_.history(), progress.examples(), work_.totals().epochs_done);
  early_stop_ = EarlyStopper(plan_.spec.train().early_stop());
  for (const v1::Evaluation& evaluation : evaluations_.history()) {
    if (!evaluation.final()) (void)early_stop_.Add(evaluation);
  }
  for (v1::StreamClose& close : closer_.TakeAll()) closes_.emplace_back(0, std::move(close));
  const auto done = [this](const v1::StreamClose& close) {
    return work_.IsDone(StreamId{close.stream()});
  };
  std::erase_if(closes_, [&done](const auto& close) { return !done(close.second); });
  close_log_.KeepIf(done);
}

// Not before a view is published by which it can be called.
bool ChiefMachine::LoadsAreDue(uint32_t index) const {
  const Shard* shard = shards_.Find(index);
  if (!recovery_.Awaits(index) || calls_.Pending(Purpose::kLoad, index)) return false;
  if (shard == nullptr || !shard->present) return false;
  const auto& published = gate_.published().shards();
  return std::any_of(published.begin(), published.end(), [&](const v1::ShardInfo& info) {
    return info.index() == index && info.incarnation() == Raw(shard->incarnation);
  });
}

void ChiefMachine::SendLoads() {
  if (gate_.published().timeline() != timeline()) return;
  for (uint32_t index : Owners()) {
    if (LoadsAreDue(index)) SendLoad(index, absl::InfinitePast());
  }
}

void ChiefMachine::SendLoad(uint32_t shard, absl::Time due) {
  const v1::View& view = views_.current();
  std::vector<uint32_t> partitions;
  for (int i = 0; i < view.owners_size(); ++i) {
    if (view.owners(i) == shard) partitions.push_back(static_cast<uint32_t>(i));
  }
  const bool coordinator = work_.has_lanes() && shard == views_.coordinator();
  v1::LoadPartitionsRequest request = recovery_.RequestTo(partitions, coordinator);
  // Where a job that had ended goes on for more epochs, lanes go on that had ended.
  if (recovery_.manifest().job().train().epochs() < plan_.spec.train().epochs()) {
    v1::TaskProgress progress;
    work_.Save(progress);
    const int lanes = std::min(progress.lanes_size(), request.coordinator().lanes_size());
    for (int l = 0; l < lanes; ++l) {
      request.mutable_coordinator()->mutable_lanes(l)->set_ended(progress.lanes(l).ended());
    }
  }
  if (partial_.contains(shard)) *request.mutable_partial() = PartialRecoveryStart();
  calls_.Send(Purpose::kLoad, shard, std::move(request), options_.call_deadline, due);
}

void ChiefMachine::OnLoadAnswer(const ShardCalls::Answer& answer, absl::Time now) {
  if (!recovery_.Awaits(answer.shard)) return;
  const absl::Status& status = answer.reply.status();
  if (status.ok()) {
    const auto& reply = std::get<v1::LoadPartitionsReply>(*answer.reply);
    if (reply.done()) {
      recovery_.OnLoaded(answer.shard, reply);
      return OnPartiallyRecovered(answer.shard, reply, now);
    }
  } else {
    Log(LogEvent::Level::kError, "a shard cannot load",
        {{"shard", absl::StrCat(answer.shard)},
         {"checkpoint", recovery_.source().uri},
         {"error", status.ToString()}});
  }
  if (Recovery::IsDamage(status)) {
    calls_.Cancel(Purpose::kLoad);
    catalog_.Remove(recovery_.source().id);
    if (!partial_.empty()) return GiveUpPartialRecovery(status, now);
    const absl::Status left = recovery_.OnDamaged(status, now);
    if (!left.ok()) Fail(v1::FAILURE_KIND_ERROR, std::string(left.message()));
    return;
  }
  SendLoad(answer.shard, now + (status.ok() ? kLoadPoll : kLoadAgain));
}

void ChiefMachine::EndRecovery(absl::Time now) {
  CAPSTAN_FAILPOINT("timeline.loaded");
  recovery_.End();
  state_ = v1::JOB_STATE_RUNNING;
  writer_.Require();
  checkpointer_.StartClock(now);
  const absl::Duration took = now - recovery_.begun();
  const std::string& uri = recovery_.source().uri;
  if (!uri.empty()) ++restores_;
  if (loss_.cause().empty()) {
    progress_.Start(now);
    Log(LogEvent::Level::kInfo, "training begins",
        {{"shards", absl::StrCat(views_.owners().size())},
         {"partitions", absl::StrCat(plan_.spec.partition_count())},
         {"tasks", absl::StrCat(plan_.train.size())},
         {"epochs", absl::StrCat(plan_.spec.train().epochs())},
         {"from", uri.empty() ? "the initial values" : uri}});
    return;
  }
  const uint64_t before = loss_.examples();
  loss_.set_examples(before - std::min(before, progress_.examples()));
  loss_.set_timeline(timeline());
  loss_.set_checkpoint(uri);
  loss_.set_seconds(absl::ToDoubleSeconds(took));
  losses_.push_back(loss_);
  Log(LogEvent::Level::kWarning, "training goes on from a checkpoint",
      {{"cause", loss_.cause()},
       {"checkpoint", uri.empty() ? "none: the initial values" : uri},
       {"examples", absl::StrCat(progress_.examples())},
       {"examples to be trained again", absl::StrCat(loss_.examples())},
       {"of tables", TextOf(loss_)},
       {"rows", absl::StrCat(recovery_.rows())},
       {"seconds", absl::StrFormat("%.2f", loss_.seconds())}});
}

void ChiefMachine::AdvanceTakeover(absl::Time now) {
  if (takeover_.complete(now)) views_.ForgetTrainers();
  if (takeover_.settled()) return;
  if (ReplaceThoseThatDidNotComeBack(now) || promotion_) return;
  if (MapIsOver(now)) {
    takeover_.Settle();
    views_.ForgetMap();
    state_ = v1::JOB_STATE_PENDING;
    return AdvanceStart(now);
  }
  switch (takeover_.shards(shards_)) {
    case Takeover::Shards::kAwaited:
      return;
    case Takeover::Shards::kBack:
      takeover_.Settle();
      if (work_.has_lanes()) {
        barrier_.Release(views_.coordinator(), options_.call_deadline, calls_);
      }
      Log(LogEvent::Level::kInfo, "this chief goes on where the one before ended",
          {{"term", absl::StrCat(options_.term)},
           {"examples", absl::StrCat(progress_.examples())}});
      return;
    case Takeover::Shards::kChanged:
      break;
  }
  if (AnotherMapMayCome(now)) return;
  const std::set<uint32_t> awaited = takeover_.Awaited(shards_);
  if (MayRecoverPartially() && !awaited.empty()) return;
  // Where all are anew nothing is gained by losing what can be trained again.
  const std::set<uint32_t> changed = takeover_.Changed(shards_);
  if (!MayRecoverPartially() || takeover_.AllChanged(shards_)) {
    return ReturnToCheckpoint("chief and shards were started anew", 0, now);
  }
  // A shard that recovers partially is told how far the tasks are, which the workers know.
  if (!takeover_.complete(now)) return;
  takeover_.Settle();
  for (uint32_t shard : changed) RecoverPartially(shard, now);
}

// The job was started again with another number of shards, so that everybody returns to a
// checkpoint over those that are wished: they are there, and the others, which this chief was not
// told of, have had their time to come back; or all that there were have come without what they
// had.
bool ChiefMachine::MapIsOver(absl::Time now) const {
  if (!shards_.complete()) return false;
  const std::set<uint32_t> awaited = takeover_.Awaited(shards_);
  if (!awaited.empty()) return *awaited.begin() >= options_.shards && takeover_.patience_over(now);
  return views_.owners().size() < shards_.quorum() && views_.owners().size() < shards_.most() &&
         takeover_.AllChanged(shards_);
}

// Those that would bring it about have their time. Then the shards that there were go on alone: the
// number was changed by hand while the job ran.
bool ChiefMachine::AnotherMapMayCome(absl::Time now) const {
  const std::set<uint32_t> awaited = takeover_.Awaited(shards_);
  if (!awaited.empty() && *awaited.rbegin() >= options_.shards) return true;
  return views_.owners().size() < shards_.quorum() && !shards_.complete() &&
         takeover_.AllChanged(shards_) && !takeover_.patience_over(now);
}

// What the end of the job waits for: the model, and then the state that says that it is there.
std::string ChiefMachine::EndWaitsFor() const {
  const auto because = [](const absl::Status& status) {
    return status.ok() ? "" : absl::StrCat(", which fails: ", status.ToString());
  };
  if (!writer_.IsStored(completion_)) {
    return absl::StrCat("the object store, for the chief's state", because(writer_.last()));
  }
  if (state_ != v1::JOB_STATE_CHECKPOINTING) return "";
  std::string what = "the model to be saved";
  if (const std::vector<uint32_t> unsaved = checkpointer_.Unsaved(); !unsaved.empty()) {
    absl::StrAppend(&what, " by shard ", absl::StrJoin(unsaved, ", "));
  }
  return absl::StrCat(what, because(checkpointer_.last_failure()));
}

std::string ChiefMachine::WaitingFor(absl::Time now) const {
  std::vector<std::string> awaited;
  if (std::string end = EndWaitsFor(); !end.empty()) awaited.push_back(std::move(end));
  if (ended()) return absl::StrJoin(awaited, "; ");
  std::set<uint32_t> shards = views_.owners();
  for (uint32_t index = 0; !views_.has_map() && index < options_.shards; ++index) {
    shards.insert(index);
  }
  for (uint32_t index : shards) {
    const Shard* shard = shards_.Find(index);
    if (shard == nullptr || !shard->present || IsSilent(*shard, now)) {
      awaited.push_back(absl::StrCat("shard ", index));
    } else if (recovery_.Awaits(index)) {
      awaited.push_back(absl::StrCat("shard ", index, ", which loads its partitions"));
    }
  }
  if (recovery_.phase() == Recovery::Phase::kReading) {
    awaited.push_back(absl::StrCat("the object store, for ", recovery_.source().uri));
  }
  if (gate_.published().timeline() != timeline()) {
    awaited.push_back(writer_.last().ok() ? "the object store"
                                          : absl::StrCat("the object store, which fails: ",
                                                         writer_.last().ToString()));
  }
  if (std::string data = AwaitedData(); !data.empty()) awaited.push_back(std::move(data));
  return absl::StrJoin(awaited, "; ");
}

void ChiefMachine::LogWaiting(absl::Time now) {
  if (waiting_logged_ == absl::InfinitePast()) waiting_logged_ = now;
  if (now < waiting_logged_ + kWaitingLine) return;
  waiting_logged_ = now;
  const std::string waiting = WaitingFor(now);
  if (!waiting.empty()) Log(LogEvent::Level::kWarning, "the job waits", {{"for", waiting}});
}

}  // namespace capstan::chief
