"""Durability: what a crash would cost now, and what crashes have cost."""
from panels import (AGE, BLUE, GREEN, RED, STATE, STATE_NAMES, YELLOW, bars, checkpoint_age, colors, dashboard, lines, quantile,
                    recovery, stat, states, stats, steps, target, values_as)

# Answers that no healthy job gets; others say that something is not there, or is there already.
FAILURES = 'code!~"OK|NOT_FOUND|ALREADY_EXISTS|ABORTED|CANCELLED|OUT_OF_RANGE"'
RED_LINES = {"matcher": {"id": "byRegexp", "options": ".+"},
             "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": RED}}]}

DASHBOARD = dashboard(
    "capstan-durability", "Durability", "What a crash would cost now, and what crashes have cost.",
    [(None, [
        checkpoint_age(3),
        stat("Interval", "What the job asks for (checkpoint.every). Empty: only the finished model is written.", "s",
             "max(capstan_checkpoint_interval_seconds{$S})", 3, thresholds=steps(BLUE)),
        stat("Steps since", "Global steps since the last checkpoint.", "short",
             "max(capstan_global_step{$S}) - max(capstan_checkpoint_committed_version{$S})", 3),
        stat("Failed checkpoints", "Since the chief started. Normal: 0.", "none",
             'sum(capstan_checkpoint_commits_total{$S,result="failed"})', 3, thresholds=steps(GREEN, (1, RED))),
        stat("Chief's state", "Whether the chief's state stands in the store. failing: a chief lost now would lose what was "
             "done since.", "none", "max(capstan_state_store_failing{$S})", 3,
             mappings=[values_as({0: ("stored", GREEN), 1: ("failing", RED)})]),
        stats("Shards", "Those that serve, and how many the job is to have. Normal: as many.", "none",
              target('max(capstan_shards{$S,state="serving"}) >= max(capstan_shards_expected{$S})', "serving"),
              target('max(capstan_shards{$S,state="serving"}) < max(capstan_shards_expected{$S})', "serving"),
              target("max(capstan_shards_expected{$S})", "expected"), width=4, colors_=(GREEN, RED, "text")),
        recovery(5),
     ]),
     ("Checkpoints", [
         lines("Age of the last checkpoint", "A saw: rises to the interval and falls to 0. A slope that goes on: "
               "checkpoints fail, or take too long.", "s", target(AGE, "age"),
               target("max(capstan_checkpoint_interval_seconds{$S})", "interval"), width=12, min=0),
         lines("Checkpoints", "Committed and failed, since the chief started. Failed stays 0.", "none",
               target("sum by (result) (capstan_checkpoint_commits_total{$S})", "{{result}}"), width=12, min=0,
               decimals=0, overrides=colors({"ok": GREEN, "failed": RED})),
     ]),
     ("What they cost", [
         lines("Time to write", "From the order to the manifest, of the last checkpoint. Far below the interval.", "s",
               target("max(capstan_checkpoint_last_duration_seconds{$S})", "last"), min=0),
         lines("Size", "Bytes of the last checkpoint. Deltas are small; a full one comes now and then.", "bytes",
               target("max(capstan_checkpoint_last_bytes{$S})", "last"), min=0),
         lines("Kept for copies", "Rows and blocks kept as they were until they are copied: the memory that a "
               "checkpoint takes. 0 between checkpoints.", "bytes",
               target("sum by (shard) (capstan_checkpoint_kept_bytes{$S})", "{{shard}}"), min=0),
     ]),
     ("Recoveries", [
         lines("Returns to a checkpoint", "By this chief. 0 unless shards are lost.", "none",
               target("max(capstan_restores_total{$S})", "returns"), min=0, decimals=0),
         lines("Examples trained twice", "Thrown away with what a lost shard held, and trained again. At most an "
               "interval's worth for each loss.", "short",
               target("max(capstan_samples_lost_total{$S})", "examples"), min=0),
         lines("Updates lost", "Updates of rows that were thrown away, by what the job does about it: after a rollback they are trained "
               "again, with partial they are missing. 0 unless shards are lost.", "short",
               target("sum by (recovery) (capstan_updates_lost_total{$S})", "{{recovery}}"), min=0),
         lines("Time of a recovery", "From the loss of a shard to training again, last time. A few seconds; 0 unless shards are lost.", "s",
               target("max(capstan_restore_duration_seconds{$S})", "last"), min=0),
         lines("Hot rows lost", "Of the hot rows that a returning shard had, those that had changed since the checkpoint, last time. 0 "
               "unless shards are lost; empty without tables.", "percentunit", target("max by (table) (capstan_hot_rows_lost_ratio{$S})", "{{table}}"),
               min=0, max=1, noValue="only with tables"),
         lines("Batches missing", "Not in partitions that came back alone (recovery: partial), summed over them. 0 "
               "with rollback.", "none", target("sum by (shard) (capstan_recovery_lost_batches{$S})", "{{shard}}"),
               min=0, decimals=0),
     ]),
     ("Object store", [
         lines("Calls", "Of all processes, by what they ask. Writes come with the chief's state, once a second.", "cps",
               target("sum by (op) (rate(capstan_object_store_requests_total{$S}[$I]))", "{{op}}"), min=0),
         lines("Failed calls", "After the client's own retries, by role and status. Normal: none; training goes on "
               "without the store, but nothing new is safe.", "cps",
               target("sum by (role, code) (rate(capstan_object_store_requests_total{$S,%s}[$I])) > 0" % FAILURES,
                      "{{role}} {{code}}"), min=0, noValue="none", overrides=[RED_LINES]),
         lines("Time of a call", "p99, with retries. Normal: below a second; uploads of large partitions take "
               "longer.", "s", target(quantile(0.99, "capstan_object_store_request_duration_seconds", "le, op"),
                                      "{{op}}"), min=0),
     ]),
     ("Processes", [
         states("Shards", "Whether Prometheus reaches each shard. A gap is a restart or a lost node.",
                'max by (shard) (up{$S,role="ps"})', "{{shard}}", 12, 6,
                [values_as({0: ("down", RED), 1: ("up", GREEN)})]),
         states("Job", "What the chief says of the job. After a restart it is restoring, then running.",
                STATE, "job", 12, 6, [STATE_NAMES]),
         bars("Up since", "Age of chief and shards, and of the 15 youngest workers. A short bar has restarted.", "s",
              target('min by (role, shard) (time() - capstan_process_start_timestamp_seconds{$S,role!="worker"})',
                     "{{role}} {{shard}}"),
              target('sort(bottomk(15, min by (pod) (time() - capstan_process_start_timestamp_seconds{$S,role="worker"})))', "{{pod}}"),
              decimals=0, height=12),
         lines("Shards by state", "All serving; lost ones fell silent.", "none",
               target("max by (state) (capstan_shards{$S})", "{{state}}"), stack=True, min=0, decimals=0,
               height=12, overrides=colors({"serving": GREEN, "draining": YELLOW, "lost": RED})),
         lines("Views", "How often the map of the job was published anew. Grows only when something joins, leaves or "
               "changes.", "none", target("max(capstan_view_epoch{$S})", "epoch"), height=12, decimals=0),
     ]),
     ("Work that changed hands", [
         lines("Leases", "Tasks that came back unfinished, and leases that expired. Grows when workers leave or "
               "die.", "none", target("sum(capstan_task_retries_total{$S})", "given back or failed"),
               target("sum(capstan_task_lease_expirations_total{$S})", "expired"),
               target("sum(capstan_worker_leases_lost_total{$S})", "lost, say workers"), min=0, decimals=0),
         lines("Calls tried again", "Calls from workers to shards that failed, by shard. Empty unless a shard is away.",
               "cps", target("sum by (shard, code) (rate(capstan_worker_rpc_retries_total{$S}[$I]))",
                             "to shard {{shard}}: {{code}}"), min=0, noValue="none"),
         lines("Sent twice", "Gradients that a shard had applied before: the proof that retries are harmless. 0 "
               "unless calls are tried again.", "cps",
               target('sum by (shard) (rate(capstan_gradients_rejected_total{$S,reason="duplicate"}[$I]))',
                      "{{shard}}"), min=0),
     ])])
