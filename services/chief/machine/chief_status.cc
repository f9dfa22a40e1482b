// ChiefMachine: what people see of it.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "chief/duties/curve_uri.h"
#include "chief/machine/chief_machine.h"

namespace capstan::chief {
namespace {

constexpr size_t kMostSpareShards = 64;
// They ask every second.
constexpr absl::Duration kSpareShardIsThere = absl::Seconds(15);

uint64_t ClockOf(const Worker& worker) {
  uint64_t steps = 0;
  for (const Trainer& trainer : worker.trainers) steps += trainer.clock;
  return steps;
}

std::string StuckOn(const Worker& worker) {
  const auto seconds = static_cast<int64_t>(worker.report.stalled_seconds());
  return absl::StrCat(worker.report.stalled_on(), " for ", seconds, " s");
}

// How far the worker's slowest trainer in the quorum is behind the fastest of all.
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

}  // namespace

v1::GetStatusReply ChiefMachine::Status(absl::Time now) const {
  const absl::Time until = completed_.value_or(now);
  const WorkTotals totals = work_.totals();
  v1::GetStatusReply reply;
  reply.set_job(plan_.spec.job());
  const v1::JobState state = told_state();
  reply.set_state(state);
  reply.set_reason(reason_);
  reply.set_failure_kind(failure_kind_);
  reply.set_elapsed_seconds(progress_.elapsed_seconds(until));
  reply.set_examples(progress_.examples());
  reply.set_examples_expected(ExpectedExamples());
  reply.set_progress(ProgressShare());
  reply.set_eta_seconds(EtaSeconds());
  reply.set_global_step(progress_.steps());
  if (work_.has_lanes()) reply.set_round(progress_.steps());
  reply.set_data_epoch(std::min(totals.epochs_done, plan_.spec.train().epochs() - 1));
  reply.set_examples_per_second(end_.begun() ? MeanRate(until) : progress_.examples_per_second());
  reply.set_loss(progress_.loss());
  for (const v1::Evaluation& evaluation : evaluations_.history()) {
    *reply.add_evaluations() = evaluation;
  }
  FillWorkers(reply, now);
  FillShards(reply, now);
  reply.set_staleness_median(shards_.StalenessMedian());
  reply.set_staleness_max(shards_.StalenessMax());
  reply.mutable_tasks()->set_todo(totals.todo);
  reply.mutable_tasks()->set_doing(totals.doing);
  reply.mutable_tasks()->set_done(totals.done);
  reply.mutable_tasks()->set_total(totals.total);
  reply.mutable_tasks()->set_retries(retries_);
  reply.mutable_tasks()->set_expirations(expirations_);
  if (state == v1::JOB_STATE_COMPLETED) reply.set_model_uri(model_uri_);
  reply.set_curve_uri(CurveUri(plan_.spec));
  reply.set_term(options_.term);
  reply.set_timeline(timeline());
  reply.set_waiting_for(WaitingFor(now));
  reply.set_job_change(job_change_);
  for (const auto& [about, sentence] : warnings_.all()) reply.add_warnings(sentence);
  reply.set_resumed_from(resumed_from_);
  reply.mutable_losses()->Assign(losses_.begin(), losses_.end());
  FillCheckpoint(*reply.mutable_checkpoint(), now);
  *reply.mutable_moves() = moves_.Status();
  FillReplicas(*reply.mutable_replicas());
  reply.set_bad_records(bad_records_.count());
  for (const std::string& example : bad_records_.examples()) {
    reply.add_bad_record_examples(example);
  }
  return reply;
}

void ChiefMachine::NoteJobChange(std::string change) {
  if (change == job_change_) return;
  job_change_ = std::move(change);
  if (job_change_.empty()) {
    Log(LogEvent::Level::kInfo, "the job file says what this job does, again", {});
    return;
  }
  Log(LogEvent::Level::kWarning, "the job file has changed", {{"change", job_change_}});
}

// The workers whose data do not come, for as long as that is so.
void ChiefMachine::WatchData() {
  const absl::Duration patience = absl::Seconds(plan_.spec.lease().data_stall_seconds());
  for (const auto& [name, worker] : workers_.live()) {
    std::string sentence;
    if (worker.stuck && !ended()) {
      sentence = absl::StrCat(name, " has been waiting for ", worker.report.stalled_on(),
                              " for more than ", absl::FormatDuration(patience),
                              " (data_stall): others do its work until it can read on");
    }
    NoteWarning(absl::StrCat("the data of ", name), std::move(sentence));
  }
}

void ChiefMachine::NoteSpareShard(uint32_t index, absl::Time now) {
  if (spare_shards_.size() < kMostSpareShards || spare_shards_.contains(index)) {
    spare_shards_[index] = now;
  }
}

// Shards beyond the last partition.
void ChiefMachine::WatchSpareShards(absl::Time now) {
  std::erase_if(spare_shards_,
                [now](const auto& shard) { return now - shard.second > kSpareShardIsThere; });
  std::string sentence;
  if (!spare_shards_.empty() && !ended()) {
    const std::string names = absl::StrJoin(
        spare_shards_, ", ",
        [](std::string* out, const auto& shard) { absl::StrAppend(out, "ps-", shard.first); });
    sentence = absl::StrCat(
        names, spare_shards_.size() == 1 ? " is" : " are", " of no use: the job has ",
        shards_.most(), " partitions (partition_count), and no more shards than that can hold any");
  }
  NoteWarning("spare shards", std::move(sentence));
}

void ChiefMachine::WatchIdleWorkers() {
  const size_t workers = workers_.live().size();
  const size_t shares = work_.has_lanes() ? work_.lanes()->lanes() : plan_.train.size();
  std::string sentence;
  if (workers > shares && !ended()) {
    const char* of = work_.has_lanes() ? " lanes" : " tasks of an epoch";
    const char* cure =
        work_.has_lanes() ? "update.*.lanes" : "data.task_bytes or data.task_records";
    sentence = absl::StrCat(workers, " workers share ", shares, of, ", so ", workers - shares,
                            " of them have nothing to do; fewer workers do as well, and a new job "
                            "may have more to share (",
                            cure, ")");
  }
  NoteWarning("idle workers", std::move(sentence));
}

// What every worker waits for, by file; empty: somebody can work.
std::string ChiefMachine::AwaitedData() const {
  if (!workers_.AllStuck()) return "";
  std::map<std::string, std::vector<std::string>> waiting;
  for (const auto& [name, worker] : workers_.live()) {
    if (worker.stuck) waiting[worker.report.stalled_on()].push_back(name);
  }
  return absl::StrJoin(waiting, "; ", [](std::string* out, const auto& file) {
    absl::StrAppend(out, "the data of ", file.first, ", which ", absl::StrJoin(file.second, ", "),
                    file.second.size() == 1 ? " waits for" : " wait for");
  });
}

void ChiefMachine::NoteWarning(std::string_view about, std::string sentence) {
  if (!warnings_.Note(about, sentence)) return;
  Log(LogEvent::Level::kWarning, std::move(sentence), {});
}

// Where nobody has counted the records, their number is an estimate until an epoch is over, and is
// told as one: three digits, which do not wander.
uint64_t ChiefMachine::ExpectedExamples() const {
  uint64_t expected = work_.ExpectedExamples();
  const bool counted = work_.totals().epochs_done > 0 || work_.counted();
  if (!counted && !ended()) expected = RoundedToThreeDigits(expected);
  const v1::TrainSpec& train = plan_.spec.train();
  if (train.max_steps() > 0) {
    const uint64_t most = train.max_steps() * train.batch_size() * work_.batches_a_step();
    expected = expected == 0 ? most : std::min(expected, most);
  }
  return std::max(expected, progress_.examples());
}

double ChiefMachine::ProgressShare() const {
  if (state_ == v1::JOB_STATE_COMPLETED) return 1;
  const uint64_t expected = ExpectedExamples();
  if (expected == 0 || work_.ExpectedExamples() == 0) return 0;
  return static_cast<double>(progress_.examples()) / static_cast<double>(expected);
}

double ChiefMachine::EtaSeconds() const {
  if (ended()) return 0;
  const double rate = progress_.examples_per_second();
  if (rate <= 0 || work_.ExpectedExamples() == 0) return -1;
  return static_cast<double>(ExpectedExamples() - progress_.examples()) / rate;
}

double ChiefMachine::MeanRate(absl::Time until) const {
  const double seconds = progress_.elapsed_seconds(until);
  return seconds > 0 ? static_cast<double>(progress_.examples()) / seconds : 0;
}

void ChiefMachine::FillWorkers(v1::GetStatusReply& reply, absl::Time now) const {
  const uint64_t fastest = workers_.FastestClock();
  for (const auto& [name, worker] : workers_.live()) {
    v1::WorkerStatus& status = *reply.add_workers();
    status.set_name(name);
    const bool works =
        std::any_of(worker.trainers.begin(), worker.trainers.end(), [this](const Trainer& trainer) {
          return trainer.training || !evaluations_.LeasesOf(trainer.id).empty();
        });
    const bool stuck = worker.stuck && !ended();
    status.set_state(ended()           ? "parked"
                     : worker.draining ? "draining"
                     : stuck           ? "stuck"
                     : works           ? "active"
                                       : "idle");
    if (stuck) status.set_stuck(StuckOn(worker));
    status.set_examples_per_second(ended() ? 0 : worker.report.examples_per_second());
    status.set_steps(ClockOf(worker));
    status.set_step_seconds(worker.step_seconds());
    status.set_lag(LagOf(worker, fastest));
    status.set_straggler(stragglers_.IsStraggler(name));
    status.set_silent_seconds(absl::ToDoubleSeconds(now - worker.heard));
    *status.mutable_report() = worker.report;
  }
  for (const Worker& worker : workers_.lost()) {
    if (workers_.live().contains(worker.name)) continue;
    v1::WorkerStatus& status = *reply.add_workers();
    status.set_name(worker.name);
    status.set_state("lost");
    status.set_steps(ClockOf(worker));
    status.set_silent_seconds(absl::ToDoubleSeconds(now - worker.heard));
  }
}

void ChiefMachine::FillShards(v1::GetStatusReply& reply, absl::Time now) const {
  for (const auto& [index, shard] : shards_.shards()) {
    v1::ShardStatus& status = *reply.add_shards();
    const bool lost = !shard.present || IsSilent(shard, now);
    const bool loads = recovery_.Awaits(index);
    status.set_index(index);
    const bool joins = views_.has_map() && !views_.members().contains(index);
    status.set_state(lost             ? "lost"
                     : shard.draining ? "draining"
                     : loads          ? "restoring"
                     : joins          ? "joining"
                                      : "serving");
    const auto& owners = views_.current().owners();
    status.set_partitions(static_cast<uint32_t>(std::count(owners.begin(), owners.end(), index)));
    const auto& pairs = views_.current().pairs();
    status.set_backups(static_cast<uint32_t>(std::count_if(
        pairs.begin(), pairs.end(), [i = index](const auto& pair) { return pair.backup() == i; })));
    status.set_load(lost ? 0 : loads_.OfShard(index, views_.current()).load);
    status.set_address(shard.address);
    status.set_pushes_per_second(lost ? 0 : shard.pushes_per_second);
    status.set_pulls_per_second(lost ? 0 : shard.pulls_per_second);
    *status.mutable_report() = shard.report;
    status.mutable_report()->clear_partitions();  // Their sum is told.
    status.set_cpu_share(lost ? 0 : shard.cpu_share);
    status.set_zone(shard.zone);
  }
}

void ChiefMachine::FillCheckpoint(v1::CheckpointStatus& status, absl::Time now) const {
  if (const CheckpointFacts* newest = catalog_.newest()) {
    status.set_uri(checkpointer_.UriOf(newest->id));
    status.set_step(newest->step);
    status.set_examples(newest->examples);
    status.set_age_seconds(absl::ToDoubleSeconds(now - newest->at));
    status.set_bytes(newest->bytes);
    status.set_delta(!newest->parent.empty());
  }
  status.set_seconds(absl::ToDoubleSeconds(checkpointer_.last_took()));
  status.set_running(checkpointer_.running());
  status.set_taken(checkpointer_.taken());
  status.set_failures(checkpointer_.failures());
  if (!checkpointer_.last_failure().ok()) {
    status.set_last_error(checkpointer_.last_failure().ToString());
  } else if (!writer_.last().ok()) {
    status.set_last_error(writer_.last().ToString());
  }
  status.set_restores(restores_);
}

void ChiefMachine::AddCurvePoint(const v1::Evaluation& evaluation, absl::Time now) {
  actions_.push_back(AppendCurve{.elapsed_seconds = progress_.elapsed_seconds(now),
                                 .examples = progress_.examples(),
                                 .step = progress_.steps(),
                                 .loss = progress_.loss(),
                                 .examples_per_second = progress_.examples_per_second(),
                                 .evaluation = evaluation});
}

}  // namespace capstan::chief
