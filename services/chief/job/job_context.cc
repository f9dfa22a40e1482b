#include "chief/job/job_context.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace capstan::chief {

JobContext::JobContext(const ChiefOptions& given_options, JobPlan given, const JobHistory& history,
                       absl::Time now)
    : options(given_options),
      plan(std::move(given)),
      training(options, plan, now),
      placement(options, plan.spec, history.state ? history.state->view() : v1::View()),
      checkpoints(options, plan, history),
      recovery(options.term, plan.spec),
      writer(history.state.has_value()) {}

bool JobContext::EvaluatesAtStandstill() const {
  return training.work.has_lanes() || !plan.spec.train().early_stop().metric().empty();
}

SavedMark JobContext::MarkOfNow() const {
  SavedMark mark{.timeline = placement.timeline(),
                 .examples = training.progress.examples(),
                 .steps = training.progress.steps(),
                 .tasks_done = training.work.totals().done};
  for (const uint32_t index : placement.views.owners()) {
    if (const Shard* shard = placement.shards.Find(index)) {
      mark.pushes[index] = {shard->incarnation, shard->report.pushes()};
    }
  }
  return mark;
}

bool JobContext::CheckpointDue(absl::Time now) const {
  if (!running() || training.end.begun()) return false;
  const Checkpointer& checkpointer = checkpoints.checkpointer;
  if (!checkpointer.enabled() || checkpointer.running()) return false;
  if (!checkpointer.MayBegin(now)) return false;
  if (!recovery.partial.empty()) return false;  // A shard has not loaded its partitions yet.
  if (!checkpoints.askers.empty()) return true;
  if (checkpointer.Due(now) && !NothingSinceCheckpoint()) return true;
  if (training.standstill.save || checkpoints.save_again) return true;
  // A checkpoint that freezes the shards or, if that has failed and no shard leaves any more, one
  // that reopens them.
  return !checkpoints.frozen && (checkpoints.closed || !placement.ShardsToSave(now).empty());
}

std::set<uint32_t> JobContext::ShardsOfNextMap(absl::Time now) const {
  std::set<uint32_t> wished;
  for (uint32_t index = 0; index < options.shards; ++index) wished.insert(index);
  const std::set<uint32_t>& before = placement.next_map;
  if (before.empty()) return wished;
  if (state != v1::JOB_STATE_PENDING) return before;  // Decided by RecoveryDuty or MemberDuty.
  const bool grows = wished.size() > before.size();
  const std::set<uint32_t>& more = grows ? wished : before;
  const std::set<uint32_t>& fewer = grows ? before : wished;
  const absl::Time since = placement.shards.ThereSince(fewer, worker_lease(), now);
  return now >= since + worker_lease() && !AreThere(more, now) ? fewer : more;
}

uint64_t JobContext::SealOf(const SealedLease& lease) const {
  const Sealer& sealer = training.sealer;
  const uint64_t timeline = placement.timeline();
  return lease.lane ? sealer.OfLane(timeline, lease.trainer, *lease.lane, lease.generation)
                    : sealer.OfTask(timeline, lease.trainer, lease.stream, lease.generation);
}

std::vector<RecoverySource> JobContext::Sources() const {
  std::vector<RecoverySource> sources;
  for (const CheckpointFacts& facts : checkpoints.catalog.all()) {
    if (facts.timeline < recovery.first_timeline) continue;
    sources.push_back({.uri = checkpoints.checkpointer.UriOf(facts.id), .id = facts.id});
  }
  if (sources.empty()) {
    sources.push_back({.uri = recovery.from, .parameters_only = !recovery.from.empty()});
  }
  return sources;
}

void JobContext::Fail(v1::FailureKind kind, std::string_view why) {
  if (ended()) return;
  state = v1::JOB_STATE_FAILED;
  failure_kind = kind;
  reason = std::string(why);
  training.work.ReleaseAll();
  calls.CancelAll();
  end_written = writer.Require();
  outbox.Log(LogEvent::Level::kError, "the job has failed", {{"reason", reason}});
}

void JobContext::BeginEnd(std::string_view why) {
  if (training.end.begun()) return;
  training.end.step = EndStep::kBarrier;
  reason = std::string(why);
  outbox.Log(LogEvent::Level::kInfo, "training ends",
             {{"examples", absl::StrCat(training.progress.examples())},
              {"steps", absl::StrCat(training.progress.steps())},
              {"reason", reason.empty() ? "done" : reason}});
}

void JobContext::FlushShards() {
  for (uint32_t shard : placement.Owners()) {
    calls.Send(shard, v1::FlushRequest(), {.deadline = options.call_deadline});
  }
}

void JobContext::Resume() {
  training.standstill = {};
  if (!training.work.has_lanes()) return;
  training.barrier.Release(placement.views.coordinator(), options.call_deadline, calls);
}

void JobContext::AddCurvePoint(const v1::Evaluation& evaluation, absl::Time now) {
  const Progress& progress = training.progress;
  outbox.Add(AppendCurve{.elapsed_seconds = progress.elapsed_seconds(now),
                         .examples = progress.examples(),
                         .step = progress.steps(),
                         .loss = progress.loss(),
                         .examples_per_second = progress.examples_per_second(),
                         .evaluation = evaluation});
}

}  // namespace capstan::chief
