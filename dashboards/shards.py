"""Shards: what the parameter servers do, and which of them is hot. For whoever runs the cluster."""
from panels import GREEN, RED, SHARD, YELLOW, bars, dashboard, lines, number, quantile, recovery, stat, stats, steps, target

ONE = '$S,shard=~"$shard"'
REQUESTS = ("sum by (shard) (rate(capstan_server_request_duration_seconds_count{%s}[$I]))" % ONE)

FAILED = '(sum(rate(capstan_server_%%s_requests_total{%s,code!="OK"}[$I])) or vector(0))' % ONE


def latency(q, by):
    return quantile(q, "capstan_server_request_duration_seconds", f"le, {by}", ONE)


def tables(name, legend):
    return target(f"sum by (table) (rate({name}{{{ONE}}}[$I]))", "{{table}} " + legend)


DASHBOARD = dashboard(
    "capstan-shards", "Shards", "What the parameter servers do, and which of them is hot.",
    [(None, [
        stats("Serving", "Shards that serve, and how many the job is to have. Normal: as many.", "none",
              target('max(capstan_shards{$S,state="serving"}) >= max(capstan_shards_expected{$S})', "serving"),
              target('max(capstan_shards{$S,state="serving"}) < max(capstan_shards_expected{$S})', "serving"),
              target("max(capstan_shards_expected{$S})", "expected"), width=4, colors_=(GREEN, RED, "text")),
        recovery(5),
        stat("Requests/s", "Pulls and pushes of all shards.", "short", f"sum({REQUESTS})", 3),
        stat("p99", "Time that a request takes on its shard, without the network and without waiting for slower workers. Normal: below 50 ms.", "s",
             latency(0.99, "job_name"), 2, thresholds=steps(GREEN, (0.05, YELLOW), (0.5, RED))),
        stat("Parameters", "Weights held, without optimizer state.", "short", "sum(max by (shard) (last_over_time(capstan_parameters{$S}[1m])))", 3),
        stat("Memory", "Rows, blocks, slots and indexes of all shards.", "bytes", "sum(max by (shard) (last_over_time(capstan_store_bytes{$S}[1m])))", 3),
        stat("Skew", "Requests of the busiest shard against the mean. Normal: near 1; above 1.5 a hot partition "
             "should move.", "none", f"max({REQUESTS}) / avg({REQUESTS} > 0)", 2,
             thresholds=steps(GREEN, (1.25, YELLOW), (1.5, RED)), decimals=2),
        stat("Failed", "Part of the requests that were answered with an error. A view that changes makes a few "
             "FAILED_PRECONDITION; otherwise 0 %.", "percentunit",
             number(f"({FAILED % 'pull'} + {FAILED % 'push'}) / sum({REQUESTS})"), 2,
             thresholds=steps(GREEN, (0.01, YELLOW), (0.1, RED)), decimals=2),
     ]),
     ("Requests", [
         lines("Requests by shard", "Pulls and pushes a second. Alike on all shards.", "reqps",
               target(REQUESTS, "{{shard}}"), min=0),
         lines("Latency", "From the arrival of a request until its reply is handed over, without the wait for slower "
               "workers (ssp; it is on Staleness). Normal: p99 below 50 ms.", "s", target(latency(0.5, "method"), "{{method}} median"),
               target(latency(0.99, "method"), "{{method}} p99"), min=0),
         lines("p99 by shard", "One above the others: hot, or on a busy node.", "s",
               target(latency(0.99, "shard"), "{{shard}}"), min=0),
         lines("Traffic", "Bytes of requests and replies. Pushes come in, pulls go out.", "Bps",
               target(f"sum by (method) (rate(capstan_server_request_bytes_total{{{ONE}}}[$I]))", "{{method}} in"),
               target(f"sum by (method) (rate(capstan_server_response_bytes_total{{{ONE}}}[$I]))", "{{method}} out"),
               min=0),
         lines("In flight", "Requests being served. A few a compute thread; a growing number: the shard is "
               "saturated.", "none", target(f"sum by (shard) (capstan_server_inflight_requests{{{ONE}}})",
                                            "{{shard}}"), min=0),
         lines("Errors", "Requests by status other than OK. FAILED_PRECONDITION when the view changes, "
               "RESOURCE_EXHAUSTED under overload, CANCELLED when workers go.", "reqps",
               target('sum by (code) (rate(capstan_server_pull_requests_total{%s,code!="OK"}[$I])) > 0' % ONE,
                      "pull {{code}}"),
               target('sum by (code) (rate(capstan_server_push_requests_total{%s,code!="OK"}[$I])) > 0' % ONE,
                      "push {{code}}"), min=0, noValue="none"),
     ]),
     ("Load", [
         lines("CPU", "Cores that each shard uses, and the limit, if there is one. Alike; at the limit the shards are the bottleneck.", "none",
               target(f"sum by (shard) (rate(capstan_process_cpu_seconds_total{{{ONE}}}[$I]))", "{{shard}}"),
               target(f"min(capstan_process_cpu_limit_cores{{{ONE}}})", "limit"), width=6, min=0, decimals=2),
         lines("Memory", "Resident memory, the largest part that is parameters, and the limit, if there is one. Grows with new rows; the gap is buffers "
               "and code.", "bytes",
               target(f"sum by (shard) (capstan_process_resident_bytes{{{ONE}}})", "{{shard}}"),
               target(f"max(capstan_store_bytes{{{ONE}}})", "parameters, the most"),
               target(f"min(capstan_process_memory_limit_bytes{{{ONE}}})", "limit"), width=6, min=0),
         lines("Gradients applied", "Applied gradients a second, one a partition. Alike on all shards.", "cps",
               target(f"sum by (shard) (rate(capstan_update_staleness_versions_count{{{ONE}}}[$I]))", "{{shard}}"),
               width=6, min=0),
         lines("Waits for partitions", "Seconds that requests waited, each second, for partitions that others were "
               "using. Below 0.1; more: many workers meet in few partitions.", "none",
               target(f"sum by (shard) (rate(capstan_lock_wait_seconds_total{{{ONE}}}[$I]))", "{{shard}}"),
               width=6, min=0, decimals=3),
         lines("Shares of memory", "How much of its share of a shard's memory each use has, of the shard where it is fullest. Below 100 %; at it, that use is "
               "refused for a while.", "percentunit",
               target(f"max by (use) (capstan_memory_held_bytes{{{ONE}}} / (capstan_memory_limit_bytes{{{ONE}}} > 0))", "{{use}}"), width=12, min=0),
         lines("Turned away", "Requests a second for which a use had no room, and that come again. 0; gradients that wait: rounds or aggregates need "
               "more than a shard's memory has room for.", "cps",
               target(f"sum by (shard, use) (rate(capstan_memory_refused_requests_total{{{ONE}}}[$I])) > 0", "{{shard}} {{use}}"), width=12, min=0,
               noValue="none"),
     ]),
     ("Tables", [
         lines("Rows", "Rows of each table. Grows while new keys come, then levels off.", "short",
               target(f"sum by (table) (max by (shard, table) (last_over_time(capstan_table_rows{{{ONE}}}[1m])))", "{{table}}"), min=0),
         lines("Memory of tables", "With optimizer state and index; the line is the budget, if there is one.",
               "bytes", target(f"sum by (table) (max by (shard, table) (last_over_time(capstan_table_bytes{{{ONE}}}[1m])))", "{{table}}"),
               target("max(capstan_table_budget_bytes{$S})", "budget"), min=0),
         lines("Rows refused and removed", "Evicted for the budget, expired because nobody touched them, not yet "
               "admitted, or refused for want of room. 0 unless the table has such limits.", "cps",
               tables("capstan_embedding_evictions_total", "evicted"),
               tables("capstan_embedding_expirations_total", "expired"),
               tables("capstan_embedding_not_admitted_total", "not admitted"),
               tables("capstan_embedding_refused_total", "refused"), min=0),
         lines("Rows by shard", "Alike: keys are spread by hash.", "short",
               target(f"sum by (shard) (max by (shard, table) (capstan_table_rows{{{ONE}}}))", "{{shard}}"), width=12, min=0),
         lines("Memory in four hours", "Parameters if they go on growing as in the last 30 minutes; the line is the memory limit. "
               "Nothing before a shard has run for half an hour: there is no trend yet.", "bytes",
               target(f"predict_linear(max by (shard) (capstan_store_bytes{{{ONE}}})[30m:1m], 14400) and on (shard) "
                      f"(time() - max by (shard) (capstan_process_start_timestamp_seconds{{{ONE}}}) > 1800)", "{{shard}}"),
               target(f"min(capstan_process_memory_limit_bytes{{{ONE}}})", "limit"),
               width=12, min=0, noValue="no trend yet"),
     ]),
     ("Hot partitions", [
         lines("Load", "Rows a second that are pulled from each shard and pushed to it. Alike; else `capstan rebalance --plan` says what "
               "moves would bring.", "none", target('max by (shard) (capstan_shard_load_rows{$S})', "{{shard}}"), min=0),
         lines("Hottest partition", "How many times as often as the mean the shard's hottest partition is updated. Normal: below 2; high: "
               "few keys take most of the updates.", "none",
               target(f"max by (shard) (capstan_hottest_partition_updates_ratio{{{ONE}}} * capstan_partitions{{{ONE}}})", "{{shard}}"), min=0),
         bars("Which it is", "The number of each shard's hottest partition. It says something only where the panel beside is high.", "none",
              target(f"max by (shard) (capstan_hottest_partition{{{ONE}}})", "{{shard}}"), decimals=0),
         lines("Queues", "Calls that waited for a thread when the last one began. 0 to a few; above 128 some are turned away "
               "(RESOURCE_EXHAUSTED).", "none",
               target(f"max by (shard) (capstan_server_queued_calls{{{ONE}}})", "{{shard}}"), min=0, decimals=0),
     ]),
     ("Moves", [
         lines("Partitions by shard", "Partitions that each shard owns. Alike, and steps where shards have come or gone.", "none",
               target('max by (shard) (capstan_shard_partitions{$S})', "{{shard}}"), min=0, decimals=0),
         lines("On the way", "Partitions on their way to another shard, and moves that were cancelled in five minutes (another try "
               "follows). 0, but for a while after shards come or go.", "none",
               target("max(capstan_partitions_moving{$S})", "moving"),
               target('sum(increase(capstan_partition_moves_total{$S,result="cancelled"}[5m]))', "cancelled"), min=0, decimals=0),
         lines("Stood still", "For how long the partitions that moved last stood still. Hundredths of a second; with rounds, as long as one "
               "takes.", "s", target("max(capstan_partition_switch_seconds{$S})", "last switch"), min=0),
         lines("Bytes moved", "Bytes a second of partitions that shards send to each other. 0, but while partitions move. At most "
               "rebalance_bytes_per_second a shard, where the job sets it; the last rows, for which pushes wait, may be above.", "Bps",
               target(f"sum by (shard) (rate(capstan_move_sent_bytes_total{{{ONE}}}[$I]))", "{{shard}} sends"),
               target(f"sum by (shard) (rate(capstan_move_received_bytes_total{{{ONE}}}[$I]))", "{{shard}} takes"), width=12, min=0),
         lines("Frozen", "For how long pushes of a partition waited for its move, of all moves since the shards began; partitions that "
               "are given a backup count as well. Below 50 ms; with rounds, as long as one takes. Empty where none moved.", "s",
               target(number("histogram_quantile(0.5, sum by (le) (capstan_move_frozen_seconds_bucket{$S}))"), "median"),
               target(number("histogram_quantile(0.999, sum by (le) (capstan_move_frozen_seconds_bucket{$S}))"), "p99.9"),
               width=12, min=0, noValue="none moved"),
     ]),
     ("Replicas", [
         lines("Without a backup", "Partitions that one shard alone holds. 0, but for a while after shards come or go. Empty without replicas.",
               "none", target("max(capstan_partitions_unpaired{$S})", "partitions"), min=0, decimals=0, noValue="no replicas"),
         lines("Replaced", "Shards in whose place their backups have come, in five minutes, and the partitions that they owned. 0 unless "
               "shards are lost.", "none",
               target("sum(increase(capstan_promotions_total{$S}[5m]))", "shards"),
               target("sum(increase(capstan_partitions_promoted_total{$S}[5m]))", "partitions"), min=0, decimals=0, noValue="no replicas"),
         lines("Given up", "Backups that were given up in five minutes, as their shard was lost or left, or as they were out of step with "
               "the owner, which is a fault.", "none",
               target("sum by (because) (increase(capstan_backups_dropped_total{$S}[5m]))", "{{because}}"), min=0, decimals=0,
               noValue="no replicas"),
     ]),
     ("Saves and loads", [
         lines("Saves", "Mean time that a shard took for its share of a checkpoint, over ten minutes. Far below checkpoint.every. Empty "
               "without checkpoints.", "s", target(number(
                   f"sum by (shard) (increase(capstan_checkpoint_save_duration_seconds_sum{{{ONE}}}[10m])) / "
                   f"sum by (shard) (increase(capstan_checkpoint_save_duration_seconds_count{{{ONE}}}[10m]))"), "{{shard}}"), min=0),
         lines("Loads", "How long a shard took to load its share of a checkpoint, of those in the last hour. Empty where none was loaded.", "s",
               target(number(f"sum by (shard) (increase(capstan_checkpoint_load_duration_seconds_sum{{{ONE}}}[1h])) / "
                             f"sum by (shard) (increase(capstan_checkpoint_load_duration_seconds_count{{{ONE}}}[1h]))"), "{{shard}}"),
               min=0, noValue="none"),
         lines("Held back", "Partitions whose updates waited until they were copied, since the shard's start. 0: copies cost nobody time.",
               "none", target(f"sum by (shard) (capstan_checkpoint_held_back_partitions_total{{{ONE}}})", "{{shard}}"), min=0, decimals=0),
     ])],
    variables=[SHARD])
