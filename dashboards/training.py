"""Training: how the job goes, and what holds it up. For whoever wants the model."""
from panels import (BLUE, GREEN, LOGARITHMIC, RED, STATE, STATE_NAMES, YELLOW, bars, colors, dashboard, gauge,
                    lines, number, quantile, right_axis, stat, states, steps, target, values_as)

STEP = "sum by (phase) (rate(capstan_worker_step_duration_seconds_sum{$S}[$I]))"
# Seconds a second, over all workers, by who is to blame. The workers' pull and push contain the shards' time, and
# that contains the waits of a staleness bound: what is left of the former is the network.
RPC = 'sum(rate(capstan_worker_step_duration_seconds_sum{$S,phase=~"pull|push"}[$I]))'
SERVED = "avg(sum by (shard) (rate(capstan_server_request_duration_seconds_sum{$S}[$I])))"
BOUND = "avg(sum by (shard) (rate(capstan_server_pull_wait_seconds_sum{$S}[$I])))"
ROUND = "sum(rate(capstan_worker_round_wait_seconds_sum{$S}[$I]))"
BLAME = {
    "data": 'sum(rate(capstan_worker_step_duration_seconds_sum{$S,phase="data"}[$I]))',
    "workers": 'sum(rate(capstan_worker_step_duration_seconds_sum{$S,phase="compute"}[$I]))',
    "shards": f"clamp_min({SERVED} - {BOUND}, 0)",
    "network": f"clamp_min({RPC} - {SERVED}, 0)",
    "slower workers": f"({BOUND} + {ROUND})",
}
VERDICT = " or ".join(f'label_replace({query} > 0, "who", "{who}", "", "")' for who, query in BLAME.items())

DASHBOARD = dashboard(
    "capstan-training", "Training", "How a job goes, and what holds it up.",
    [(None, [
        stat("State", "What the job is doing. Normal: running, in the end completed.", "none", STATE, 3,
             mappings=[STATE_NAMES]),
        gauge("Progress", "Examples trained of all that the epochs hold. Grows steadily to 100 %.", "percentunit",
              "max(capstan_training_progress_ratio{$S})", 4),
        stat("Time left", "At the present rate. Empty when it is not known yet.", "s",
             "max(capstan_training_eta_seconds{$S}) >= 0", 3, decimals=0),
        stat("Examples/s", "Acknowledged by every shard, of late. Rises with workers, and is steady otherwise.",
             "short", "max(capstan_sample_rate{$S})", 3),
        stat("Workers", "Those that work now. Normal: as many as you asked for.", "none",
             'max(capstan_workers{$S,state="active"})', 2),
        stat("Slow workers", "More than twice as slow as the median. Normal: 0; who it is shows below.", "none",
             "max(capstan_straggler_workers{$S})", 3, thresholds=steps(GREEN, (1, YELLOW))),
        stat("Bottleneck", "Who takes most of the time of a step: data, workers (compute), shards, network, or "
             "waiting for slower workers. Workers is the best answer: more of them make it faster.", "none",
             f"topk(1, {VERDICT})", 3, legend="{{who}}", thresholds=steps(BLUE)),
        stat("Checkpoint", "Age of the last checkpoint: what a crash of everything would cost. Empty before the "
             "first one.", "s", "time() - max(capstan_checkpoint_last_success_timestamp_seconds{$S})", 3, decimals=0),
     ]),
     ("Learning", [
         lines("Loss", "Mean loss of the latest training batches, and of the last evaluation. Both fall; when only "
               "train falls the model overfits.", "short", target("max by (split) (capstan_loss{$S})", "{{split}}"),
               legend="values"),
         lines("Evaluation", "How good the model is on the evaluation data: AUC and accuracy rise. Logloss is the "
               "eval line of Loss; the other metrics stand beside.", "short",
               target('max by (name) (capstan_eval_metric{$S,name=~"auc|accuracy"})', "{{name}}"),
               legend="values", decimals=3, width=6),
         bars("Last evaluation", "Every metric of it. AUC and accuracy rise, logloss and RMSE fall, calibration goes "
              "to 1.", "none", target("max by (name) (capstan_eval_metric{$S})", "{{name}}"), width=4, decimals=4),
         lines("Learning rate", "As the schedule says; flat without one.", "sci",
               target("max by (part) (capstan_learning_rate{$S})", "{{part}}"), custom=LOGARITHMIC,
               width=6),
     ]),
     ("Speed", [
         lines("Examples and steps", "Examples and global steps a second. Steady; changes with the workers.", "short",
               target("sum(rate(capstan_samples_processed_total{$S}[$I]))", "examples/s"),
               target("sum(rate(capstan_worker_steps_total{$S}[$I]))", "steps/s"),
               overrides=[right_axis("steps/s", "short")], min=0),
         lines("Where a step's time goes", "Mean time of a step's phases. They overlap, so the largest sets the "
               "pace: compute, if all is well.", "s",
               target(number(STEP + " / sum by (phase) (rate(capstan_worker_step_duration_seconds_count{$S}[$I]))"),
                      "{{phase}}"), min=0),
         bars("Who holds it up", "Seconds a second that all workers spend on each. The longest bar is the "
              "bottleneck.", "none", *(target(query, who) for who, query in BLAME.items()), decimals=2),
     ]),
     ("Workers", [
         lines("Workers", "Workers by state. Idle ones have no task; lost ones fell silent.", "none",
               target("max by (state) (capstan_workers{$S})", "{{state}}"), width=6, stack=True, min=0, decimals=0,
               overrides=colors({"active": GREEN, "idle": YELLOW, "draining": "orange", "lost": RED,
                                 "parked": BLUE})),
         bars("Speed of each worker", "Steps a second that a worker could do without waits. Alike among like "
              "machines; a short bar is a straggler.", "none",
              target("max by (worker) (capstan_worker_step_rate{$S})", "{{worker}}"), width=6, decimals=1),
         lines("Tasks", "Pieces of the data, all epochs. todo falls to 0 as done rises.", "none",
               target("max by (state) (capstan_tasks{$S})", "{{state}}"), width=6, stack=True, min=0, decimals=0,
               overrides=colors({"done": GREEN, "doing": YELLOW, "todo": BLUE})),
         lines("Gradient norm", "Before clipping. Steady or falling; a rise warns of a learning rate that is too "
               "high.", "short",
               target(quantile(0.5, "capstan_worker_gradient_norm"), "median"),
               target(quantile(0.99, "capstan_worker_gradient_norm"), "p99"), width=6, min=0),
     ]),
     ("Trouble", [
         lines("Records and steps left out", "Records that could not be understood, and steps not pushed because "
               "they held NaN or infinity. Normal: 0.", "none",
               target("sum(capstan_bad_records_total{$S})", "bad records"),
               target("sum(capstan_worker_nonfinite_total{$S})", "NaN or infinite steps"), width=8, height=6, min=0),
         states("Silence", "Whether each worker has been heard of in the last 5 s. A red stretch comes before a "
                "lost worker.", "max by (worker) (time() - capstan_worker_last_heartbeat_timestamp_seconds{$S}) > "
                "bool 5", "{{worker}}", 16, 6,
                [values_as({0: ("heard", GREEN), 1: ("silent", RED)})]),
     ])])
