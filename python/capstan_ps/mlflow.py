"""Writes what a job's chief reports to MLflow, until the job is over.

    python3 -m capstan_ps.mlflow --chief localhost:7000 --tracking-uri http://localhost:5000

It creates one run in the experiment that --experiment names, by default the job's name. The run's parameters are the settings of job.yaml.
Its metrics are `loss` (once it is known), `examples_per_second`, `progress` and the metrics of each evaluation; their step is the number of
examples trained so far.

The process ends when the job does: with 0 if the job has completed, and with 1 if it has failed or its chief has ended before. SIGTERM ends
the process with 143, and marks the run as killed."""

import argparse
import re
import signal
import sys
import time
import types

from capstan_ps import client

OVER = {"completed": "FINISHED", "failed": "FAILED"}
LONGEST_TEXT = 500  # Values of parameters are cut to this length, a limit of MLflow.


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python3 -m capstan_ps.mlflow", description="Writes what a job's chief tells of it to MLflow.")
    parser.add_argument("--chief", default="localhost:7000", help="host:port (%(default)s)")
    parser.add_argument("--tls", help="the folder of a certificate in the role client; by default that of CAPSTAN_TLS")
    parser.add_argument("--tracking-uri", help="of MLflow; by default that of MLFLOW_TRACKING_URI")
    parser.add_argument("--experiment", help="by default the job's name")
    parser.add_argument("--run-name", help="by default MLflow's own")
    parser.add_argument("--every", type=float, default=1, help="seconds between two looks (%(default)s)")
    options = parser.parse_args(arguments)
    try:
        import mlflow
    except ImportError:
        print("capstan_ps.mlflow: MLflow is not installed here: pip install mlflow-skinny, or mlflow", file=sys.stderr)
        return 2
    try:
        return follow(client.connect(options.chief, tls=options.tls), mlflow.MlflowClient(tracking_uri=options.tracking_uri), options)
    except (OSError, ValueError, mlflow.exceptions.MlflowException) as error:
        print(f"capstan_ps.mlflow: {error}", file=sys.stderr)
        return 1


def follow(job, tracking, options):
    """Follows the job until its end, and returns the exit code. `tracking` is an MlflowClient."""
    spec = job.spec
    run = make_run(tracking, options.experiment or spec.job, options.run_name)
    told, last, end = set(), None, "KILLED"
    try:
        for name, text in sorted(parameters_of(spec).items()):
            tracking.log_param(run, name, text)
        while True:
            status = job.status()
            write(tracking, run, status, last, told)
            last = status
            if status.state in OVER:
                end = OVER[status.state]
                if status.reason:
                    tracking.set_tag(run, "capstan.reason", status.reason)
                return 0 if end == "FINISHED" else 1
            time.sleep(options.every)
    finally:
        tracking.set_terminated(run, end)


def make_run(tracking, experiment, name):
    """Creates a run in the experiment, which is created if there is none of this name, and returns the run's id."""
    known = tracking.get_experiment_by_name(experiment)
    identity = tracking.create_experiment(experiment) if known is None else known.experiment_id
    return tracking.create_run(identity, run_name=name).info.run_id


def write(tracking, run, status, last, told):
    """Writes what is new in `status` since the status `last`, and the evaluations whose numbers are not in `told`; adds these to `told`."""
    if last is None or status.examples > last.examples:
        for name, value in (("loss", status.loss), ("examples_per_second", status.examples_per_second), ("progress", status.progress)):
            if name != "loss" or value:  # A loss of 0 is not known yet, for example after a new chief has begun.
                tracking.log_metric(run, name, value, step=status.examples)
    for evaluation in status.evaluations:
        if evaluation.number in told:
            continue
        told.add(evaluation.number)
        for name, value in sorted(evaluation.metrics.items()):
            tracking.log_metric(run, metric_name(f"eval/{name}"), value, step=evaluation.examples)


def metric_name(name):
    """Replaces the characters that MLflow does not allow in names."""
    return re.sub(r"[^\w./ -]", "_", name)


def parameters_of(spec):
    """Returns the settings of job.yaml that are not empty, as {dotted name: text}, and the optimizer and width of each table by its name.
    Except for groups all dense tensors have the same optimizer; `dense.optimizer` is that of the first one."""
    found = {}

    def put(name, value):
        if isinstance(value, types.SimpleNamespace):
            for field, inner in vars(value).items():
                put(f"{name}.{field}" if name else field, inner)
        elif isinstance(value, list):
            if value and not isinstance(value[0], types.SimpleNamespace):
                found[name] = ",".join(str(one) for one in value)
        elif value and not isinstance(value, (dict, bytes)):
            found[name] = str(value)

    put("", spec)
    for table in spec.tables:
        put(f"tables.{table.name}.optimizer", table.optimizer)
        put(f"tables.{table.name}.dim", table.dim)
    if spec.tensors:
        put("dense.optimizer", spec.tensors[0].optimizer)
    return {metric_name(name): text[:LONGEST_TEXT] for name, text in found.items()}


def end_by_signal(number, _):
    """A signal handler that ends the process by an exception, so that MLflow is told of the end first. Ignores further such signals, which
    could prevent that."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, end_by_signal)
    sys.exit(main())
