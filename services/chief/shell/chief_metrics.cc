#include "chief/shell/chief_metrics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/base/member_states.h"
#include "capstan/optim/schedule.h"
#include "chief/shell/recommended_workers.h"

namespace capstan::chief {
namespace {

constexpr std::array<std::pair<v1::JobState, const char*>, 6> kStates = {{
    {v1::JOB_STATE_PENDING, "pending"},
    {v1::JOB_STATE_RESTORING, "restoring"},
    {v1::JOB_STATE_RUNNING, "running"},
    {v1::JOB_STATE_CHECKPOINTING, "checkpointing"},
    {v1::JOB_STATE_COMPLETED, "completed"},
    {v1::JOB_STATE_FAILED, "failed"},
}};
double HotShareLost(const v1::GetStatusReply& status, const std::string& name) {
  if (status.losses().empty()) return 0;
  for (const v1::TableLoss& table : status.losses().rbegin()->tables()) {
    if (table.table() != name || table.hot_rows_held() == 0) continue;
    return static_cast<double>(table.hot_rows()) / static_cast<double>(table.hot_rows_held());
  }
  return 0;
}

constexpr char kExpected[] = "capstan_shards_expected";
constexpr char kExpectedHelp[] =
    "Shards that the job counts on: that own partitions; before, those it was told to wait for.";

uint64_t LostUpdates(const v1::RecoveryLoss& loss) {
  uint64_t updates = 0;
  for (const v1::TableLoss& table : loss.tables()) updates += table.updates();
  return updates;
}

}  // namespace

ChiefMetrics::ChiefMetrics(metrics::Registry& registry, v1::JobSpec spec, uint32_t shards)
    : registry_(registry), spec_(std::move(spec)) {
  Set(kExpected, kExpectedHelp, shards);
  for (const auto& [part, policy] :
       {std::pair("dense", spec_.dense_update()), std::pair("sparse", spec_.sparse_update())}) {
    if (policy.kind() != v1::POLICY_KIND_SSP) continue;
    has_bound_ = true;
    Set("capstan_staleness_bound", "Steps that a worker may be ahead of the slowest.",
        policy.staleness(), {{"part", part}});
  }
  if (spec_.table_limits().byte_budget() > 0) {
    Set("capstan_table_budget_bytes", "Memory that the rows of all shards together may take.",
        static_cast<double>(spec_.table_limits().byte_budget()));
  }
  if (spec_.checkpoint().every_seconds() > 0) {
    Set("capstan_checkpoint_interval_seconds", "Time between checkpoints that the job asks for.",
        spec_.checkpoint().every_seconds());
  }
}

void ChiefMetrics::Update(const v1::GetStatusReply& status) {
  UpdateProgress(status);
  UpdateTasks(status);
  UpdateWorkers(status);
  UpdateShards(status);
  UpdateLearningRates(status.examples());
  UpdateLosses(status);
  UpdateDurability(status);
}

void ChiefMetrics::UpdateProgress(const v1::GetStatusReply& status) {
  for (const auto& [state, name] : kStates) {
    Set("capstan_training_state", "1 for the state that the job is in, 0 for the others.",
        status.state() == state ? 1 : 0, {{"state", name}});
  }
  Set("capstan_global_step", "Rounds closed (sync), otherwise batches acknowledged.",
      static_cast<double>(status.global_step()));
  RaiseTo("capstan_samples_processed_total", "Examples acknowledged, each counted once.",
          static_cast<double>(status.examples()));
  Set("capstan_samples_expected", "Examples of all epochs, estimated while files are not read.",
      static_cast<double>(status.examples_expected()));
  Set("capstan_training_progress_ratio", "Examples acknowledged of those expected, 0 to 1.",
      status.progress());
  Set("capstan_training_eta_seconds", "Time left at the present rate; negative: not known.",
      status.eta_seconds());
  Set("capstan_epoch", "The epoch of the data that is being trained, from 0.", status.data_epoch());
  Set("capstan_sample_rate", "Examples acknowledged a second, of late.",
      status.examples_per_second());
  Set("capstan_job_change_pending", "1 while the job file says what this job has not taken up.",
      status.job_change().empty() ? 0 : 1);
  RaiseTo("capstan_bad_records_total", "Records that were skipped because they are malformed.",
          static_cast<double>(status.bad_records()));
}

void ChiefMetrics::UpdateTasks(const v1::GetStatusReply& status) {
  constexpr char kName[] = "capstan_tasks";
  constexpr char kHelp[] = "Tasks of all epochs by state.";
  const v1::TaskCounts& tasks = status.tasks();
  Set(kName, kHelp, static_cast<double>(tasks.todo()), {{"state", "todo"}});
  Set(kName, kHelp, static_cast<double>(tasks.doing()), {{"state", "doing"}});
  Set(kName, kHelp, static_cast<double>(tasks.done()), {{"state", "done"}});
  RaiseTo("capstan_task_retries_total", "Tasks that failed or came back unfinished.",
          static_cast<double>(tasks.retries()));
  RaiseTo("capstan_task_lease_expirations_total", "Leases that ended because a worker was lost.",
          static_cast<double>(tasks.expirations()));
}

void ChiefMetrics::UpdateWorkers(const v1::GetStatusReply& status) {
  std::map<std::string, int> counts;
  std::map<std::string, WorkerSeries> present;
  std::set<std::string> crew;
  double stragglers = 0;
  for (const v1::WorkerStatus& worker : status.workers()) {
    ++counts[worker.state()];
    if (worker.straggler()) ++stragglers;
    if (worker.state() == worker_state::kLost) continue;
    crew.insert(worker.name());
    const metrics::Labels labels = {{"worker", worker.name()}};
    WorkerSeries series;
    series.heartbeat = &registry_.AddGauge("capstan_worker_last_heartbeat_timestamp_seconds",
                                           "When the worker was heard of last.", labels);
    series.heartbeat->Set(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()) -
                          worker.silent_seconds());
    series.rate =
        &registry_.AddGauge("capstan_worker_step_rate",
                            "Steps a second that the worker could do without waits.", labels);
    series.rate->Set(worker.step_seconds() > 0 ? 1 / worker.step_seconds() : 0);
    series.straggler = &registry_.AddGauge("capstan_worker_straggler",
                                           "1 while the worker counts as slow.", labels);
    series.straggler->Set(worker.straggler() ? 1 : 0);
    if (has_bound_) {
      series.lag = &registry_.AddGauge("capstan_worker_clock_lag",
                                       "Steps of a worker behind the fastest one (ssp).", labels);
      series.lag->Set(static_cast<double>(worker.lag()));
    }
    present[worker.name()] = series;
  }
  for (const auto& [name, series] : workers_) {
    if (present.contains(name)) continue;
    registry_.Remove(*series.heartbeat);
    registry_.Remove(*series.rate);
    registry_.Remove(*series.straggler);
    if (series.lag != nullptr) registry_.Remove(*series.lag);
  }
  workers_ = std::move(present);
  for (const char* state : worker_state::kAll) {
    Set("capstan_workers", "Workers by state.", counts[state], {{"state", state}});
  }
  Set("capstan_straggler_workers",
      "Workers more than twice as slow as the median, on average over some 10 s.", stragglers);
  Set("capstan_recommended_workers",
      "Workers that the job could use now: as many as its shards can serve, and as have work.",
      static_cast<double>(RecommendedWorkers(status, spec_)));
  if (crew == crew_) return;
  crew_ = std::move(crew);
  SetTime("capstan_workers_changed_timestamp_seconds", "When a worker joined or left last.",
          absl::Now());
}

void ChiefMetrics::UpdateShards(const v1::GetStatusReply& status) {
  std::map<std::string, int> counts;
  for (const v1::ShardStatus& shard : status.shards()) ++counts[shard.state()];
  for (const char* state : shard_state::kAll) {
    Set("capstan_shards", "Shards by state.", counts[state], {{"state", state}});
  }
  const auto owners = std::count_if(status.shards().begin(), status.shards().end(),
                                    [](const auto& shard) { return shard.partitions() > 0; });
  if (owners > 0) Set(kExpected, kExpectedHelp, static_cast<double>(owners));
  UpdatePartitions(status);
}

void ChiefMetrics::UpdatePartitions(const v1::GetStatusReply& status) {
  SeriesByShard partitions, loads;
  for (const v1::ShardStatus& shard : status.shards()) {
    const metrics::Labels labels = {{"shard", absl::StrCat(shard.index())}};
    metrics::Gauge*& owned = partitions[shard.index()];
    owned =
        &registry_.AddGauge("capstan_shard_partitions", "Partitions that the shard owns.", labels);
    owned->Set(shard.partitions());
    // A shard that is lost or owns nothing does not count in the mean load.
    if (shard.state() != shard_state::kServing && shard.partitions() == 0) continue;
    metrics::Gauge*& load = loads[shard.index()];
    load = &registry_.AddGauge(
        "capstan_shard_load_rows",
        "Rows a second, of late, that are pulled from the shard and pushed to it.", labels);
    load->Set(shard.load());
  }
  Replace(std::move(partitions), partitions_);
  Replace(std::move(loads), loads_);
  const v1::MoveStatus& moves = status.moves();
  Set("capstan_partitions_moving", "Partitions on their way to another shard.", moves.under_way());
  constexpr char kMoves[] = "capstan_partition_moves_total";
  constexpr char kMovesHelp[] = "Moves of partitions to another shard, by what became of them.";
  RaiseTo(kMoves, kMovesHelp, static_cast<double>(moves.moved()), {{"result", "ok"}});
  RaiseTo(kMoves, kMovesHelp, static_cast<double>(moves.cancelled()), {{"result", "cancelled"}});
  Set("capstan_partition_switch_seconds",
      "For how long the partitions that moved last stood still, from the order to the view.",
      moves.seconds());
  if (status.replicas().wanted() > 0) UpdateReplicas(status);
}

void ChiefMetrics::Replace(SeriesByShard present, SeriesByShard& before) {
  for (const auto& [index, gauge] : before) {
    if (!present.contains(index)) registry_.Remove(*gauge);
  }
  before = std::move(present);
}

void ChiefMetrics::UpdateReplicas(const v1::GetStatusReply& status) {
  const v1::ReplicaStatus& replicas = status.replicas();
  const bool over =
      status.state() == v1::JOB_STATE_COMPLETED || status.state() == v1::JOB_STATE_FAILED;
  Set("capstan_partitions_unpaired",
      "Partitions that one shard alone holds, of a job with replicas.",
      over ? 0 : replicas.unpaired());
  RaiseTo("capstan_promotions_total", "Lost shards in whose place their backups have come.",
          static_cast<double>(replicas.promotions()));
  RaiseTo("capstan_partitions_promoted_total", "Partitions whose backup has become the owner.",
          static_cast<double>(replicas.promoted()));
  constexpr char kDropped[] = "capstan_backups_dropped_total";
  constexpr char kDroppedHelp[] = "Backups of partitions that were given up, by why.";
  RaiseTo(kDropped, kDroppedHelp, static_cast<double>(replicas.dropped() - replicas.broken()),
          {{"because", "lost"}});
  RaiseTo(kDropped, kDroppedHelp, static_cast<double>(replicas.broken()), {{"because", "broken"}});
}

void ChiefMetrics::UpdateLearningRates(uint64_t examples) {
  for (const auto& [part, optimizer] : {std::pair("dense", &spec_.dense_optimizer()),
                                        std::pair("sparse", &spec_.sparse_optimizer())}) {
    Set("capstan_learning_rate", "The schedule's learning rate at the examples acknowledged.",
        optimizer->learning_rate() * ScheduleFactor(optimizer->schedule(), examples),
        {{"part", part}});
  }
}

void ChiefMetrics::UpdateLosses(const v1::GetStatusReply& status) {
  loss_known_ = loss_known_ || status.loss() != 0;
  if (loss_known_) {
    Set("capstan_loss", "Mean loss: of the latest training batches, of the last evaluation.",
        status.loss(), {{"split", "train"}});
  }
  if (status.evaluations().empty()) return;
  for (const auto& [name, value] : status.evaluations().rbegin()->metrics()) {
    if (name == "loss") {
      Set("capstan_loss", "Mean loss: of the latest training batches, of the last evaluation.",
          value, {{"split", "eval"}});
    } else {
      Set("capstan_eval_metric", "Metrics of the last evaluation.", value, {{"name", name}});
    }
  }
}

void ChiefMetrics::SetStateFailing(bool failing) {
  Set("capstan_state_store_failing", "1 while the chief's state cannot be stored.",
      failing ? 1 : 0);
}

void ChiefMetrics::SetView(const v1::View& view) {
  Set("capstan_view_epoch", "Views published in this chief's term.",
      static_cast<double>(view.epoch().n()));
  SetTime("capstan_view_published_timestamp_seconds", "When the present view was published.",
          absl::Now());
}

void ChiefMetrics::UpdateDurability(const v1::GetStatusReply& status) {
  const v1::CheckpointStatus& checkpoint = status.checkpoint();
  constexpr char kCommits[] = "capstan_checkpoint_commits_total";
  constexpr char kCommitsHelp[] = "Checkpoints that were begun, by what became of them.";
  RaiseTo(kCommits, kCommitsHelp, static_cast<double>(checkpoint.taken()), {{"result", "ok"}});
  RaiseTo(kCommits, kCommitsHelp, static_cast<double>(checkpoint.failures()),
          {{"result", "failed"}});
  if (checkpoints_failed_ != checkpoint.failures()) {
    SetTime("capstan_checkpoint_last_failure_timestamp_seconds",
            "When a checkpoint failed last, of this chief; 0: none has.",
            checkpoint.failures() == 0 ? absl::UnixEpoch()
                                       : absl::Now() - absl::Seconds(checkpoint.failed_seconds()));
    checkpoints_failed_ = checkpoint.failures();
  }
  UpdateRecoveries(status, absl::Now());
  if (checkpoint.uri().empty()) return;
  Set("capstan_checkpoint_committed_version", "Global step of the last committed checkpoint.",
      static_cast<double>(checkpoint.step()));
  if (checkpoint.uri() != checkpoint_ || checkpoint.taken() != checkpoints_taken_) {
    SetTime("capstan_checkpoint_last_success_timestamp_seconds",
            "When the last checkpoint was committed.",
            absl::Now() - absl::Seconds(checkpoint.age_seconds()));
    checkpoint_ = checkpoint.uri();
    checkpoints_taken_ = checkpoint.taken();
  }
  SetTime("capstan_checkpoint_last_complete_timestamp_seconds",
          "When the last checkpoint was last known to hold all there was.",
          absl::Now() - absl::Seconds(checkpoint.complete_seconds()));
  Set("capstan_checkpoint_last_duration_seconds", "From the order to the manifest, last time.",
      checkpoint.seconds());
  Set("capstan_checkpoint_last_bytes", "Of the last checkpoint.",
      static_cast<double>(checkpoint.bytes()));
}

// The status lists the loss of a recovery only when that is over.
void ChiefMetrics::UpdateRecoveries(const v1::GetStatusReply& status, absl::Time now) {
  RaiseTo("capstan_restores_total", "Returns to a checkpoint, by this chief.",
          static_cast<double>(status.checkpoint().restores()));
  double lost = 0;
  for (const v1::RecoveryLoss& loss : status.losses()) lost += static_cast<double>(loss.examples());
  RaiseTo("capstan_samples_lost_total", "Examples that were thrown away and trained again.", lost);
  UpdateLostUpdates(status);
  const int recoveries =
      std::exchange(recoveries_, status.losses_size()).value_or(status.losses_size());
  if (recoveries == status.losses_size() || status.losses().empty()) return;
  const v1::RecoveryLoss& last = *status.losses().rbegin();
  SetTime("capstan_recovery_last_timestamp_seconds",
          "When training went on after the last recovery.", now);
  Set("capstan_recovery_last_samples", "Examples that the last recovery has thrown away.",
      static_cast<double>(last.examples()));
  Set("capstan_recovery_last_updates",
      "Updates of rows that the last recovery has thrown away, as far as heartbeats had told.",
      static_cast<double>(LostUpdates(last)));
}

void ChiefMetrics::UpdateLostUpdates(const v1::GetStatusReply& status) {
  uint64_t rollback = 0;
  uint64_t partial = 0;
  for (const v1::RecoveryLoss& loss : status.losses()) {
    (loss.recovery() == v1::RECOVERY_PARTIAL ? partial : rollback) += LostUpdates(loss);
  }
  constexpr char kName[] = "capstan_updates_lost_total";
  constexpr char kHelp[] =
      "Updates of rows that returns to a checkpoint threw away (after a rollback they are trained "
      "again), as far as heartbeats had told.";
  RaiseTo(kName, kHelp, static_cast<double>(rollback), {{"recovery", "rollback"}});
  RaiseTo(kName, kHelp, static_cast<double>(partial), {{"recovery", "partial"}});
  for (const v1::TableSpec& table : spec_.tables()) {
    Set("capstan_hot_rows_lost_ratio",
        "Of the hot rows that shards had when they last returned to a checkpoint, those that had "
        "changed since.",
        HotShareLost(status, table.name()), {{"table", table.name()}});
  }
  Set("capstan_restore_duration_seconds", "From the loss of a shard to training again, last time.",
      status.losses().empty() ? 0 : status.losses().rbegin()->seconds());
}

void ChiefMetrics::Set(std::string_view name, std::string_view help, double value,
                       const metrics::Labels& labels) {
  registry_.AddGauge(name, help, labels).Set(value);
}

void ChiefMetrics::SetTime(std::string_view name, std::string_view help, absl::Time at) {
  Set(name, help, absl::ToDoubleSeconds(at - absl::UnixEpoch()));
}

void ChiefMetrics::RaiseTo(std::string_view name, std::string_view help, double total,
                           const metrics::Labels& labels) {
  const double before = before_.try_emplace({std::string(name), labels}, total).first->second;
  metrics::Counter& counter = registry_.AddCounter(name, help, labels);
  counter.Add(std::max(0.0, total - before - counter.value()));
}

}  // namespace capstan::chief
