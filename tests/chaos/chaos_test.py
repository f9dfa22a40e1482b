"""Jobs under a nemesis: whatever is broken, every record is trained exactly once an epoch, by a user's program, too, a model of real data comes
out as good as undisturbed, and the job goes on. With recovery: partial what shards lose is missing, never counted twice,
and no more of it than the job reports.

    chaos_test.py --minutes 10 --seed 7 --only async"""

import argparse
import functools
import os
import pathlib
import re
import statistics
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]
import town
from nemesis import Nemesis
from crew import BINARIES, DATA, job_pb2
from ledger import ledger_job, ledger_times, write_ledger_file
from program_ledger import PROGRAM, program_job, times_trained
from python_crew import PythonCrew
from python_data import lack
from quality import example

SKIPPED = 77  # CTest's SKIP_RETURN_CODE.
EPOCHS = 2
BATCH = 4
POLICIES = {
    "async": "sparse: {policy: async}",
    "ssp": "sparse: {policy: ssp, staleness: 2}",
    "sync": "sparse: {policy: sync, lanes: 3}",
    "backup": "sparse: {policy: sync, lanes: 4, backup_workers: 1}",
    "partial": "sparse: {policy: async}",
    "replicas": "sparse: {policy: async}",
    "replicas-sync": "sparse: {policy: sync, lanes: 3}",
}
# Shards, and settings of their own.
SHARDS = {"replicas": 3, "replicas-sync": 3}
SETTINGS = {
    "partial": ["recovery=partial"],
    "replicas": ["replicas=1", "shard_lease=1s"],
    "replicas-sync": ["replicas=1", "shard_lease=1s"],
}
# The job is to outlast the nemesis: a step takes so many milliseconds, and there is so much to do.
PACE = 5
RECORDS_A_SECOND = {"async": 700, "ssp": 1200, "sync": 500, "backup": 450, "partial": 700, "replicas": 700,
                    "replicas-sync": 500}
PROGRAM_POLICY = "{policy: ssp, staleness: 2}"
PROGRAM_PACE = 0.01
PROGRAM_RECORDS_A_SECOND = 500
AUC_WITHIN = 0.005


def check(what, good, detail):
    if not good:
        raise AssertionError(f"{what}: {detail}")


def until_completed(crew):
    """After the nemesis has left: its end, which it must come to by itself."""
    last = crew.until_state("COMPLETED", "FAILED", timeout=400)
    check("the job completes", last.reason == "", f"{last}\n{crew.last_words()}")
    return last


def check_all_trained(last, times):
    check("times each record was trained", set(times) == {EPOCHS}, set(times))


def check_loss_reported(last, times):
    """What is missing is in the report, which says it in batches of partitions; a shard's last loss counts all of it."""
    check("times each record was trained", set(times) <= set(range(EPOCHS + 1)), set(times))
    batches = {loss.shard: loss.batches for loss in last.losses if loss.recovery == job_pb2.RECOVERY_PARTIAL}
    missing = sum(EPOCHS - each for each in times)
    print(f"  {missing} of {EPOCHS * len(times)} examples missing, reported {batches}", flush=True)
    check("what is missing is reported", missing <= BATCH * sum(batches.values()), f"{missing}, {batches}")
    if not batches:
        check_all_trained(last, times)


def oracle(policy, seconds, seed):
    """Every record exactly once an epoch. What the nemesis has done, and the job's last status."""
    records = max(1000, int(seconds * RECORDS_A_SECOND[policy] / EPOCHS))
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "records.csv"
        write_ledger_file(data, records)
        job = ledger_job([data], update=POLICIES[policy], epochs=EPOCHS, batch=BATCH)
        with town.Town(job, shards=SHARDS.get(policy, 2), workers=3, pace=PACE, name=f"chaos-{policy}",
                       exit_when_done=False,
                       overrides=["partition_count=16", "checkpoint.every=1s", *SETTINGS.get(policy, ())]) as crew:
            crew.until_examples(1)
            nemesis = Nemesis(crew, f"{seed} {policy}")
            nemesis.strike_for(seconds)
            last = until_completed(crew)
            check("examples", last.examples == EPOCHS * records, f"{last.examples} of {EPOCHS * records}")
            times = ledger_times(crew.predict_with(last.model_uri, data))
            (check_loss_reported if policy == "partial" else check_all_trained)(last, times)
    return nemesis.blows, last


class ProgramTown(PythonCrew, town.Town):
    """Its workers are a program of Python's."""

    def host_of(self, name):
        return self.house(name)

    def prefix_of(self, name):
        return ["ip", "netns", "exec", name]


def program(seconds, seed):
    """As oracle, of a user's program: its rows and its dense tensor."""
    sys.path.insert(0, os.environ["PYTHONPATH"])
    import capstan_ps
    os.environ["CAPSTAN"] = str(BINARIES / "capstan")
    records = max(1000, int(seconds * PROGRAM_RECORDS_A_SECOND / EPOCHS))
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "records.csv"
        write_ledger_file(data, records)
        with ProgramTown(program_job(data, PROGRAM_POLICY, EPOCHS, BATCH), program=PROGRAM, workers=3, name="chaos-program",
                         environment={"PACE": str(PROGRAM_PACE)}, exit_when_done=False,
                         overrides=["partition_count=16", "checkpoint.every=1s"]) as crew:
            crew.until_examples(1)
            nemesis = Nemesis(crew, f"{seed} program")
            nemesis.strike_for(seconds)
            last = until_completed(crew)
            check("examples", last.examples == EPOCHS * records, f"{last.examples} of {EPOCHS * records}")
            times, trained = times_trained(capstan_ps.load(last.model_uri))
            check("times each record was trained", times == {EPOCHS: records}, times)
            check("records that the dense tensor counts", trained == EPOCHS * records, f"{trained} of {EPOCHS * records}")
    return nemesis.blows, last


def auc_of(crew):
    last = until_completed(crew)
    return last.evaluations[-1].metrics["auc"], last


def criteo(seconds, seed):
    """Logistic regression on real data, undisturbed and under the nemesis."""
    # So slow that it outlasts the nemesis: 10,000 records in batches of 50.
    settings = {"workers": 3, "name": "chaos-criteo", "exit_when_done": False}
    epochs = max(4, round(seconds / 15))
    overrides = ["checkpoint.every=1s", "worker_lease=2s", "heartbeat=200ms", f"train.epochs={epochs}"]
    with town.Town(example("criteo-lr"), overrides=overrides, **settings) as crew:
        expected, _ = auc_of(crew)
    with town.Town(example("criteo-lr"), overrides=overrides, pace=PACE, **settings) as crew:
        crew.until_examples(1)
        nemesis = Nemesis(crew, f"{seed} criteo")
        nemesis.strike_for(seconds)
        auc, last = auc_of(crew)
    print(f"  AUC {auc:.4f}, undisturbed {expected:.4f} ({epochs} epochs)", flush=True)
    check("AUC", abs(auc - expected) <= AUC_WITHIN, f"{auc}, undisturbed {expected}")
    return nemesis.blows, last


JOBS = {**{policy: functools.partial(oracle, policy) for policy in POLICIES}, "program": program, "criteo": criteo}


def report(name, blows, last):
    """A line for each kind: how often, and the seconds from its mending to progress."""
    for kind in sorted({kind for blow in blows for kind in blow.kinds}):
        took = [blow.recovery for blow in blows if kind in blow.kinds]
        print(f"{name:8} {kind:20} {len(took):3} times, progress after {statistics.median(took):5.1f} s, at most "
              f"{max(took):5.1f} s")
    seconds = [loss.seconds for loss in last.losses]
    again = sum(loss.examples for loss in last.losses)
    if last.replicas.wanted:
        print(f"{name:8} {last.replicas.promotions} shards were replaced by backups, {last.moves.moved} partitions moved, "
              "by the last chief")
    print(f"{name:8} {len(last.losses)} returns to a checkpoint, {again} examples trained again, {len(blows)} blows"
          + (f"; back to training in {statistics.median(seconds):.2f} s, at most {max(seconds):.2f} s" if seconds else ""),
          flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=1.2, help="under fire, shared by the jobs")
    arguments.add_argument("--seed", type=int, default=None, help="of the course of things; default: the time of day")
    arguments.add_argument("--only", default="", help="regular expression over the jobs' names: " + ", ".join(JOBS))
    options = arguments.parse_args()
    seed = int(time.time()) if options.seed is None else options.seed
    if not town.enter():
        print("SKIPPED: no network namespaces can be made here; nothing was broken")
        return SKIPPED
    names = [name for name in JOBS if re.search(options.only, name)]
    asked = len(names)
    if "criteo" in names and not (DATA / "criteo").is_dir():
        print(f"SKIPPED the part on real data: {DATA} has no criteo (deploy/datasets makes it)")
        names.remove("criteo")
    if "program" in names and (lacks := lack()):
        print(f"SKIPPED the part on a user's program: {lacks}")
        names.remove("program")
    failed = []
    for name in names:
        seconds = options.minutes * 60 / len(names)
        print(f"{name}, seed {seed}: {seconds:.0f} s under fire", flush=True)
        try:
            report(name, *JOBS[name](seconds, seed))
        except Exception:  # The other jobs are still worth a try.
            failed.append(name)
            print(f"FAILED {name}, seed {seed}\n{traceback.format_exc()}", flush=True)
    print(f"failed with seed {seed}: {failed}" if failed else f"all well, seed {seed}")
    if failed:
        return 1
    return 0 if len(names) == asked else SKIPPED


if __name__ == "__main__":
    sys.exit(main())
