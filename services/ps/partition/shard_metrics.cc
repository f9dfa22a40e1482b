#include "ps/partition/shard_metrics.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "capstan/metrics/buckets.h"
#include "ps/partition/memory_budget.h"

namespace capstan::ps {
namespace {

using metrics::Labels;

void Advance(metrics::Counter* counter, uint64_t now, uint64_t& counted) {
  counter->Add(static_cast<double>(now - std::min(now, counted)));
  counted = now;
}

}  // namespace

ShardMetrics::ShardMetrics(metrics::Registry& registry)
    : registry_(registry), methods_{AddMethod("pull"), AddMethod("push")} {
  in_flight_ = &registry.AddGauge("capstan_server_inflight_requests", "Requests being served.");
  queued_calls_ = &registry.AddGauge("capstan_server_queued_calls",
                                     "Calls that waited for a thread when the last one began.");
  partitions_ = &registry.AddGauge("capstan_partitions", "Partitions held.");
  hottest_partition_ = &registry.AddGauge("capstan_hottest_partition",
                                          "The partition that has been updated most, of late.");
  hottest_share_ = &registry.AddGauge("capstan_hottest_partition_updates_ratio",
                                      "Its part of the shard's updates of rows and blocks.");
  staleness_versions_ = &registry.AddHistogram(
      "capstan_update_staleness_versions",
      "Updates between the pull of the weights and the application of their gradient.",
      metrics::DistanceBuckets());
  row_staleness_ = &registry.AddHistogram(
      "capstan_row_staleness_updates",
      "Updates of a row between its pull and the application of its gradient (scale, drop).",
      metrics::DistanceBuckets());
  staleness_seconds_ = &registry.AddHistogram(
      "capstan_update_staleness_seconds",
      "Time since the weights that an applied gradient was computed from were replaced.",
      metrics::WaitBuckets());
  wait_ = &registry.AddHistogram("capstan_server_pull_wait_seconds",
                                 "Time that pulls waited for slower workers (ssp).",
                                 metrics::WaitBuckets());
  parked_ = &registry.AddGauge("capstan_server_waiting_pulls", "Pulls waiting now (ssp).");
  version_ =
      &registry.AddGauge("capstan_model_version", "Highest version of the shard's partitions.");
  parameters_ = &registry.AddGauge("capstan_parameters", "Weights held.");
  bytes_ =
      &registry.AddGauge("capstan_store_bytes", "Memory of rows, blocks, slots and their indexes.");
  queued_ = &registry.AddGauge("capstan_aggregation_queued_gradients",
                               "Gradients waiting in aggregation queues.");
  backup_bytes_ =
      &registry.AddGauge("capstan_backup_bytes", "Memory of partitions that this shard backs up.");
  untaken_bytes_ =
      &registry.AddGauge("capstan_replica_waiting_bytes",
                         "What backups of this shard's partitions have not taken yet.");
  waiting_bytes_ = &registry.AddGauge(
      "capstan_waiting_gradients_bytes",
      "Memory of gradients that wait for the end of their round, or in aggregation queues.");
  for (size_t i = 0; i < kMemoryUses; ++i) {
    const Labels use = {{"use", std::string(LabelOf(static_cast<MemoryUse>(i)))}};
    memory_[i] = {
        .held = &registry.AddGauge("capstan_memory_held_bytes",
                                   "Memory held beside the parameters, by what for.", use),
        .limit = &registry.AddGauge("capstan_memory_limit_bytes",
                                    "What it may be, as the shard's memory allows.", use),
        .refused = &registry.AddCounter("capstan_memory_refused_requests_total",
                                        "Requests for which a use had no room.", use)};
  }
  added_ahead_ = &registry.AddCounter(
      "capstan_gradients_added_ahead_total",
      "Gradients added to the sum of their round before it closed, one a partition and part.");
  lock_wait_ =
      &registry.AddCounter("capstan_lock_wait_seconds_total",
                           "Time that requests waited for partitions that others were using.");
  held_back_ = &registry.AddCounter("capstan_checkpoint_held_back_partitions_total",
                                    "Partitions whose updates waited until they were copied.");
  lost_ = &registry.AddGauge(
      "capstan_recovery_lost_batches",
      "Batches missing in partitions that recovered partially, summed over them.");
  kept_ = &registry.AddGauge("capstan_checkpoint_kept_bytes",
                             "Rows and blocks kept as they were until they are copied.");
  moved_bytes_ = &registry.AddCounter("capstan_move_sent_bytes_total",
                                      "Bytes of partitions sent to other shards.");
  received_bytes_ = &registry.AddCounter("capstan_move_received_bytes_total",
                                         "Bytes of partitions that other shards have sent.");
  moving_ = &registry.AddGauge("capstan_moving_partitions",
                               "Partitions on their way from this shard to another one.");
  staged_bytes_ = &registry.AddGauge(
      "capstan_move_staged_bytes",
      "Memory of partitions on their way to this shard, which it does not serve yet.");
  frozen_ =
      &registry.AddHistogram("capstan_move_frozen_seconds",
                             "Time that partitions were frozen for a move, until a view ended it.",
                             metrics::WaitBuckets());
  saves_ = AddTransfer("capstan_checkpoint_save", "Saves of this shard's share of a checkpoint");
  loads_ = AddTransfer("capstan_checkpoint_load", "Loads of this shard's share of a checkpoint");
  for (size_t i = 0; i < kRejections; ++i) {
    rejected_[i] = &registry.AddCounter(
        "capstan_gradients_rejected_total", "Gradients not applied, by reason.",
        {{"reason", std::string(LabelOf(static_cast<Rejection>(i)))}});
  }
}

ShardMetrics::Transfer ShardMetrics::AddTransfer(const std::string& name, const std::string& what) {
  const std::string total = name + "s_total";
  const std::string help = what + ", by their end.";
  return {.ok = &registry_.AddCounter(total, help, {{"result", "ok"}}),
          .failed = &registry_.AddCounter(total, help, {{"result", "failed"}}),
          .bytes = &registry_.AddCounter(name + "_bytes_total", what + ", in bytes of files."),
          .duration = &registry_.AddHistogram(
              name + "_duration_seconds", what + ": how long they took.", metrics::WaitBuckets())};
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

ShardMetrics::OfMethod ShardMetrics::AddMethod(std::string_view method) {
  OfMethod of;
  for (int code = 0; code < kCodes; ++code) {
    of.requests[code] = &registry_.AddCounter(
        absl::StrCat("capstan_server_", std::string(method), "_requests_total"),
        absl::StrCat("Requests of ", std::string(method), ", by their status."),
        {{"code", absl::StatusCodeToString(static_cast<absl::StatusCode>(code))}});
  }
  const Labels labels = {{"method", std::string(method)}};
  of.duration = &registry_.AddHistogram(
      "capstan_server_request_duration_seconds",
      "From the arrival of a request until its reply is handed over, without "
      "the wait for slower workers.",
      metrics::DurationBuckets(), labels);
  of.request_bytes =
      &registry_.AddCounter("capstan_server_request_bytes_total", "Bytes of requests.", labels);
  of.reply_bytes =
      &registry_.AddCounter("capstan_server_response_bytes_total", "Bytes of replies.", labels);
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
    registry_
        .AddGauge("capstan_clock_spread_steps",
                  "Steps between the slowest and the fastest of those that train (ssp).")
        .Set(static_cast<double>(facts.clocks->spread));
    registry_.AddGauge("capstan_clock_members", "Compute threads that the bound of ssp counts.")
        .Set(static_cast<double>(facts.clocks->trainers));
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
  of.rows = &registry_.AddGauge("capstan_table_rows", "Rows held.", labels);
  of.bytes = &registry_.AddGauge("capstan_table_bytes", "Memory of the rows, with slots and index.",
                                 labels);
  of.evictions = &registry_.AddCounter("capstan_embedding_evictions_total",
                                       "Rows evicted to stay within the byte budget.", labels);
  of.expirations = &registry_.AddCounter("capstan_embedding_expirations_total",
                                         "Rows dropped because nobody touched them.", labels);
  of.not_admitted =
      &registry_.AddCounter("capstan_embedding_not_admitted_total",
                            "Gradients of keys that had not been seen often enough.", labels);
  of.refused = &registry_.AddCounter("capstan_embedding_refused_total",
                                     "Gradients of new keys without room for a row.", labels);
  of.stale =
      &registry_.AddCounter("capstan_embedding_stale_total",
                            "Gradients of rows that were too stale, by the row's updates.", labels);
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
