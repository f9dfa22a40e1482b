"""Shards: what the parameter servers do, and which of them is hot. For whoever runs the cluster."""
from panels import GREEN, RED, SHARD, YELLOW, dashboard, lines, number, quantile, stat, steps, target

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
        stat("Serving", "Shards that serve. Normal: all of them.", "none",
             'max(capstan_shards{$S,state="serving"})', 3, thresholds=steps(RED, (1, GREEN))),
        stat("Lost", "Shards that fell silent; workers wait for them. Normal: 0.", "none",
             'max(capstan_shards{$S,state="lost"})', 3, thresholds=steps(GREEN, (1, RED))),
        stat("Requests/s", "Pulls and pushes of all shards.", "short", f"sum({REQUESTS})", 3),
        stat("p99", "Time of a request on its shard, without the network. Normal: below 50 ms.", "s",
             latency(0.99, "job_name"), 3, thresholds=steps(GREEN, (0.05, YELLOW), (0.5, RED))),
        stat("Parameters", "Weights held, without optimizer state.", "short", "sum(last_over_time(capstan_parameters{$S}[1m]))", 3),
        stat("Memory", "Rows, blocks, slots and indexes of all shards.", "bytes", "sum(last_over_time(capstan_store_bytes{$S}[1m]))", 3),
        stat("Skew", "Requests of the busiest shard against the mean. Normal: near 1; above 1.5 a hot partition "
             "should move.", "none", f"max({REQUESTS}) / avg({REQUESTS} > 0)", 3,
             thresholds=steps(GREEN, (1.25, YELLOW), (1.5, RED)), decimals=2),
        stat("Failed", "Part of the requests that were answered with an error. A view that changes makes a few "
             "FAILED_PRECONDITION; otherwise 0 %.", "percentunit",
             number(f"({FAILED % 'pull'} + {FAILED % 'push'}) / sum({REQUESTS})"), 3,
             thresholds=steps(GREEN, (0.01, YELLOW), (0.1, RED)), decimals=2),
     ]),
     ("Requests", [
         lines("Requests by shard", "Pulls and pushes a second. Alike on all shards.", "reqps",
               target(REQUESTS, "{{shard}}"), min=0),
         lines("Latency", "From the arrival of a request until its reply is handed over; with ssp the wait is in "
               "it. Normal: p99 below 50 ms.", "s", target(latency(0.5, "method"), "{{method}} median"),
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
         lines("CPU", "Cores that each shard uses. Alike; at the limit the shards are the bottleneck.", "none",
               target(f"sum by (shard) (rate(capstan_process_cpu_seconds_total{{{ONE}}}[$I]))", "{{shard}}"), width=6, min=0,
               decimals=2),
         lines("Memory", "Resident memory, and the part that is parameters. Grows with new rows; the gap is buffers "
               "and code.", "bytes",
               target(f"sum by (shard) (capstan_process_resident_bytes{{{ONE}}})", "{{shard}} resident"),
               target(f"sum by (shard) (capstan_store_bytes{{{ONE}}})", "{{shard}} parameters"), width=6,
               min=0),
         lines("Gradients applied", "Applied gradients a second, one a partition. Alike on all shards.", "cps",
               target(f"sum by (shard) (rate(capstan_update_staleness_versions_count{{{ONE}}}[$I]))", "{{shard}}"),
               width=6, min=0),
         lines("Waits for partitions", "Seconds that requests waited, each second, for partitions that others were "
               "using. Below 0.1; more: many workers meet in few partitions.", "none",
               target(f"sum by (shard) (rate(capstan_lock_wait_seconds_total{{{ONE}}}[$I]))", "{{shard}}"),
               width=6, min=0, decimals=3),
     ]),
     ("Tables", [
         lines("Rows", "Rows of each table. Grows while new keys come, then levels off.", "short",
               target(f"sum by (table) (last_over_time(capstan_table_rows{{{ONE}}}[1m]))", "{{table}}"), min=0),
         lines("Memory of tables", "With optimizer state and index; the line is the budget, if there is one.",
               "bytes", target(f"sum by (table) (last_over_time(capstan_table_bytes{{{ONE}}}[1m]))", "{{table}}"),
               target("max(capstan_table_budget_bytes{$S})", "budget"), min=0),
         lines("Rows refused and removed", "Evicted for the budget, expired because nobody touched them, not yet "
               "admitted, or refused for want of room. 0 unless the table has such limits.", "cps",
               tables("capstan_embedding_evictions_total", "evicted"),
               tables("capstan_embedding_expirations_total", "expired"),
               tables("capstan_embedding_not_admitted_total", "not admitted"),
               tables("capstan_embedding_refused_total", "refused"), min=0),
         lines("Rows by shard", "Alike: keys are spread by hash.", "short",
               target(f"sum by (shard) (capstan_table_rows{{{ONE}}})", "{{shard}}"), width=12, min=0),
         lines("Memory in four hours", "Parameters if they go on growing as in the last 30 minutes.", "bytes",
               target(f"sum by (shard) (predict_linear(capstan_store_bytes{{{ONE}}}[30m], 14400))", "{{shard}}"),
               width=12, min=0),
     ])],
    variables=[SHARD])
