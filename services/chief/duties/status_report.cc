#include "chief/duties/status_report.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/base/member_states.h"
#include "chief/duties/waiting.h"
#include "chief/machines/curve_uri.h"

namespace capstan::chief {
namespace {

uint64_t ClockOf(const Worker& worker) {
  uint64_t steps = 0;
  for (const Trainer& trainer : worker.trainers) steps += trainer.clock;
  return steps;
}

std::string StuckOn(const Worker& worker) {
  const auto seconds = static_cast<int64_t>(worker.report.stalled_seconds());
  return absl::StrCat(worker.report.stalled_on(), " for ", seconds, " s");
}

// Returns by how many steps the worker's slowest trainer in the quorum is behind the fastest
// trainer of all workers.
uint64_t LagOf(const Worker& worker, uint64_t fastest) {
  uint64_t lag = 0;
  for (const Trainer& trainer : worker.trainers) {
    const uint64_t clock = std::max(trainer.clock, trainer.start_clock);
    if (trainer.training && clock < fastest) lag = std::max(lag, fastest - clock);
  }
  return lag;
}

uint64_t RoundedToThreeDigits(uint64_t number) {
  uint64_t unit = 1;
  while (number / unit >= 1000) unit *= 10;
  return (number + unit / 2) / unit * unit;
}

// Returns how many examples the whole job has. If the records have not been counted, the number is
// an estimate until an epoch is over, and is rounded to three digits so that it does not flicker.
uint64_t ExpectedExamples(const JobContext& job) {
  uint64_t expected = job.training.work.ExpectedExamples();
  const bool counted = job.training.work.totals().epochs_done > 0 || job.training.work.counted();
  if (!counted && !job.ended()) expected = RoundedToThreeDigits(expected);
  const v1::TrainSpec& train = job.plan.spec.train();
  if (train.max_steps() > 0) {
    const uint64_t most =
        train.max_steps() * train.batch_size() * job.training.work.batches_a_step();
    expected = expected == 0 ? most : std::min(expected, most);
  }
  return std::max(expected, job.training.progress.examples());
}

double ProgressShare(const JobContext& job) {
  if (job.state == v1::JOB_STATE_COMPLETED) return 1;
  const uint64_t expected = ExpectedExamples(job);
  if (expected == 0 || job.training.work.ExpectedExamples() == 0) return 0;
  return static_cast<double>(job.training.progress.examples()) / static_cast<double>(expected);
}

double EtaSeconds(const JobContext& job) {
  if (job.ended()) return 0;
  const double rate = job.training.progress.examples_per_second();
  if (rate <= 0 || job.training.work.ExpectedExamples() == 0) return -1;
  return static_cast<double>(ExpectedExamples(job) - job.training.progress.examples()) / rate;
}

double MeanRate(const JobContext& job, absl::Time until) {
  const double seconds = job.training.progress.elapsed_seconds(until);
  return seconds > 0 ? static_cast<double>(job.training.progress.examples()) / seconds : 0;
}

void FillWorkers(const JobContext& job, v1::GetStatusReply& reply, absl::Time now) {
  const uint64_t fastest = job.training.workers.FastestClock();
  for (const auto& [name, worker] : job.training.workers.live()) {
    v1::WorkerStatus& status = *reply.add_workers();
    status.set_name(name);
    const bool works =
        std::any_of(worker.trainers.begin(), worker.trainers.end(), [&job](const Trainer& trainer) {
          return trainer.training || !job.training.evaluations.LeasesOf(trainer.id).empty();
        });
    const bool silent = job.training.workers.IsSilent(worker, now) && !job.ended();
    const bool stuck = worker.stuck && !job.ended() && !silent;
    status.set_state(job.ended()       ? worker_state::kParked
                     : silent          ? worker_state::kSilent
                     : worker.draining ? worker_state::kDraining
                     : stuck           ? worker_state::kStuck
                     : works           ? worker_state::kActive
                                       : worker_state::kIdle);
    if (stuck) status.set_stuck(StuckOn(worker));
    status.set_examples_per_second(job.ended() || silent ? 0 : worker.report.examples_per_second());
    status.set_steps(ClockOf(worker));
    status.set_step_seconds(worker.step_seconds());
    status.set_lag(LagOf(worker, fastest));
    status.set_straggler(job.training.stragglers.IsStraggler(name) && !silent);
    status.set_silent_seconds(absl::ToDoubleSeconds(now - worker.heard));
    *status.mutable_report() = worker.report;
  }
  for (const Worker& worker : job.training.workers.lost()) {
    if (job.training.workers.live().contains(worker.name)) continue;
    v1::WorkerStatus& status = *reply.add_workers();
    status.set_name(worker.name);
    status.set_state(worker_state::kLost);
    status.set_steps(ClockOf(worker));
    status.set_silent_seconds(absl::ToDoubleSeconds(now - worker.heard));
  }
}

void FillShards(const JobContext& job, v1::GetStatusReply& reply, absl::Time now) {
  for (const auto& [index, shard] : job.placement.shards.shards()) {
    v1::ShardStatus& status = *reply.add_shards();
    const bool lost = !shard.present || job.placement.hearing.IsSilent(shard, now);
    const bool loads = job.recovery.restoration.Awaits(index) ||
                       (!job.model_uri.empty() && job.ended() && job.placement.Lacks(shard));
    status.set_index(index);
    const bool joins =
        job.placement.views.has_map() && !job.placement.views.members().contains(index);
    status.set_state(lost             ? shard_state::kLost
                     : shard.draining ? shard_state::kDraining
                     : loads          ? shard_state::kRestoring
                     : joins          ? shard_state::kJoining
                                      : shard_state::kServing);
    const auto& owners = job.placement.views.current().owners();
    status.set_partitions(static_cast<uint32_t>(std::count(owners.begin(), owners.end(), index)));
    const auto& pairs = job.placement.views.current().pairs();
    status.set_backups(static_cast<uint32_t>(std::count_if(
        pairs.begin(), pairs.end(), [i = index](const auto& pair) { return pair.backup() == i; })));
    status.set_load(lost ? 0
                         : job.placement.loads.OfShard(index, job.placement.views.current()).load);
    status.set_address(shard.address);
    status.set_pushes_per_second(lost ? 0 : shard.pushes_per_second);
    status.set_pulls_per_second(lost ? 0 : shard.pulls_per_second);
    *status.mutable_report() = shard.report;
    status.mutable_report()->clear_partitions();  // The status has their sum as `load`.
    status.set_cpu_share(lost ? 0 : shard.cpu_share);
    status.set_zone(shard.zone);
  }
}

void FillCheckpoint(const JobContext& job, v1::CheckpointStatus& status, absl::Time now) {
  if (const CheckpointFacts* newest = job.checkpoints.catalog.newest()) {
    status.set_uri(job.checkpoints.checkpointer.UriOf(newest->id));
    status.set_step(newest->step);
    status.set_examples(newest->examples);
    status.set_age_seconds(absl::ToDoubleSeconds(now - newest->at));
    const absl::Time complete = std::max(newest->at, job.checkpoints.left_out);
    status.set_complete_seconds(absl::ToDoubleSeconds(now - complete));
    status.set_bytes(newest->bytes);
    status.set_delta(!newest->parent.empty());
  }
  status.set_seconds(absl::ToDoubleSeconds(job.checkpoints.checkpointer.last_took()));
  status.set_running(job.checkpoints.checkpointer.running());
  status.set_taken(job.checkpoints.checkpointer.taken());
  status.set_failures(job.checkpoints.checkpointer.failures());
  if (status.failures() > 0) {
    status.set_failed_seconds(
        absl::ToDoubleSeconds(now - job.checkpoints.checkpointer.failed_at()));
  }
  if (!job.checkpoints.checkpointer.last_failure().ok()) {
    status.set_last_error(std::string(job.checkpoints.checkpointer.last_failure().message()));
  } else if (!job.writer.last().ok()) {
    status.set_last_error(std::string(job.writer.last().message()));
  }
  status.set_restores(job.recovery.restores);
}

void FillProgress(const JobContext& job, v1::GetStatusReply& reply, absl::Time now) {
  const absl::Time until = job.completed.value_or(now);
  const WorkTotals totals = job.training.work.totals();
  reply.set_elapsed_seconds(job.training.progress.elapsed_seconds(until));
  reply.set_examples(job.training.progress.examples());
  reply.set_examples_expected(ExpectedExamples(job));
  reply.set_progress(ProgressShare(job));
  reply.set_eta_seconds(EtaSeconds(job));
  reply.set_global_step(job.training.progress.steps());
  if (job.training.work.has_lanes()) reply.set_round(job.training.progress.steps());
  reply.set_data_epoch(std::min(totals.epochs_done, job.plan.spec.train().epochs() - 1));
  reply.set_examples_per_second(job.training.end.begun()
                                    ? MeanRate(job, until)
                                    : job.training.progress.examples_per_second());
  reply.set_loss(job.training.progress.loss().value_or(0));
  for (const v1::Evaluation& evaluation : job.training.evaluations.history()) {
    *reply.add_evaluations() = evaluation;
  }
}

void FillTasks(const WorkTotals& totals, v1::TaskCounts& tasks) {
  tasks.set_todo(totals.todo);
  tasks.set_doing(totals.doing);
  tasks.set_done(totals.done);
  tasks.set_total(totals.total);
}

}  // namespace

v1::GetStatusReply StatusOf(const JobContext& job, absl::Time now) {
  v1::GetStatusReply reply;
  reply.set_job(job.plan.spec.job());
  const v1::JobState state = job.told_state();
  reply.set_state(state);
  reply.set_reason(job.reason);
  reply.set_failure_kind(job.failure_kind);
  FillProgress(job, reply, now);
  FillWorkers(job, reply, now);
  FillShards(job, reply, now);
  reply.set_staleness_median(job.placement.shards.StalenessMedian());
  reply.set_staleness_max(job.placement.shards.StalenessMax());
  FillTasks(job.training.work.totals(), *reply.mutable_tasks());
  if (state == v1::JOB_STATE_COMPLETED) reply.set_model_uri(job.model_uri);
  reply.set_curve_uri(CurveUri(job.plan.spec));
  reply.set_term(job.options.term);
  reply.set_timeline(job.placement.timeline());
  reply.set_waiting_for(WaitingFor(job, now));
  for (const auto& [about, sentence] : job.outbox.warnings().all()) {
    AddWarning(about, sentence, reply);
  }
  reply.set_resumed_from(job.recovery.resumed_from);
  reply.mutable_losses()->Assign(job.recovery.losses.begin(), job.recovery.losses.end());
  FillCheckpoint(job, *reply.mutable_checkpoint(), now);
  *reply.mutable_moves() = job.placement.moves.Status();
  reply.set_bad_records(job.training.bad_records.count());
  for (const std::string& example : job.training.bad_records.examples()) {
    reply.add_bad_record_examples(example);
  }
  return reply;
}

}  // namespace capstan::chief
