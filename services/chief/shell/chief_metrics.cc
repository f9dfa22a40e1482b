#include "chief/shell/chief_metrics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "capstan/base/member_states.h"
#include "capstan/optim/schedule.h"
#include "chief/shell/chief_metric_declarations.h"
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

uint64_t LostUpdates(const v1::RecoveryLoss& loss) {
  uint64_t updates = 0;
  for (const v1::TableLoss& table : loss.tables()) updates += table.updates();
  return updates;
}

}  // namespace

ChiefMetrics::ChiefMetrics(metrics::Registry& registry, v1::JobSpec spec, uint32_t shards)
    : registry_(registry), spec_(std::move(spec)) {
  Set(metric::kShardsExpected, shards);
  for (const auto& [part, policy] :
       {std::pair("dense", spec_.dense_update()), std::pair("sparse", spec_.sparse_update())}) {
    if (policy.kind() != v1::POLICY_KIND_SSP) continue;
    has_bound_ = true;
    Set(metric::kStalenessBound, policy.staleness(), {{"part", part}});
  }
  if (spec_.table_limits().byte_budget() > 0) {
    Set(metric::kTableBudgetBytes, static_cast<double>(spec_.table_limits().byte_budget()));
  }
  if (spec_.checkpoint().every_seconds() > 0) {
    Set(metric::kCheckpointIntervalSeconds, spec_.checkpoint().every_seconds());
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
    Set(metric::kTrainingState, status.state() == state ? 1 : 0, {{"state", name}});
  }
  Set(metric::kGlobalStep, static_cast<double>(status.global_step()));
  RaiseTo(metric::kSamplesProcessed, static_cast<double>(status.examples()));
  Set(metric::kSamplesExpected, static_cast<double>(status.examples_expected()));
  Set(metric::kTrainingProgressRatio, status.progress());
  Set(metric::kTrainingEtaSeconds, status.eta_seconds());
  Set(metric::kEpoch, status.data_epoch());
  Set(metric::kSampleRate, status.examples_per_second());
  Set(metric::kJobChangePending, status.job_change().empty() ? 0 : 1);
  RaiseTo(metric::kBadRecords, static_cast<double>(status.bad_records()));
}

void ChiefMetrics::UpdateTasks(const v1::GetStatusReply& status) {
  const v1::TaskCounts& tasks = status.tasks();
  Set(metric::kTasks, static_cast<double>(tasks.todo()), {{"state", "todo"}});
  Set(metric::kTasks, static_cast<double>(tasks.doing()), {{"state", "doing"}});
  Set(metric::kTasks, static_cast<double>(tasks.done()), {{"state", "done"}});
  RaiseTo(metric::kTaskRetries, static_cast<double>(tasks.retries()));
  RaiseTo(metric::kTaskLeaseExpirations, static_cast<double>(tasks.expirations()));
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
    series.heartbeat = &registry_.AddGauge(metric::kWorkerLastHeartbeatTimestampSeconds, labels);
    series.heartbeat->Set(absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch()) -
                          worker.silent_seconds());
    series.rate = &registry_.AddGauge(metric::kWorkerStepRate, labels);
    series.rate->Set(worker.step_seconds() > 0 ? 1 / worker.step_seconds() : 0);
    series.straggler = &registry_.AddGauge(metric::kWorkerStraggler, labels);
    series.straggler->Set(worker.straggler() ? 1 : 0);
    if (has_bound_) {
      series.lag = &registry_.AddGauge(metric::kWorkerClockLag, labels);
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
    Set(metric::kWorkers, counts[state], {{"state", state}});
  }
  Set(metric::kStragglerWorkers, stragglers);
  Set(metric::kRecommendedWorkers, static_cast<double>(RecommendedWorkers(status, spec_)));
  if (crew == crew_) return;
  crew_ = std::move(crew);
  SetTime(metric::kWorkersChangedTimestampSeconds, absl::Now());
}

void ChiefMetrics::UpdateShards(const v1::GetStatusReply& status) {
  std::map<std::string, int> counts;
  for (const v1::ShardStatus& shard : status.shards()) ++counts[shard.state()];
  for (const char* state : shard_state::kAll) {
    Set(metric::kShards, counts[state], {{"state", state}});
  }
  const auto owners = std::count_if(status.shards().begin(), status.shards().end(),
                                    [](const auto& shard) { return shard.partitions() > 0; });
  if (owners > 0) Set(metric::kShardsExpected, static_cast<double>(owners));
  UpdatePartitions(status);
}

void ChiefMetrics::UpdatePartitions(const v1::GetStatusReply& status) {
  SeriesByShard partitions, loads;
  for (const v1::ShardStatus& shard : status.shards()) {
    const metrics::Labels labels = {{"shard", absl::StrCat(shard.index())}};
    metrics::Gauge*& owned = partitions[shard.index()];
    owned = &registry_.AddGauge(metric::kShardPartitions, labels);
    owned->Set(shard.partitions());
    // A shard that is lost or owns nothing does not count in the mean load.
    if (shard.state() != shard_state::kServing && shard.partitions() == 0) continue;
    metrics::Gauge*& load = loads[shard.index()];
    load = &registry_.AddGauge(metric::kShardLoadRows, labels);
    load->Set(shard.load());
  }
  Replace(std::move(partitions), partitions_);
  Replace(std::move(loads), loads_);
  const v1::MoveStatus& moves = status.moves();
  Set(metric::kPartitionsMoving, moves.under_way());
  RaiseTo(metric::kPartitionMoves, static_cast<double>(moves.moved()), {{"result", "ok"}});
  RaiseTo(metric::kPartitionMoves, static_cast<double>(moves.cancelled()),
          {{"result", "cancelled"}});
  Set(metric::kPartitionSwitchSeconds, moves.seconds());
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
  Set(metric::kPartitionsUnpaired, over ? 0 : replicas.unpaired());
  RaiseTo(metric::kPromotions, static_cast<double>(replicas.promotions()));
  RaiseTo(metric::kPartitionsPromoted, static_cast<double>(replicas.promoted()));
  RaiseTo(metric::kBackupsDropped, static_cast<double>(replicas.dropped() - replicas.broken()),
          {{"because", "lost"}});
  RaiseTo(metric::kBackupsDropped, static_cast<double>(replicas.broken()), {{"because", "broken"}});
}

void ChiefMetrics::UpdateLearningRates(uint64_t examples) {
  for (const auto& [part, optimizer] : {std::pair("dense", &spec_.dense_optimizer()),
                                        std::pair("sparse", &spec_.sparse_optimizer())}) {
    Set(metric::kLearningRate,
        optimizer->learning_rate() * ScheduleFactor(optimizer->schedule(), examples),
        {{"part", part}});
  }
}

void ChiefMetrics::UpdateLosses(const v1::GetStatusReply& status) {
  loss_known_ = loss_known_ || status.loss() != 0;
  if (loss_known_) {
    Set(metric::kLoss, status.loss(), {{"split", "train"}});
  }
  if (status.evaluations().empty()) return;
  for (const auto& [name, value] : status.evaluations().rbegin()->metrics()) {
    if (name == "loss") {
      Set(metric::kLoss, value, {{"split", "eval"}});
    } else {
      Set(metric::kEvalMetric, value, {{"name", name}});
    }
  }
}

void ChiefMetrics::SetStateFailing(bool failing) {
  Set(metric::kStateStoreFailing, failing ? 1 : 0);
}

void ChiefMetrics::SetView(const v1::View& view) {
  Set(metric::kViewEpoch, static_cast<double>(view.epoch().n()));
  SetTime(metric::kViewPublishedTimestampSeconds, absl::Now());
}

void ChiefMetrics::UpdateDurability(const v1::GetStatusReply& status) {
  const v1::CheckpointStatus& checkpoint = status.checkpoint();
  RaiseTo(metric::kCheckpointCommits, static_cast<double>(checkpoint.taken()), {{"result", "ok"}});
  RaiseTo(metric::kCheckpointCommits, static_cast<double>(checkpoint.failures()),
          {{"result", "failed"}});
  if (checkpoints_failed_ != checkpoint.failures()) {
    SetTime(metric::kCheckpointLastFailureTimestampSeconds,
            checkpoint.failures() == 0 ? absl::UnixEpoch()
                                       : absl::Now() - absl::Seconds(checkpoint.failed_seconds()));
    checkpoints_failed_ = checkpoint.failures();
  }
  UpdateRecoveries(status, absl::Now());
  if (checkpoint.uri().empty()) return;
  Set(metric::kCheckpointCommittedVersion, static_cast<double>(checkpoint.step()));
  if (checkpoint.uri() != checkpoint_ || checkpoint.taken() != checkpoints_taken_) {
    SetTime(metric::kCheckpointLastSuccessTimestampSeconds,
            absl::Now() - absl::Seconds(checkpoint.age_seconds()));
    checkpoint_ = checkpoint.uri();
    checkpoints_taken_ = checkpoint.taken();
  }
  SetTime(metric::kCheckpointLastCompleteTimestampSeconds,
          absl::Now() - absl::Seconds(checkpoint.complete_seconds()));
  Set(metric::kCheckpointLastDurationSeconds, checkpoint.seconds());
  Set(metric::kCheckpointLastBytes, static_cast<double>(checkpoint.bytes()));
}

// The status reports the loss of a recovery only when the recovery is over.
void ChiefMetrics::UpdateRecoveries(const v1::GetStatusReply& status, absl::Time now) {
  RaiseTo(metric::kRestores, static_cast<double>(status.checkpoint().restores()));
  double lost = 0;
  for (const v1::RecoveryLoss& loss : status.losses()) lost += static_cast<double>(loss.examples());
  RaiseTo(metric::kSamplesLost, lost);
  UpdateLostUpdates(status);
  const int recoveries =
      std::exchange(recoveries_, status.losses_size()).value_or(status.losses_size());
  if (recoveries == status.losses_size() || status.losses().empty()) return;
  const v1::RecoveryLoss& last = *status.losses().rbegin();
  SetTime(metric::kRecoveryLastTimestampSeconds, now);
  Set(metric::kRecoveryLastSamples, static_cast<double>(last.examples()));
  Set(metric::kRecoveryLastUpdates, static_cast<double>(LostUpdates(last)));
}

void ChiefMetrics::UpdateLostUpdates(const v1::GetStatusReply& status) {
  uint64_t rollback = 0;
  uint64_t partial = 0;
  for (const v1::RecoveryLoss& loss : status.losses()) {
    (loss.recovery() == v1::RECOVERY_PARTIAL ? partial : rollback) += LostUpdates(loss);
  }
  RaiseTo(metric::kUpdatesLost, static_cast<double>(rollback), {{"recovery", "rollback"}});
  RaiseTo(metric::kUpdatesLost, static_cast<double>(partial), {{"recovery", "partial"}});
  for (const v1::TableSpec& table : spec_.tables()) {
    Set(metric::kHotRowsLostRatio, HotShareLost(status, table.name()), {{"table", table.name()}});
  }
  Set(metric::kRestoreDurationSeconds,
      status.losses().empty() ? 0 : status.losses().rbegin()->seconds());
}

void ChiefMetrics::Set(const metrics::GaugeDeclaration& metric, double value,
                       const metrics::Labels& labels) {
  registry_.AddGauge(metric, labels).Set(value);
}

void ChiefMetrics::SetTime(const metrics::GaugeDeclaration& metric, absl::Time at) {
  Set(metric, absl::ToDoubleSeconds(at - absl::UnixEpoch()));
}

void ChiefMetrics::RaiseTo(const metrics::CounterDeclaration& metric, double total,
                           const metrics::Labels& labels) {
  const double before =
      before_.try_emplace({std::string(metric.name), labels}, total).first->second;
  metrics::Counter& counter = registry_.AddCounter(metric, labels);
  counter.Add(std::max(0.0, total - before - counter.value()));
}

}  // namespace capstan::chief
