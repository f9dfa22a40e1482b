"""Training: how the job goes, and what holds it up. For whoever wants the model."""
from panels import (BLUE, GREEN, LOGARITHMIC, RED, STATE, STATE_NAMES, WORKER, YELLOW, bars, beside_stack, checkpoint_age, colors, dashboard,
                    extremes, gauge, lines, number, quantile, recovery, right_axis, stat, steps, target)

STEP = 'sum by (phase) (rate(capstan_worker_step_duration_seconds_%s{$S,pod=~"$worker"}[$I]))'
THREADS = "sum(capstan_worker_compute_threads{$S})"


def idle(awaited):
    return f'sum(rate(capstan_worker_idle_seconds_total{{$S,awaited="{awaited}"}}[$I]))'


# What part of a pull's time is the slowest shard's, serving it or letting it wait for slower workers.
PULLED = '(sum(rate(capstan_worker_step_duration_seconds_sum{$S,phase="pull"}[$I])) > 0)'
SERVED = ('clamp_max(max(sum by (shard) (rate(capstan_server_request_duration_seconds_sum{$S,method="pull"}[$I]))) '
          f"/ {PULLED}, 1)")
BOUND = f"clamp_max(max(sum by (shard) (rate(capstan_server_pull_wait_seconds_sum{{$S}}[$I]))) / {PULLED}, 1)"
# Where the time of the compute threads goes, of all of it: what goes on beside a computation costs nothing.
BLAME = {
    "computing": 'sum(rate(capstan_worker_step_duration_seconds_sum{$S,phase="compute"}[$I]))',
    "data": idle("data"),
    "shards": f"{idle('pull')} * {SERVED}",
    "network": f"{idle('pull')} * clamp_min(1 - {SERVED} - {BOUND}, 0)",
    "slower workers": f"({idle('pull')} * {BOUND} + {idle('round')})",
    "pushes": idle("push"),
    "no task": idle("work"),
}
SHARES = {who: f"{query} / ({THREADS} > 0)" for who, query in BLAME.items()}
VERDICT = " or ".join(f'label_replace({query} > 0, "who", "{who}", "", "")' for who, query in SHARES.items())
SPEED = "max by (worker) (capstan_worker_step_rate{$S})"

DASHBOARD = dashboard(
    "capstan-training", "Training", "How a job goes, and what holds it up.",
    [(None, [
        stat("State", "What the job is doing. Normal: running, in the end completed.", "none", STATE, 4,
             mappings=[STATE_NAMES]),
        gauge("Progress", "Examples trained of all that the epochs hold. Grows steadily to 100 %.", "percentunit",
              "max(capstan_training_progress_ratio{$S})", 4),
        stat("Time left", "At the present rate. Empty when it is not known yet.", "s",
             "max(capstan_training_eta_seconds{$S}) >= 0", 4, decimals=0),
        stat("Examples/s", "Acknowledged by every shard, of late. Rises with workers, and is steady otherwise.",
             "short", "max(capstan_sample_rate{$S})", 4),
        stat("Workers", "Those that work now. Normal: as many as you asked for.", "none",
             'max(capstan_workers{$S,state="active"})', 4),
        checkpoint_age(4),
        stat("Bottleneck", "What most of the compute threads' time goes to: computing, or waiting for data, shards, the network, slower "
             "workers, pushes, a task. Computing is the best answer: more workers make it faster.", "none",
             f"topk(1, {VERDICT})", 7, legend="{{who}}", thresholds=steps(BLUE)),
        stat("Slowest worker", "The slowest of those that are more than twice as slow as the median. Normal: none.", "none",
             "bottomk(1, capstan_worker_step_rate{$S} and on (worker) (capstan_worker_straggler{$S} == 1))", 7, legend="{{worker}}",
             thresholds=steps(YELLOW), noValue="none"),
        stat("Slow workers", "More than twice as slow as the median. Normal: 0.", "none",
             "max(capstan_straggler_workers{$S})", 5, thresholds=steps(GREEN, (1, YELLOW))),
        recovery(5),
     ]),
     ("Learning", [
         lines("Loss", "Mean loss of the latest training batches, and of the last evaluation. Both fall; when only "
               "train falls the model overfits.", "short", target("max by (split) (capstan_loss{$S})", "{{split}}"),
               legend="values"),
         lines("Evaluation", "How good the model is on the evaluation data: AUC and accuracy rise. Logloss is the "
               "eval line of Loss; the other metrics stand beside.", "short",
               target('max by (name) (capstan_eval_metric{$S,name=~"(.+/)?(auc|group_auc|accuracy)"})', "{{name}}"),
               legend="values", decimals=3, width=6),
         bars("Last evaluation", "Every metric of it. AUC and accuracy rise, logloss, RMSE and MAE fall, calibration "
              "goes to 1.", "none", target("max by (name) (capstan_eval_metric{$S})", "{{name}}"), width=4, decimals=4),
         lines("Learning rate", "As the schedule says; flat without one.", "sci",
               target("max by (part) (capstan_learning_rate{$S})", "{{part}}"), custom=LOGARITHMIC,
               width=6),
     ]),
     ("Speed", [
         lines("Examples and steps", "Examples that are trained for the first time, and steps, a second. Steady; changes with the workers. "
               "Steps without examples: what a lost shard had learned is trained again.", "short",
               target("sum(rate(capstan_samples_processed_total{$S}[$I]))", "examples/s"),
               target("sum(rate(capstan_worker_steps_total{$S}[$I]))", "steps/s"),
               overrides=[right_axis("steps/s", "short")], min=0),
         lines("What computing waits for", "The time of all compute threads: computing, or waiting. Computing nearly 100 %, if all is "
               "well; the largest wait is the bottleneck. A wait counts when it is over.", "percentunit",
               *(target(query, who) for who, query in SHARES.items()), stack=True, min=0, max=1),
         lines("Where a step's time goes", "Mean time of a step's phases, of the workers chosen above. Only what computing waits for "
               "costs anything: pulls and pushes go on beside it.", "s",
               target(number(STEP % "sum" + " / " + STEP % "count"), "{{phase}}"), min=0),
     ]),
     ("Workers", [
         lines("Workers", "Workers by state. Idle ones have no task; lost ones fell silent. Recommended: as many as have work, and as the "
               "shards can serve.", "none",
               target("max by (state) (capstan_workers{$S})", "{{state}}"),
               target("max(capstan_recommended_workers{$S})", "recommended"), width=6, stack=True, min=0, decimals=0,
               overrides=colors({"active": GREEN, "idle": YELLOW, "draining": "orange", "silent": "orange",
                                 "lost": RED, "parked": BLUE}) + beside_stack("recommended")),
         lines("Tasks", "Pieces of the data, all epochs. todo falls to 0 as done rises.", "none",
               target("max by (state) (capstan_tasks{$S})", "{{state}}"), width=6, stack=True, min=0, decimals=0,
               overrides=colors({"done": GREEN, "doing": YELLOW, "todo": BLUE})),
         lines("Gradient norm", "Before clipping. Steady or falling; a rise warns of a learning rate that is too "
               "high.", "short",
               target(quantile(0.5, "capstan_worker_gradient_norm"), "median"),
               target(quantile(0.99, "capstan_worker_gradient_norm"), "p99"), width=6, min=0),
         lines("Gradients shortened", "Part of the gradients that were longer than train.clip_norm. 0 without it; always high: the "
               "learning rate or clip_norm is too low.", "percentunit",
               target("sum(rate(capstan_worker_clipped_gradients_total{$S}[$I])) / (sum(rate(capstan_worker_steps_total{$S}[$I])) > 0)",
                      "shortened"), width=6, min=0, max=1),
     ]),
     ("Each worker", [
         *extremes("Speed", "Steps a second that a worker could do without waits. Alike among like machines; a short bar is a "
                   "straggler.", "none", SPEED, "{{worker}}", width=6, height=12, decimals=1),
         bars("Computing, a step", "Mean time that a step's computation takes, the 15 longest. Alike among like machines.", "s",
              target("sort_desc(topk(15, " + number(
                  'sum by (pod) (rate(capstan_worker_step_duration_seconds_sum{$S,phase="compute"}[$I])) / '
                  'sum by (pod) (rate(capstan_worker_step_duration_seconds_count{$S,phase="compute"}[$I]))') + "))", "{{pod}}"),
              width=6, height=12),
         bars("Held back by the CPU limit", "Part of the time in which a worker was not let run because it had used up its CPU limit, "
              "the 15 longest. Below 5 %; empty: none has a limit.", "percentunit",
              target('sort_desc(topk(15, sum by (pod) (rate(capstan_process_cpu_throttled_seconds_total{$S,role="worker"}[$I]))))',
                     "{{pod}}"), width=6, height=12, noValue="no limit"),
     ]),
     ("Trouble", [
         lines("Records and steps left out", "Records that could not be understood, and steps not pushed because "
               "they held NaN or infinity. Normal: 0.", "none",
               target("sum(capstan_bad_records_total{$S})", "bad records"),
               target("sum(capstan_worker_nonfinite_total{$S})", "NaN or infinite steps"), width=8, height=6, min=0, decimals=0),
         lines("Data that do not come", "For how long the same read of a file has been under way, the five longest. Below a second; "
               "longer than data_stall: the worker gets no task until it can read on.", "s",
               target("topk(5, max by (pod) (capstan_worker_data_stalled_seconds{$S}))", "{{pod}}"), width=8, height=6, min=0),
         lines("Silence", "Since when the worker was heard of that has been silent for longest. Below a second or so; from worker_lease on "
               "it is lost.", "s",
               target("max(time() - capstan_worker_last_heartbeat_timestamp_seconds{$S})", "longest"), width=8, height=6, min=0),
     ])],
    variables=[WORKER])
