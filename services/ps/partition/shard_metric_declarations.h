// The metrics that a shard exports (shard_metrics.h): what each tells and what is normal, of which
// docs/generate_metrics makes the page docs/metrics.md.
#ifndef CAPSTAN_PS_PARTITION_SHARD_METRIC_DECLARATIONS_H_
#define CAPSTAN_PS_PARTITION_SHARD_METRIC_DECLARATIONS_H_

#include "capstan/metrics/declaration.h"

namespace capstan::ps::metric {

inline constexpr metrics::CounterDeclaration kServerPullRequests = {
    .name = "capstan_server_pull_requests_total",
    .help = "Requests of pull, by their status.",
    .labels = "code",
    .normal =
        "`OK`; some `FAILED_PRECONDITION` when the view changes; in synchronous jobs "
        "`OUT_OF_RANGE`, where a request is ahead of the news that the round before is "
        "closed, and is repeated with it"};

inline constexpr metrics::CounterDeclaration kServerPushRequests = {
    .name = "capstan_server_push_requests_total",
    .help = "Requests of push, by their status.",
    .labels = "code",
    .normal = "as pulls"};

inline constexpr metrics::HistogramDeclaration kServerRequestDurationSeconds = {
    .name = "capstan_server_request_duration_seconds",
    .help =
        "Time from the arrival of a request until its reply is handed over, without the wait "
        "for slower workers (ssp).",
    .labels = "method",
    .normal = "p99 below 50 ms"};

inline constexpr metrics::CounterDeclaration kServerRequestBytes = {
    .name = "capstan_server_request_bytes_total", .help = "Bytes of requests.", .labels = "method"};

inline constexpr metrics::CounterDeclaration kServerResponseBytes = {
    .name = "capstan_server_response_bytes_total", .help = "Bytes of replies.", .labels = "method"};

inline constexpr metrics::GaugeDeclaration kServerInflightRequests = {
    .name = "capstan_server_inflight_requests",
    .help = "Requests being served.",
    .normal = "a few a compute thread"};

inline constexpr metrics::GaugeDeclaration kServerQueuedCalls = {
    .name = "capstan_server_queued_calls",
    .help =
        "Calls that waited for a thread when the last one began; above 128 some are turned "
        "away.",
    .normal = "0 to a few"};

inline constexpr metrics::HistogramDeclaration kUpdateStalenessVersions = {
    .name = "capstan_update_staleness_versions",
    .help =
        "Updates between the pull of the weights and the application of their gradient, of "
        "the partition.",
    .normal = "about the number of compute threads (async, ssp); 0 (sync)"};

inline constexpr metrics::HistogramDeclaration kRowStalenessUpdates = {
    .name = "capstan_row_staleness_updates",
    .help =
        "Updates of a row between its pull and the application of its gradient (scale, "
        "drop), a row each: the row's own (lowest value of buckets 0, 1, 2, 3, 4, 6, 8, 12 "
        "...).",
    .normal = "mostly 0, however many work; high: all push the same few rows"};

inline constexpr metrics::HistogramDeclaration kUpdateStalenessSeconds = {
    .name = "capstan_update_staleness_seconds",
    .help = "Time since the weights that an applied gradient was computed from were replaced.",
    .normal = "about a step"};

inline constexpr metrics::HistogramDeclaration kServerPullWaitSeconds = {
    .name = "capstan_server_pull_wait_seconds",
    .help = "Time that pulls waited for slower workers (ssp).",
    .normal = "few waits; long ones: a straggler"};

inline constexpr metrics::GaugeDeclaration kServerWaitingPulls = {
    .name = "capstan_server_waiting_pulls",
    .help = "Pulls waiting now (ssp).",
    .normal = "mostly 0"};

inline constexpr metrics::GaugeDeclaration kClockSpreadSteps = {
    .name = "capstan_clock_spread_steps",
    .help = "Steps between the slowest and the fastest of those that train (ssp).",
    .when = "with ssp",
    .normal = "at most the bound and one"};

inline constexpr metrics::GaugeDeclaration kClockMembers = {
    .name = "capstan_clock_members",
    .help = "Compute threads that the bound of ssp counts: those that have a task.",
    .when = "with ssp",
    .normal = "as many as train"};

inline constexpr metrics::CounterDeclaration kLockWaitSeconds = {
    .name = "capstan_lock_wait_seconds_total",
    .help = "Time that requests waited for partitions that others were using.",
    .normal = "below a tenth of a second a second"};

inline constexpr metrics::GaugeDeclaration kModelVersion = {
    .name = "capstan_model_version",
    .help = "Highest version of the shard's partitions.",
    .normal = "alike on all shards"};

inline constexpr metrics::GaugeDeclaration kParameters = {
    .name = "capstan_parameters", .help = "Weights held.", .normal = "grows with new rows"};

inline constexpr metrics::GaugeDeclaration kStoreBytes = {
    .name = "capstan_store_bytes",
    .help = "Memory of rows, blocks, slots and their indexes.",
    .normal = "below the memory limit by a quarter"};

inline constexpr metrics::GaugeDeclaration kPartitions = {
    .name = "capstan_partitions", .help = "Partitions held.", .normal = "alike on all shards"};

inline constexpr metrics::GaugeDeclaration kHottestPartition = {
    .name = "capstan_hottest_partition",
    .help =
        "The partition that has been updated most, of late: over the last ten heartbeats or "
        "so."};

inline constexpr metrics::GaugeDeclaration kHottestPartitionUpdatesRatio = {
    .name = "capstan_hottest_partition_updates_ratio",
    .help = "The part that the hottest partition has of the shard's updates of rows and blocks.",
    .normal = "about one in `capstan_partitions`"};

inline constexpr metrics::GaugeDeclaration kTableRows = {
    .name = "capstan_table_rows", .help = "Rows held.", .labels = "table", .when = "with tables"};

inline constexpr metrics::GaugeDeclaration kTableBytes = {
    .name = "capstan_table_bytes",
    .help = "Memory of the rows, with slots and index.",
    .labels = "table",
    .when = "with tables"};

inline constexpr metrics::CounterDeclaration kEmbeddingEvictions = {
    .name = "capstan_embedding_evictions_total",
    .help = "Rows evicted to stay within the byte budget.",
    .labels = "table",
    .when = "with tables",
    .normal = "0 without a budget"};

inline constexpr metrics::CounterDeclaration kEmbeddingExpirations = {
    .name = "capstan_embedding_expirations_total",
    .help = "Rows dropped because nobody touched them.",
    .labels = "table",
    .when = "with tables",
    .normal = "0 without expiry"};

inline constexpr metrics::CounterDeclaration kEmbeddingNotAdmitted = {
    .name = "capstan_embedding_not_admitted_total",
    .help = "Gradients of keys that had not been seen often enough.",
    .labels = "table",
    .when = "with tables",
    .normal = "0 without admission"};

inline constexpr metrics::CounterDeclaration kEmbeddingStale = {
    .name = "capstan_embedding_stale_total",
    .help = "Gradients of rows that were too stale, by the row's updates, and left out (`drop`).",
    .labels = "table",
    .when = "with tables",
    .normal = "0 without `drop`"};

inline constexpr metrics::CounterDeclaration kEmbeddingRefused = {
    .name = "capstan_embedding_refused_total",
    .help = "Gradients of new keys without room for a row.",
    .labels = "table",
    .when = "with tables",
    .normal = "0"};

inline constexpr metrics::GaugeDeclaration kAggregationQueuedGradients = {
    .name = "capstan_aggregation_queued_gradients",
    .help = "Gradients waiting in aggregation queues.",
    .normal = "below `aggregate` a partition"};

inline constexpr metrics::GaugeDeclaration kBackupBytes = {
    .name = "capstan_backup_bytes",
    .help = "Memory of partitions that this shard backs up (`replicas: 1`).",
    .normal = "about what it owns"};

inline constexpr metrics::GaugeDeclaration kReplicaWaitingBytes = {
    .name = "capstan_replica_waiting_bytes",
    .help =
        "What backups of this shard's partitions have not taken yet, of what was done to "
        "these.",
    .normal = "below a few MiB; it grows while a backup is silent"};

inline constexpr metrics::GaugeDeclaration kWaitingGradientsBytes = {
    .name = "capstan_waiting_gradients_bytes",
    .help =
        "Memory of gradients that wait for the end of their round, in aggregation queues, or at a "
        "backup for their turn.",
    .normal =
        "a few gradients beside those that came before their turn; with backup workers one "
        "of each lane; a few MB at a backup; below `capstan_memory_limit_bytes` of "
        "`waiting_gradients`"};

inline constexpr metrics::GaugeDeclaration kMemoryHeldBytes = {
    .name = "capstan_memory_held_bytes",
    .help = "Memory held beside the parameters, by what for (`use`).",
    .labels = "use",
    .normal = "well below the limit of its use; at it, that use is refused for a while"};

inline constexpr metrics::GaugeDeclaration kMemoryLimitBytes = {
    .name = "capstan_memory_limit_bytes",
    .help =
        "Memory that may be held for a use, as the shard's memory allows: each use has a "
        "share of it.",
    .labels = "use",
    .normal =
        "the same on all shards, but for gradients that wait, which get what the "
        "parameters leave"};

inline constexpr metrics::CounterDeclaration kMemoryRefusedRequests = {
    .name = "capstan_memory_refused_requests_total",
    .help = "Requests for which a use had no room.",
    .labels = "use",
    .normal =
        "0; `waiting_gradients` grows at the end of rounds that need more than their "
        "share. The requests come again. Those of `waiting_pulls` and `replicas` are "
        "refused as pulls and as busy partitions, and are not counted"};

inline constexpr metrics::CounterDeclaration kGradientsAddedAhead = {
    .name = "capstan_gradients_added_ahead_total",
    .help =
        "Gradients added to the sum of their round before it closed, one a partition and "
        "part.",
    .normal = "`sync` without backup workers: nearly all gradients applied; 0 otherwise"};

inline constexpr metrics::GaugeDeclaration kCheckpointKeptBytes = {
    .name = "capstan_checkpoint_kept_bytes",
    .help = "Rows and blocks kept as they were until they are copied.",
    .normal = "0 between checkpoints"};

inline constexpr metrics::CounterDeclaration kCheckpointHeldBackPartitions = {
    .name = "capstan_checkpoint_held_back_partitions_total",
    .help =
        "Partitions whose updates waited until they were copied, because too much was kept "
        "already.",
    .normal = "0"};

inline constexpr metrics::CounterDeclaration kCheckpointSaves = {
    .name = "capstan_checkpoint_saves_total",
    .help = "Saves of this shard's share of a checkpoint, by their end.",
    .labels = "result",
    .normal = "all ok"};

inline constexpr metrics::CounterDeclaration kCheckpointSaveBytes = {
    .name = "capstan_checkpoint_save_bytes_total",
    .help = "Saves of this shard's share of a checkpoint, in bytes of files."};

inline constexpr metrics::HistogramDeclaration kCheckpointSaveDurationSeconds = {
    .name = "capstan_checkpoint_save_duration_seconds",
    .help = "Saves of this shard's share of a checkpoint: how long they took.",
    .normal = "well below `checkpoint.every`"};

inline constexpr metrics::CounterDeclaration kCheckpointLoads = {
    .name = "capstan_checkpoint_loads_total",
    .help = "Loads of this shard's share of a checkpoint, by their end.",
    .labels = "result",
    .normal = "one a start, all ok"};

inline constexpr metrics::CounterDeclaration kCheckpointLoadBytes = {
    .name = "capstan_checkpoint_load_bytes_total",
    .help = "Loads of this shard's share of a checkpoint, in bytes of files."};

inline constexpr metrics::HistogramDeclaration kCheckpointLoadDurationSeconds = {
    .name = "capstan_checkpoint_load_duration_seconds",
    .help = "Loads of this shard's share of a checkpoint: how long they took."};

inline constexpr metrics::GaugeDeclaration kMovingPartitions = {
    .name = "capstan_moving_partitions",
    .help = "Partitions on their way from this shard to another one.",
    .normal = "0 but for a while"};

inline constexpr metrics::CounterDeclaration kMoveSentBytes = {
    .name = "capstan_move_sent_bytes_total", .help = "Bytes of partitions sent to other shards."};

inline constexpr metrics::CounterDeclaration kMoveReceivedBytes = {
    .name = "capstan_move_received_bytes_total",
    .help = "Bytes of partitions that other shards have sent."};

inline constexpr metrics::GaugeDeclaration kMoveStagedBytes = {
    .name = "capstan_move_staged_bytes",
    .help = "Memory of partitions on their way to this shard, which it does not serve yet.",
    .normal = "0 but for a while"};

inline constexpr metrics::HistogramDeclaration kMoveFrozenSeconds = {
    .name = "capstan_move_frozen_seconds",
    .help = "Time that partitions were frozen for a move, until a view ended it.",
    .normal = "well below a second"};

inline constexpr metrics::GaugeDeclaration kRecoveryLostBatches = {
    .name = "capstan_recovery_lost_batches",
    .help =
        "Batches missing in partitions that recovered partially, summed over them "
        "(`recovery: partial`).",
    .normal = "0"};

inline constexpr metrics::CounterDeclaration kGradientsRejected = {
    .name = "capstan_gradients_rejected_total",
    .help = "Gradients not applied, by reason.",
    .labels = "reason",
    .normal = "`duplicate` after retries; `stale` with `drop`; no `nan`, no `shape`, no `seal`"};

}  // namespace capstan::ps::metric

#endif  // CAPSTAN_PS_PARTITION_SHARD_METRIC_DECLARATIONS_H_
