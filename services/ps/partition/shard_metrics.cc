#include "ps/partition/shard_metrics.h"

#include <algorithm>

#include "capstan/metrics/buckets.h"
#include "ps/partition/memory_budget.h"
#include "ps/partition/shard_metric_declarations.h"

namespace capstan::ps {
namespace {

using metrics::Labels;

void Advance(metrics::Counter* counter, uint64_t now, uint64_t& counted) {
  counter->Add(static_cast<double>(now - std::min(now, counted)));
  counted = now;
}

}  // namespace

ShardMetrics::ShardMetrics(metrics::Registry& registry)
    : registry_(registry),
      methods_{AddMethod("pull", metric::kServerPullRequests),
               AddMethod("push", metric::kServerPushRequests)} {
  in_flight_ = &registry.AddGauge(metric::kServerInflightRequests);
  queued_calls_ = &registry.AddGauge(metric::kServerQueuedCalls);
  partitions_ = &registry.AddGauge(metric::kPartitions);
  hottest_partition_ = &registry.AddGauge(metric::kHottestPartition);
  hottest_share_ = &registry.AddGauge(metric::kHottestPartitionUpdatesRatio);
  staleness_versions_ =
      &registry.AddHistogram(metric::kUpdateStalenessVersions, metrics::DistanceBuckets());
  row_staleness_ = &registry.AddHistogram(metric::kRowStalenessUpdates, metrics::DistanceBuckets());
  staleness_seconds_ =
      &registry.AddHistogram(metric::kUpdateStalenessSeconds, metrics::WaitBuckets());
  wait_ = &registry.AddHistogram(metric::kServerPullWaitSeconds, metrics::WaitBuckets());
  parked_ = &registry.AddGauge(metric::kServerWaitingPulls);
  version_ = &registry.AddGauge(metric::kModelVersion);
  parameters_ = &registry.AddGauge(metric::kParameters);
  bytes_ = &registry.AddGauge(metric::kStoreBytes);
  queued_ = &registry.AddGauge(metric::kAggregationQueuedGradients);
  backup_bytes_ = &registry.AddGauge(metric::kBackupBytes);
  untaken_bytes_ = &registry.AddGauge(metric::kReplicaWaitingBytes);
  waiting_bytes_ = &registry.AddGauge(metric::kWaitingGradientsBytes);
  for (size_t i = 0; i < kMemoryUses; ++i) {
    const Labels use = {{"use", std::string(LabelOf(static_cast<MemoryUse>(i)))}};
    memory_[i] = {.held = &registry.AddGauge(metric::kMemoryHeldBytes, use),
                  .limit = &registry.AddGauge(metric::kMemoryLimitBytes, use),
                  .refused = &registry.AddCounter(metric::kMemoryRefusedRequests, use)};
  }
  added_ahead_ = &registry.AddCounter(metric::kGradientsAddedAhead);
  lock_wait_ = &registry.AddCounter(metric::kLockWaitSeconds);
  held_back_ = &registry.AddCounter(metric::kCheckpointHeldBackPartitions);
  lost_ = &registry.AddGauge(metric::kRecoveryLostBatches);
  kept_ = &registry.AddGauge(metric::kCheckpointKeptBytes);
  moved_bytes_ = &registry.AddCounter(metric::kMoveSentBytes);
  received_bytes_ = &registry.AddCounter(metric::kMoveReceivedBytes);
  moving_ = &registry.AddGauge(metric::kMovingPartitions);
  staged_bytes_ = &registry.AddGauge(metric::kMoveStagedBytes);
  frozen_ = &registry.AddHistogram(metric::kMoveFrozenSeconds, metrics::WaitBuckets());
  saves_ = AddTransfer(metric::kCheckpointSaves, metric::kCheckpointSaveBytes,
                       metric::kCheckpointSaveDurationSeconds);
  loads_ = AddTransfer(metric::kCheckpointLoads, metric::kCheckpointLoadBytes,
                       metric::kCheckpointLoadDurationSeconds);
  for (size_t i = 0; i < kRejections; ++i) {
    rejected_[i] = &registry.AddCounter(
        metric::kGradientsRejected, {{"reason", std::string(LabelOf(static_cast<Rejection>(i)))}});
  }
}

ShardMetrics::Transfer ShardMetrics::AddTransfer(const metrics::CounterDeclaration& count,
                                                 const metrics::CounterDeclaration& bytes,
                                                 const metrics::HistogramDeclaration& duration) {
  return {.ok = &registry_.AddCounter(count, {{"result", "ok"}}),
          .failed = &registry_.AddCounter(count, {{"result", "failed"}}),
          .bytes = &registry_.AddCounter(bytes),
          .duration = &registry_.AddHistogram(duration, metrics::WaitBuckets())};
}

void ShardMetrics::Count(const Transfer& transfer, bool ok, uint64_t bytes, absl::Duration took) {
  (ok ? transfer.ok : transfer.failed)->Add();
  transfer.bytes->Add(static_cast<double>(bytes));
  if (ok) transfer.duration->Observe(absl::ToDoubleSeconds(took));
}

void ShardMetrics::CountSave(bool ok, uint64_t bytes, absl::Duration took) {
  Count(saves_, ok, bytes, took);
}

void ShardMetrics::CountLoad(bool ok, uint64_t bytes, absl::Duration took) {
  Count(loads_, ok, bytes, took);
}

ShardMetrics::OfMethod ShardMetrics::AddMethod(std::string_view method,
                                               const metrics::CounterDeclaration& requests) {
  OfMethod of;
  for (int code = 0; code < kCodes; ++code) {
    of.requests[code] = &registry_.AddCounter(
        requests, {{"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(code))}});
  }
  const Labels labels = {{"method", std::string(method)}};
  of.duration = &registry_.AddHistogram(metric::kServerRequestDurationSeconds,
                                        metrics::DurationBuckets(), labels);
  of.request_bytes = &registry_.AddCounter(metric::kServerRequestBytes, labels);
  of.reply_bytes = &registry_.AddCounter(metric::kServerResponseBytes, labels);
  return of;
}

void ShardMetrics::CountRequest(const Request& request) {
  const OfMethod& of = methods_[static_cast<size_t>(request.method)];
  of.requests[static_cast<size_t>(request.code)]->Add();
  of.duration->Observe(absl::ToDoubleSeconds(request.duration));
  of.request_bytes->Add(static_cast<double>(request.request_bytes));
  of.reply_bytes->Add(static_cast<double>(request.reply_bytes));
}

void ShardMetrics::CountRejected(Rejection reason) {
  refused_.fetch_add(1, std::memory_order_relaxed);
  rejected_[static_cast<size_t>(reason)]->Add();
}

void ShardMetrics::CountOutcome(v1::Outcome outcome) {
  const std::optional<Rejection> reason = ReasonOf(outcome);
  if (!reason) return;
  if (outcome == v1::OUTCOME_DROPPED) dropped_.fetch_add(1, std::memory_order_relaxed);
  rejected_[static_cast<size_t>(*reason)]->Add();
}

void ShardMetrics::ObserveStaleness(uint64_t versions, absl::Duration age) {
  staleness_versions_->Observe(static_cast<double>(versions));
  staleness_seconds_->Observe(absl::ToDoubleSeconds(age));
  of_parts_.Add(StalenessBucket(versions), 1);
  of_parts_.RaiseMax(versions);
}

void ShardMetrics::ObserveRowStaleness(const StalenessCounts& rows) {
  if (rows.empty) return;
  for (size_t bucket = 0; bucket < kStalenessBuckets; ++bucket) {
    const uint64_t times = rows.counts[bucket];
    if (times == 0) continue;
    row_staleness_->Observe(static_cast<double>(StalenessBucketFloor(bucket)), times);
    of_rows_.Add(bucket, times);
  }
  of_rows_.RaiseMax(rows.max);
}

void ShardMetrics::Staleness::Add(size_t bucket, uint64_t times) {
  counts[bucket].fetch_add(times, std::memory_order_relaxed);
}

void ShardMetrics::Staleness::RaiseMax(uint64_t to) {
  uint64_t now = max.load(std::memory_order_relaxed);
  while (to > now && !max.compare_exchange_weak(now, to)) {
  }
}

void ShardMetrics::Set(const ShardFacts& facts) {
  version_->Set(static_cast<double>(facts.version));
  parameters_->Set(static_cast<double>(facts.parameters));
  bytes_->Set(static_cast<double>(facts.bytes));
  queued_->Set(static_cast<double>(facts.queued));
  parked_->Set(static_cast<double>(facts.parked));
  for (size_t i = 0; i < kMemoryUses; ++i) {
    memory_[i].held->Set(static_cast<double>(facts.memory[i].held));
    memory_[i].limit->Set(static_cast<double>(facts.memory[i].limit));
  }
  waiting_bytes_->Set(static_cast<double>(facts.waiting_bytes));
  backup_bytes_->Set(static_cast<double>(facts.backup_bytes));
  untaken_bytes_->Set(static_cast<double>(facts.untaken_bytes));
  kept_->Set(static_cast<double>(facts.kept));
  lost_->Set(static_cast<double>(facts.lost));
  partitions_->Set(static_cast<double>(facts.updates.size()));
  if (facts.clocks) {
    registry_.AddGauge(metric::kClockSpreadSteps).Set(static_cast<double>(facts.clocks->spread));
    registry_.AddGauge(metric::kClockMembers).Set(static_cast<double>(facts.clocks->trainers));
  }
  absl::MutexLock lock(&mu_);
  for (size_t i = 0; i < kMemoryUses; ++i) {
    Advance(memory_[i].refused, facts.memory[i].refused, counted_refusals_[i]);
  }
  const HotPartition::Hottest hottest = hot_.Look(facts.updates);
  hottest_partition_->Set(hottest.partition);
  hottest_share_->Set(hottest.share);
  for (const ShardFacts::OfTable& table : facts.tables) {
    OfTable& of = TableSeries(table.name);
    of.rows->Set(static_cast<double>(table.rows));
    of.bytes->Set(static_cast<double>(table.bytes));
    Advance(of.evictions, table.counters.evicted, of.counted.evicted);
    Advance(of.expirations, table.counters.expired, of.counted.expired);
    Advance(of.not_admitted, table.counters.not_admitted, of.counted.not_admitted);
    Advance(of.refused, table.counters.refused, of.counted.refused);
    Advance(of.stale, table.counters.stale, of.counted.stale);
  }
}

ShardMetrics::OfTable& ShardMetrics::TableSeries(const std::string& name) {
  const auto found = tables_.find(name);
  if (found != tables_.end()) return found->second;
  const Labels labels = {{"table", name}};
  OfTable of;
  of.rows = &registry_.AddGauge(metric::kTableRows, labels);
  of.bytes = &registry_.AddGauge(metric::kTableBytes, labels);
  of.evictions = &registry_.AddCounter(metric::kEmbeddingEvictions, labels);
  of.expirations = &registry_.AddCounter(metric::kEmbeddingExpirations, labels);
  of.not_admitted = &registry_.AddCounter(metric::kEmbeddingNotAdmitted, labels);
  of.refused = &registry_.AddCounter(metric::kEmbeddingRefused, labels);
  of.stale = &registry_.AddCounter(metric::kEmbeddingStale, labels);
  return tables_.emplace(name, of).first->second;
}

void ShardMetrics::Report(v1::ShardReport& report) const {
  const auto total = [this](Method method) {
    double sum = 0;
    for (const metrics::Counter* counter : methods_[static_cast<size_t>(method)].requests) {
      sum += counter->value();
    }
    return static_cast<uint64_t>(sum);
  };
  report.set_pulls(total(Method::kPull));
  report.set_pushes(total(Method::kPush));
  report.set_gradients_dropped(dropped_.load(std::memory_order_relaxed));
  report.set_gradients_refused(refused_.load(std::memory_order_relaxed));
  const auto copy = [](const Staleness& from, google::protobuf::RepeatedField<uint64_t>& to) {
    size_t used = kStalenessBuckets;
    while (used > 0 && from.counts[used - 1].load(std::memory_order_relaxed) == 0) --used;
    for (size_t i = 0; i < used; ++i) to.Add(from.counts[i].load(std::memory_order_relaxed));
  };
  report.set_max_staleness(of_parts_.max.load(std::memory_order_relaxed));
  copy(of_parts_, *report.mutable_staleness_counts());
  report.set_max_row_staleness(of_rows_.max.load(std::memory_order_relaxed));
  copy(of_rows_, *report.mutable_row_staleness_counts());
}

}  // namespace capstan::ps
