// The metrics that a chief exports (chief_metrics.h): what each tells and what is normal, of which
// docs/generate_metrics makes the page docs/metrics.md.
#ifndef CAPSTAN_CHIEF_SHELL_CHIEF_METRIC_DECLARATIONS_H_
#define CAPSTAN_CHIEF_SHELL_CHIEF_METRIC_DECLARATIONS_H_

#include "capstan/metrics/declaration.h"

namespace capstan::chief::metric {

inline constexpr metrics::GaugeDeclaration kTrainingState = {
    .name = "capstan_training_state",
    .help = "1 for the state that the job is in, 0 for the others.",
    .labels = "state",
    .normal = "`running`, then `completed`"};

inline constexpr metrics::GaugeDeclaration kGlobalStep = {
    .name = "capstan_global_step",
    .help = "Rounds closed (sync), otherwise batches acknowledged.",
    .normal = "grows while running"};

inline constexpr metrics::CounterDeclaration kSamplesProcessed = {
    .name = "capstan_samples_processed_total",
    .help = "Examples acknowledged, each counted once, in this chief's term.",
    .normal = "grows while running"};

inline constexpr metrics::GaugeDeclaration kSamplesExpected = {
    .name = "capstan_samples_expected",
    .help = "Examples of all epochs, estimated while files are not read."};

inline constexpr metrics::GaugeDeclaration kTrainingProgressRatio = {
    .name = "capstan_training_progress_ratio",
    .help = "Examples acknowledged of those expected, 0 to 1.",
    .normal = "0 to 1"};

inline constexpr metrics::GaugeDeclaration kTrainingEtaSeconds = {
    .name = "capstan_training_eta_seconds",
    .help = "Time left at the present rate; negative: not known.",
    .normal = "falls"};

inline constexpr metrics::GaugeDeclaration kEpoch = {
    .name = "capstan_epoch", .help = "The epoch of the data that is being trained, from 0."};

inline constexpr metrics::GaugeDeclaration kSampleRate = {
    .name = "capstan_sample_rate",
    .help = "Examples acknowledged a second, of late.",
    .normal = "steady; rises with workers"};

inline constexpr metrics::CounterDeclaration kBadRecords = {
    .name = "capstan_bad_records_total",
    .help =
        "Records that were skipped because they are malformed: of the training data, in "
        "tasks that are done; each once.",
    .normal = "0"};

inline constexpr metrics::GaugeDeclaration kTasks = {
    .name = "capstan_tasks",
    .help = "Tasks of all epochs by state: todo, doing, done.",
    .labels = "state",
    .normal = "`doing` at most 2 a compute thread"};

inline constexpr metrics::CounterDeclaration kTaskRetries = {
    .name = "capstan_task_retries_total",
    .help = "Tasks that failed or came back unfinished.",
    .normal = "grows when workers leave"};

inline constexpr metrics::CounterDeclaration kTaskLeaseExpirations = {
    .name = "capstan_task_lease_expirations_total",
    .help = "Leases that ended because a worker was lost.",
    .normal = "0 unless workers are killed"};

inline constexpr metrics::GaugeDeclaration kWorkers = {
    .name = "capstan_workers",
    .help =
        "Workers by state: active, idle, stuck (their data do not come for longer than "
        "`data_stall`; nothing is leased to them), draining, silent (three of their "
        "heartbeats have not come), lost, parked.",
    .labels = "state",
    .normal = "all active; after the end all parked"};

inline constexpr metrics::GaugeDeclaration kWorkersChangedTimestampSeconds = {
    .name = "capstan_workers_changed_timestamp_seconds",
    .help = "When a worker joined or left last."};

inline constexpr metrics::GaugeDeclaration kShards = {
    .name = "capstan_shards",
    .help =
        "Shards by state: serving, joining (they have come, and are told the timeline), "
        "restoring, draining, lost.",
    .labels = "state",
    .normal = "all serving"};

inline constexpr metrics::GaugeDeclaration kShardsExpected = {
    .name = "capstan_shards_expected",
    .help =
        "Shards that the job counts on: that own partitions; before, those it was told to "
        "wait for.",
    .normal = "as many are serving"};

inline constexpr metrics::GaugeDeclaration kShardPartitions = {
    .name = "capstan_shard_partitions",
    .help = "Partitions that the shard owns.",
    .labels = "shard",
    .when = "with shards",
    .normal = "about the same everywhere"};

inline constexpr metrics::GaugeDeclaration kShardLoadRows = {
    .name = "capstan_shard_load_rows",
    .help = "Rows a second, of late, that are pulled from the shard and pushed to it.",
    .labels = "shard",
    .when = "with shards",
    .normal = "about the same everywhere"};

inline constexpr metrics::GaugeDeclaration kPartitionsMoving = {
    .name = "capstan_partitions_moving",
    .help = "Partitions on their way to another shard.",
    .normal = "0, but for a while after shards come or go"};

inline constexpr metrics::CounterDeclaration kPartitionMoves = {
    .name = "capstan_partition_moves_total",
    .help =
        "Moves of partitions to another shard, by what became of them: `ok`, or `cancelled` "
        "(another try follows).",
    .labels = "result",
    .normal = "`cancelled` does not grow"};

inline constexpr metrics::GaugeDeclaration kPartitionSwitchSeconds = {
    .name = "capstan_partition_switch_seconds",
    .help =
        "Time that the partitions which moved last stood still, from the order to the view "
        "that names the new owners.",
    .normal = "hundredths of a second"};

inline constexpr metrics::GaugeDeclaration kPartitionsUnpaired = {
    .name = "capstan_partitions_unpaired",
    .help = "Partitions that one shard alone holds, of a job with replicas.",
    .when = "with replicas",
    .normal = "0, but for a while after shards come or go"};

inline constexpr metrics::CounterDeclaration kPromotions = {
    .name = "capstan_promotions_total",
    .help = "Lost shards in whose place their backups have come.",
    .when = "with replicas",
    .normal = "0 unless shards are lost"};

inline constexpr metrics::CounterDeclaration kPartitionsPromoted = {
    .name = "capstan_partitions_promoted_total",
    .help = "Partitions whose backup has become the owner.",
    .when = "with replicas",
    .normal = "0 unless shards are lost"};

inline constexpr metrics::CounterDeclaration kBackupsDropped = {
    .name = "capstan_backups_dropped_total",
    .help =
        "Backups of partitions that were given up, by why: the shard that held them was "
        "`lost` or left, or they were `broken`, out of step with the owner.",
    .labels = "because",
    .when = "with replicas",
    .normal = "`broken` stays 0"};

inline constexpr metrics::GaugeDeclaration kRecommendedWorkers = {
    .name = "capstan_recommended_workers",
    .help =
        "Workers that the job could use now: as many as its shards can serve, and as have "
        "work. They keep the busiest shard at four fifths of its CPU time, are at most twice "
        "those that are there, and no more than there are lanes or open tasks; 0 after the "
        "end. An autoscaler may follow it.",
    .normal = "about as many as there are"};

inline constexpr metrics::GaugeDeclaration kStragglerWorkers = {
    .name = "capstan_straggler_workers",
    .help = "Workers more than twice as slow as the median, on average over some 10 s.",
    .normal = "0"};

inline constexpr metrics::GaugeDeclaration kWorkerLastHeartbeatTimestampSeconds = {
    .name = "capstan_worker_last_heartbeat_timestamp_seconds",
    .help = "When the worker was heard of last.",
    .labels = "worker",
    .when = "with workers",
    .normal = "at most a few heartbeats ago"};

inline constexpr metrics::GaugeDeclaration kWorkerStepRate = {
    .name = "capstan_worker_step_rate",
    .help = "Steps a second that the worker could do without waits.",
    .labels = "worker",
    .when = "with workers",
    .normal = "alike among like machines"};

inline constexpr metrics::GaugeDeclaration kWorkerStraggler = {
    .name = "capstan_worker_straggler",
    .help = "1 while the worker counts as slow.",
    .labels = "worker",
    .when = "with workers",
    .normal = "0"};

inline constexpr metrics::GaugeDeclaration kWorkerClockLag = {
    .name = "capstan_worker_clock_lag",
    .help =
        "Steps of a worker behind the fastest one (ssp); of its slowest compute thread. 0 "
        "for one that has no task.",
    .labels = "worker",
    .when = "with ssp",
    .normal = "at most the bound and one"};

inline constexpr metrics::GaugeDeclaration kLoss = {
    .name = "capstan_loss",
    .help =
        "Mean loss: of the latest training batches, of the last evaluation (`train` and "
        "`eval`). That of training is known once this chief's term has trained a batch.",
    .labels = "split",
    .when = "once there is a loss",
    .normal = "falls"};

inline constexpr metrics::GaugeDeclaration kEvalMetric = {
    .name = "capstan_eval_metric",
    .help =
        "Metrics of the last evaluation; of a further set of `data.eval`, `recent/auc`, of a "
        "further label `buy/auc`; each label has those of its loss: of a squared one `rmse` "
        "and `mae`.",
    .labels = "name",
    .when = "after an evaluation"};

inline constexpr metrics::GaugeDeclaration kLearningRate = {
    .name = "capstan_learning_rate",
    .help = "The schedule's learning rate at the examples acknowledged, for `dense` and `sparse`.",
    .labels = "part",
    .normal = "as the schedule says"};

inline constexpr metrics::GaugeDeclaration kStalenessBound = {
    .name = "capstan_staleness_bound",
    .help = "Steps that a worker may be ahead of the slowest.",
    .labels = "part",
    .when = "with ssp"};

inline constexpr metrics::GaugeDeclaration kTableBudgetBytes = {
    .name = "capstan_table_budget_bytes",
    .help = "Memory that the rows of all shards together may take.",
    .when = "with a byte budget"};

inline constexpr metrics::GaugeDeclaration kViewEpoch = {
    .name = "capstan_view_epoch",
    .help = "Views published in this chief's term.",
    .normal = "grows only when something joins, leaves or changes"};

inline constexpr metrics::GaugeDeclaration kViewPublishedTimestampSeconds = {
    .name = "capstan_view_published_timestamp_seconds",
    .help = "When the present view was published."};

inline constexpr metrics::CounterDeclaration kCheckpointCommits = {
    .name = "capstan_checkpoint_commits_total",
    .help = "Checkpoints that were begun, by what became of them.",
    .labels = "result",
    .normal = "no `failed`"};

inline constexpr metrics::GaugeDeclaration kCheckpointIntervalSeconds = {
    .name = "capstan_checkpoint_interval_seconds",
    .help = "Time between checkpoints that the job asks for.",
    .when = "with `checkpoint.every`"};

inline constexpr metrics::GaugeDeclaration kCheckpointLastCompleteTimestampSeconds = {
    .name = "capstan_checkpoint_last_complete_timestamp_seconds",
    .help =
        "When the last checkpoint was last known to hold all there was: when it was "
        "committed, or when an interval was left out since, as nothing had changed.",
    .when = "after a checkpoint",
    .normal = "at most an interval and its duration ago"};

inline constexpr metrics::GaugeDeclaration kCheckpointLastFailureTimestampSeconds = {
    .name = "capstan_checkpoint_last_failure_timestamp_seconds",
    .help = "When a checkpoint failed last, of this chief; 0: none has.",
    .normal = "before the last success"};

inline constexpr metrics::GaugeDeclaration kCheckpointLastSuccessTimestampSeconds = {
    .name = "capstan_checkpoint_last_success_timestamp_seconds",
    .help = "When the last checkpoint was committed.",
    .when = "after a checkpoint"};

inline constexpr metrics::GaugeDeclaration kCheckpointCommittedVersion = {
    .name = "capstan_checkpoint_committed_version",
    .help = "Global step of the last committed checkpoint.",
    .when = "after a checkpoint"};

inline constexpr metrics::GaugeDeclaration kCheckpointLastDurationSeconds = {
    .name = "capstan_checkpoint_last_duration_seconds",
    .help = "Time of the last checkpoint, from the order to the manifest.",
    .when = "after a checkpoint",
    .normal = "far below the interval"};

inline constexpr metrics::GaugeDeclaration kCheckpointLastBytes = {
    .name = "capstan_checkpoint_last_bytes",
    .help = "Bytes of the last checkpoint.",
    .when = "after a checkpoint"};

inline constexpr metrics::CounterDeclaration kRestores = {
    .name = "capstan_restores_total",
    .help = "Returns to a checkpoint, by this chief.",
    .normal = "0 unless shards are lost"};

inline constexpr metrics::CounterDeclaration kSamplesLost = {
    .name = "capstan_samples_lost_total",
    .help = "Examples that were thrown away and trained again.",
    .normal = "0 unless shards are lost"};

inline constexpr metrics::CounterDeclaration kUpdatesLost = {
    .name = "capstan_updates_lost_total",
    .help =
        "Updates of rows that returns to a checkpoint threw away (after a rollback they are "
        "trained again), as far as heartbeats had told.",
    .labels = "recovery",
    .normal = "0 unless shards are lost"};

inline constexpr metrics::GaugeDeclaration kHotRowsLostRatio = {
    .name = "capstan_hot_rows_lost_ratio",
    .help =
        "Of the hot rows that shards had when they last returned to a checkpoint, those that "
        "had changed since. Hot is a row that 32 pushes or more have held.",
    .labels = "table",
    .normal = "0 unless shards are lost"};

inline constexpr metrics::GaugeDeclaration kRestoreDurationSeconds = {
    .name = "capstan_restore_duration_seconds",
    .help = "Time from the loss of a shard to training again, last time.",
    .normal = "a few seconds; 0 unless shards are lost"};

inline constexpr metrics::GaugeDeclaration kRecoveryLastTimestampSeconds = {
    .name = "capstan_recovery_last_timestamp_seconds",
    .help = "When training went on after the last recovery, of this chief.",
    .when = "after a recovery"};

inline constexpr metrics::GaugeDeclaration kRecoveryLastSamples = {
    .name = "capstan_recovery_last_samples",
    .help = "Examples that the last recovery has thrown away.",
    .when = "after a recovery",
    .normal = "at most those of a checkpoint's interval"};

inline constexpr metrics::GaugeDeclaration kRecoveryLastUpdates = {
    .name = "capstan_recovery_last_updates",
    .help =
        "Updates of rows that the last recovery has thrown away, as far as heartbeats had "
        "told.",
    .when = "after a recovery"};

inline constexpr metrics::GaugeDeclaration kJobChangePending = {
    .name = "capstan_job_change_pending",
    .help =
        "1 while the job file says what this job has not taken up: it goes on as it was, and "
        "`capstan status` says what is other (chief with `--on-changed-job=keep`, as in the "
        "chart).",
    .normal = "0"};

inline constexpr metrics::GaugeDeclaration kStateStoreFailing = {
    .name = "capstan_state_store_failing",
    .help =
        "1 while the chief's state cannot be stored: a chief lost now would lose what was "
        "done since.",
    .normal = "0"};

}  // namespace capstan::chief::metric

#endif  // CAPSTAN_CHIEF_SHELL_CHIEF_METRIC_DECLARATIONS_H_
