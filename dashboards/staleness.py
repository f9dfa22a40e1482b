"""Staleness: how old the parameters are that gradients are computed from, and what is done about it."""
from panels import BLUE, GREEN, RED, YELLOW, bars, dashboard, heat, lines, quantile, stat, steps, target

VERSIONS, SECONDS = "capstan_update_staleness_versions", "capstan_update_staleness_seconds"
ROWS = "capstan_row_staleness_updates"
REJECTED = "sum by (reason) (rate(capstan_gradients_rejected_total{$S}[$I]))"
APPLIED = f"sum(rate({VERSIONS}_count{{$S}}[$I]))"
# Stale gradients count once for each partition and part, as applied ones do; a push that is refused counts once.
STALE = ('sum by (reason) (rate(capstan_gradients_rejected_total{$S,reason="stale"}[$I])) / on () group_left () '
         f'({APPLIED} + sum(rate(capstan_gradients_rejected_total{{$S,reason="stale"}}[$I])) > 0)')
REFUSED = ('sum by (reason) (rate(capstan_gradients_rejected_total{$S,reason=~"nan|shape|unknown"}[$I])) / on () group_left () '
           "(sum(rate(capstan_server_push_requests_total{$S}[$I])) > 0)")

DASHBOARD = dashboard(
    "capstan-staleness", "Staleness",
    "How old the parameters are that gradients are computed from, and what is done about it.",
    [(None, [
        stat("Median", "Updates between a pull and the application of its gradient. About the number of compute "
             "threads (async, ssp); 0 (sync).", "none", quantile(0.5, VERSIONS), 4, decimals=1),
        stat("p99", "The oldest hundredth. Far above the median: a straggler.", "none", quantile(0.99, VERSIONS), 4,
             decimals=1),
        stat("p99 age", "The same as time. Normal: a few steps.", "s", quantile(0.99, SECONDS), 4),
        stat("Bound", "Steps that a worker may be ahead of the slowest (ssp). Empty without a bound.", "none",
             "min(capstan_staleness_bound{$S})", 4, noValue="none", thresholds=steps(BLUE)),
        stat("Pulls waiting", "Pulls that wait now for slower workers (ssp). Mostly 0.", "none",
             "sum(capstan_server_waiting_pulls{$S})", 4, thresholds=steps(GREEN, (5, YELLOW))),
        stat("Not applied", "Part of the gradients that were thrown away: dropped as stale, or faulty. Those that are sent "
             "again do not count. Normal: 0 %.", "percentunit",
             f"sum({STALE} or {REFUSED})", 4, thresholds=steps(GREEN, (0.001, YELLOW), (0.05, RED)), decimals=2),
     ]),
     ("Age of the gradients", [
         heat("Staleness in versions", "Applied gradients by how many updates went before them since their pull. A "
              "dark band near the number of compute threads is normal; a second band above it is a straggler.",
              "none", f"sum by (le) (rate({VERSIONS}_bucket{{$S}}[$I]))"),
         heat("Staleness of rows", "With scale or drop: how often a row itself was updated between its pull and the "
              "application of its gradient. Mostly 0, however many work; high: all push the same few rows.", "none",
              f"sum by (le) (rate({ROWS}_bucket{{$S}}[$I]))"),
         heat("Staleness in seconds", "The same by time since the weights were replaced. Normal: about a step.", "s",
              f"sum by (le) (rate({SECONDS}_bucket{{$S}}[$I]))"),
         lines("By shard", "p99 of versions for each shard. Alike; one above the others is slower or hotter.", "none",
               target(quantile(0.99, VERSIONS, "le, shard"), "{{shard}}"), width=12, min=0),
         lines("Versions of the shards", "Highest version of each shard's partitions. They rise together.", "none",
               target("max by (shard) (capstan_model_version{$S})", "{{shard}}"), width=12),
         lines("Gradients waiting", "Queued to be applied together (async with aggregate). Below `aggregate` a "
               "partition.", "none", target("sum by (shard) (capstan_aggregation_queued_gradients{$S})",
                                            "{{shard}}"), width=12, min=0),
         lines("Memory of waiting gradients", "Of gradients that wait for the end of their round (sync), or to be applied together. "
               "A few gradients; with backup workers one of each lane. Near what a shard's memory has room for: pushes are held up.", "bytes",
               target("sum by (shard) (capstan_waiting_gradients_bytes{$S})", "{{shard}}"), width=12, min=0),
     ]),
     ("Who waits for whom", [
         bars("Steps behind the fastest", "Lag of each worker's slowest compute thread (ssp), the 15 largest. At most the bound and one. "
              "All wait for the longest; whether it is slow itself is said by Speed on Training. 0: it has no task.", "none",
              target("sort_desc(topk(15, max by (worker) (capstan_worker_clock_lag{$S})))", "{{worker}}"), decimals=0,
              noValue="only with a bound (ssp)"),
         lines("Wait for the bound", "Time that pulls waited for slower workers (ssp). Short and rare. Empty without a bound.", "s",
               target(quantile(0.5, "capstan_server_pull_wait_seconds"), "median"),
               target(quantile(0.99, "capstan_server_pull_wait_seconds"), "p99"), min=0, noValue="only with a bound (ssp)"),
         lines("Wait for the round", "Time that lanes waited for the next round (sync). Empty without rounds. Below a step; more: a slow "
               "worker, or too few backup workers.", "s",
               target(quantile(0.5, "capstan_worker_round_wait_seconds"), "median"),
               target(quantile(0.99, "capstan_worker_round_wait_seconds"), "p99"), min=0, noValue="only with rounds (sync)"),
     ]),
     ("Gradients that did not count", [
         lines("Not applied, by reason", "Empty: all were. A duplicate was applied before (after a retry), stale was above "
               "drop_above. nan and shape are faults.", "cps", target(f"{REJECTED} > 0", "{{reason}}"), width=8, min=0, noValue="none"),
         lines("Late for their round", "Gradients that came after their round was closed (sync with backup "
               "workers); their batch is offered again. 0 on all but slow workers.", "cps",
               target("topk(15, sum by (pod) (rate(capstan_worker_late_gradients_total{$S}[$I])) > 0)", "{{pod}}"), width=8, min=0,
               noValue="none"),
         lines("Scaled down", "Part of the rows' gradients that counted for less because their row had been updated since (stale_gradients: "
               "scale), or were left out (drop). Empty without either.", "percentunit",
               target(f'1 - sum(rate({ROWS}_bucket{{$S,le="0"}}[$I])) / (sum(rate({ROWS}_count{{$S}}[$I])) > 0)', "of the rows"),
               width=8, min=0, max=1, noValue="only with scale or drop"),
     ])])
