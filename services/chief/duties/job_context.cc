#include "chief/duties/job_context.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace capstan::chief {
namespace {

// The loss is shown as a mean over about so many batches.
constexpr uint64_t kLossBatches = 50;
// Whoever has not been heard of for so many heartbeats may be gone.
constexpr int kBeatsMissed = 3;
// A shard that leaves is saved instead when so many of its moves have failed.
constexpr int kMovesMayFail = 2;

MembershipOptions MembershipOf(const ChiefOptions& options, const v1::JobSpec& spec) {
  return {.term = options.term,
          .threads = spec.train().compute_threads(),
          .lease = absl::Seconds(spec.lease().worker_lease_seconds()),
          .presence = kBeatsMissed * absl::Seconds(spec.lease().heartbeat_seconds()),
          .data_stall = absl::Seconds(spec.lease().data_stall_seconds()),
          .max_workers = options.max_workers};
}

CheckpointerOptions CheckpointerOf(const ChiefOptions& options, const v1::JobSpec& spec) {
  const v1::CheckpointSpec& checkpoint = spec.checkpoint();
  const absl::string_view prefix = absl::StripSuffix(checkpoint.uri(), "/");
  return {.folder = prefix.empty() ? "" : absl::StrCat(prefix, "/", spec.job(), "/checkpoints"),
          .term = options.term,
          .run_id = options.run_id,
          .every = absl::Seconds(checkpoint.every_seconds()),
          .call_deadline = options.call_deadline,
          .patience = options.still_patience};
}

MoveOptions MovesOf(const ChiefOptions& options, const v1::JobSpec& spec) {
  return {.batch_partitions = options.move_batch,
          .bytes_per_second = spec.rebalance().bytes_per_second(),
          .call_deadline = options.call_deadline};
}

}  // namespace

JobContext::JobContext(const ChiefOptions& given_options, JobPlan given, const JobHistory& history,
                       absl::Time now)
    : options(given_options),
      plan(std::move(given)),
      sealer(options.seal_key),
      workers(MembershipOf(options, plan.spec)),
      stragglers({.average = options.straggler_average, .probation = options.straggler_probation}),
      work(plan),
      evaluations(plan),
      early_stop(plan.spec.train().early_stop()),
      progress({.loss_window = kLossBatches * plan.spec.train().batch_size()}, now),
      closes(plan.spec),
      shards(options.shards, plan.spec.partition_count()),
      hearing(plan.spec),
      loads(plan.spec.partition_count()),
      moves(MovesOf(options, plan.spec)),
      views(options.term, plan.spec),
      writer(history.state.has_value()),
      gate(history.state ? history.state->view() : v1::View()),
      checkpointer(CheckpointerOf(options, plan.spec)),
      catalog({.keep = plan.spec.checkpoint().keep(),
               .metric = plan.spec.train().early_stop().metric()}),
      lost_updates(plan.spec),
      // Where nothing is stored nobody knows of earlier chiefs; their timelines are lower all the
      // same.
      next_timeline(options.term),
      first_timeline(options.term) {
  for (const CheckpointFacts& facts : history.checkpoints) catalog.Add(facts);
  checkpointer.AddGarbage(history.garbage);
}

absl::Duration JobContext::worker_lease() const {
  return absl::Seconds(plan.spec.lease().worker_lease_seconds());
}

bool JobContext::MayTake(uint32_t index, absl::Time now) const {
  const Shard* shard = shards.Find(index);
  return shard != nullptr && shard->present && !shard->draining && !hearing.IsSilent(*shard, now);
}

std::set<uint32_t> JobContext::LeavingShards() const {
  std::set<uint32_t> leaving;
  for (const auto& [index, shard] : shards.shards()) {
    if (shard.draining && views.Owns(index)) leaving.insert(index);
  }
  return leaving;
}

std::set<uint32_t> JobContext::ShardsToSave(absl::Time now) const {
  std::set<uint32_t> leaving = LeavingShards();
  if (leaving.empty()) return leaving;
  const std::set<uint32_t>& members = views.members();
  const bool takers = std::any_of(members.begin(), members.end(),
                                  [&](uint32_t index) { return MayTake(index, now); });
  if (!takers) return leaving;
  std::erase_if(leaving,
                [this](uint32_t index) { return moves.FailuresOf(index) < kMovesMayFail; });
  return leaving;
}

std::vector<std::optional<uint32_t>> JobContext::Backups() const {
  const v1::View& view = views.current();
  std::vector<std::optional<uint32_t>> backups(static_cast<size_t>(view.owners_size()));
  for (const v1::PartitionPair& pair : view.pairs()) backups[pair.partition()] = pair.backup();
  return backups;
}

size_t JobContext::Unpaired() const {
  const v1::View& view = views.current();
  return static_cast<size_t>(view.owners_size() - view.pairs_size());
}

// An open round needs its lanes until the barrier is there.
bool JobContext::LeasesTakenBack() const {
  if (!work.has_lanes()) return end.begun() || rest.step != Rest::Step::kNone;
  return end.begun() && (end.step != EndStep::kBarrier || barrier.reached());
}

bool JobContext::Drained(absl::Time now) const {
  return end.draining.empty() && takeover.complete(now);
}

bool JobContext::EvaluatesAtRest() const {
  return work.has_lanes() || !plan.spec.train().early_stop().metric().empty();
}

bool JobContext::EvaluationDue() const {
  return !end.begun() && evaluations.Due(progress.examples(), work.totals().epochs_done);
}

bool JobContext::AtRest() const {
  return work.has_lanes() ? barrier.reached() : rest.step == Rest::Step::kReached;
}

bool JobContext::CheckpointDue(absl::Time now) const {
  if (state != v1::JOB_STATE_RUNNING || end.begun() || !takeover.settled()) return false;
  if (!checkpointer.enabled() || checkpointer.running()) return false;
  if (!checkpointer.MayBegin(now)) return false;
  if (!partial.empty()) return false;  // A shard is not back yet.
  if (checkpointer.Due(now) || !askers.empty() || rest.save || save_again) return true;
  // What closes the shards, or what opens them again where that has come to nothing.
  return !frozen && (closed || !ShardsToSave(now).empty());
}

bool JobContext::MayRecoverPartially() const {
  return partial_recovery() && state == v1::JOB_STATE_RUNNING && !end.begun();
}

std::vector<RecoverySource> JobContext::Sources() const {
  std::vector<RecoverySource> sources;
  for (const CheckpointFacts& facts : catalog.all()) {
    if (facts.timeline < first_timeline) continue;
    sources.push_back({.uri = checkpointer.UriOf(facts.id), .id = facts.id});
  }
  if (sources.empty()) sources.push_back({.uri = from, .parameters_only = !from.empty()});
  return sources;
}

v1::TaskProgress JobContext::ProgressOfNow() const {
  v1::TaskProgress now;
  work.Save(now);
  bad_records.Save(work.totals().epochs_done, now);
  now.set_examples(progress.examples());
  now.set_steps(progress.steps());
  if (!barrier.reached()) return now;
  // As of the round of the barrier, whatever holders have told since.
  const v1::HoldRoundsReply& held = barrier.held();
  *now.mutable_last_closed() = held.last();
  for (int lane = 0; lane < std::min(now.lanes_size(), held.lanes_size()); ++lane) {
    now.mutable_lanes(lane)->set_cursor(held.lanes(lane).cursor());
    now.mutable_lanes(lane)->set_ended(held.lanes(lane).ended());
  }
  return now;
}

void JobContext::Fail(v1::FailureKind kind, std::string_view why) {
  if (ended()) return;
  state = v1::JOB_STATE_FAILED;
  failure_kind = kind;
  reason = std::string(why);
  work.ReleaseAll();
  calls.CancelAll();
  writer.Require();
  outbox.Log(LogEvent::Level::kError, "the job has failed", {{"reason", reason}});
}

void JobContext::BeginEnd(std::string_view why) {
  if (end.begun()) return;
  end.step = EndStep::kBarrier;
  reason = std::string(why);
  outbox.Log(LogEvent::Level::kInfo, "training ends",
             {{"examples", absl::StrCat(progress.examples())},
              {"steps", absl::StrCat(progress.steps())},
              {"reason", reason.empty() ? "done" : reason}});
}

void JobContext::BeginEvaluation(bool at_barrier, bool final, absl::Time now) {
  v1::Evaluation about;
  about.set_examples(progress.examples());
  about.set_step(progress.steps());
  about.set_elapsed_seconds(progress.elapsed_seconds(now));
  about.set_at_round_boundary(at_barrier);
  about.set_final(final);
  about.set_train_loss(progress.loss());
  evaluations.Begin(std::move(about), work.totals().epochs_done);
}

void JobContext::TakeLeasesBack() {
  for (const auto& [name, worker] : workers.live()) {
    for (const Trainer& trainer : worker.trainers) {
      if (work.Holds(trainer.id)) end.draining.insert(name);
    }
  }
  work.ReleaseAll();
}

void JobContext::FlushShards() {
  for (uint32_t shard : Owners()) {
    calls.Send(Purpose::kFlush, shard, v1::FlushRequest(), options.call_deadline);
  }
}

void JobContext::Resume() {
  rest = {};
  if (work.has_lanes()) barrier.Release(views.coordinator(), options.call_deadline, calls);
}

void JobContext::AddCurvePoint(const v1::Evaluation& evaluation, absl::Time now) {
  outbox.Add(AppendCurve{.elapsed_seconds = progress.elapsed_seconds(now),
                         .examples = progress.examples(),
                         .step = progress.steps(),
                         .loss = progress.loss(),
                         .examples_per_second = progress.examples_per_second(),
                         .evaluation = evaluation});
}

}  // namespace capstan::chief
