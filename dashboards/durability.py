"""Durability: what a crash would cost now, and what crashes have cost."""
from panels import (BLUE, GREEN, RED, STATE, STATE_NAMES, YELLOW, bars, colors, dashboard, lines, stat, states, steps,
                    target, values_as)

AGE = "time() - max(capstan_checkpoint_last_success_timestamp_seconds{$S})"

DASHBOARD = dashboard(
    "capstan-durability", "Durability", "What a crash would cost now, and what crashes have cost.",
    [(None, [
        stat("Last checkpoint", "Its age: what a crash of everything would cost. At most the interval and a "
             "little. Empty before the first one.", "s", AGE, 4, decimals=0),
        stat("Interval", "What the job asks for (checkpoint.every). Empty: only the finished model is written.", "s",
             "max(capstan_checkpoint_interval_seconds{$S})", 4, thresholds=steps(BLUE)),
        stat("Steps since", "Global steps since the last checkpoint.", "short",
             "max(capstan_global_step{$S}) - max(capstan_checkpoint_committed_version{$S})", 4),
        stat("Failed checkpoints", "Since the chief started. Normal: 0.", "none",
             'sum(capstan_checkpoint_commits_total{$S,result="failed"})', 4, thresholds=steps(GREEN, (1, RED))),
        stat("Leases expired", "Work of workers that fell silent, given to others; nothing is lost by it. 0 unless "
             "workers are killed.", "none", "sum(capstan_task_lease_expirations_total{$S})", 4,
             thresholds=steps(GREEN, (1, YELLOW))),
        stat("Shards lost", "Silent now. Normal: 0.", "none", 'max(capstan_shards{$S,state="lost"})', 4,
             thresholds=steps(GREEN, (1, RED))),
     ]),
     ("Checkpoints", [
         lines("Age of the last checkpoint", "A saw: rises to the interval and falls to 0. A slope that goes on: "
               "checkpoints fail, or take too long.", "s", target(AGE, "age"),
               target("max(capstan_checkpoint_interval_seconds{$S})", "interval"), width=12, min=0),
         lines("Checkpoints", "Committed and failed, since the chief started. Failed stays 0.", "none",
               target("sum by (result) (capstan_checkpoint_commits_total{$S})", "{{result}}"), width=12, min=0,
               decimals=0, overrides=colors({"ok": GREEN, "failed": RED})),
     ]),
     ("Processes", [
         states("Shards", "Whether Prometheus reaches each shard. A gap is a restart or a lost node.",
                'max by (shard) (up{$S,role="ps"})', "{{shard}}", 12, 6,
                [values_as({0: ("down", RED), 1: ("up", GREEN)})]),
         states("Job", "What the chief says of the job. After a restart it is restoring, then running.",
                STATE, "job", 12, 6, [STATE_NAMES]),
         bars("Up since", "Age of each process. A short bar has restarted.", "s",
              target('min by (role, shard) (time() - capstan_process_start_timestamp_seconds{$S,role!="worker"})',
                     "{{role}} {{shard}}"),
              target('min by (pod) (time() - capstan_process_start_timestamp_seconds{$S,role="worker"})', "{{pod}}"),
              decimals=0),
         lines("Shards by state", "All serving; lost ones fell silent.", "none",
               target("max by (state) (capstan_shards{$S})", "{{state}}"), stack=True, min=0, decimals=0,
               overrides=colors({"serving": GREEN, "draining": YELLOW, "lost": RED})),
         lines("Views", "How often the map of the job was published anew. Grows only when something joins, leaves or "
               "changes.", "none", target("max(capstan_view_epoch{$S})", "epoch"), decimals=0),
     ]),
     ("Work that changed hands", [
         lines("Leases", "Tasks that came back unfinished, and leases that expired. Grows when workers leave or "
               "die.", "none", target("sum(capstan_task_retries_total{$S})", "given back or failed"),
               target("sum(capstan_task_lease_expirations_total{$S})", "expired"),
               target("sum(capstan_worker_leases_lost_total{$S})", "lost, say workers"), min=0, decimals=0),
         lines("Calls tried again", "Calls from workers to shards that failed, by shard. 0 unless a shard is away.",
               "cps", target("sum by (shard, code) (rate(capstan_worker_rpc_retries_total{$S}[$I]))",
                             "{{shard}} {{code}}"), min=0, noValue="none"),
         lines("Sent twice", "Gradients that a shard had applied before: the proof that retries are harmless. 0 "
               "unless calls are tried again.", "cps",
               target('sum by (shard) (rate(capstan_gradients_rejected_total{$S,reason="duplicate"}[$I]))',
                      "{{shard}}"), min=0),
     ])])
