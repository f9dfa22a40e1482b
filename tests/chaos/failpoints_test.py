"""A process dies, or gets an error, at each of its failpoints in turn; the job goes on, and every record is trained
exactly once an epoch.

The points are those that the programs themselves list (capstan/base/failpoint.h). One of them alone:
    failpoints_test.py --only 'ps load.unloaded crash'
With another --seed points are tried under other policies, and at other times if they are passed often."""

import argparse
import concurrent.futures
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from crew import BINARIES, LINE_SECONDS, Crew, chief_pb2
from ledger import ledger_job, ledger_times, write_ledger_file

SKIPPED = 77  # CTest's SKIP_RETURN_CODE.

RECORDS = 1500
PACE = 5  # Milliseconds a step: so long that points which timers pass are passed often enough.
PROCESSES = {"chief": "chief", "ps": "ps-0", "worker": "worker-0"}  # Who of a program is armed.
POLICIES = {
    "async": "sparse: {policy: async}",
    "ssp": "sparse: {policy: ssp, staleness: 2}",
    "sync": "sparse: {policy: sync, lanes: 3}",
}
# Points that a policy alone comes to; the others are tried with one drawn from the seed.
OF_POLICY = {
    "round.": "sync", "order.hold_rounds": "sync", "order.commit_round": "sync", "save.all_marked": "sync",
    "order.close_streams": "async", "stream.closed": "async",
}
# In the program by its libraries, but never passed: a worker writes nothing.
NEVER = {("worker", "file.written"), ("worker", "file.synced"), ("worker", "file.renamed")}
# No partition moves in these jobs, and none has a backup; moves_test.py and replicas_test.py kill chief and shards there.
NEVER_OF = ("move.", "order.move", "replica.")
# How often a point is passed at the least by the process that goes on from the checkpoint: it may die at any time of
# these. Points not named here are passed once.
TIMES = {
    "push.": 40, "partition.": 40, "stream.": 8, "round.": 20, "round.sw": 3, "worker.": 20, "worker.leases_answered": 2,
    "worker.lease_finished": 2, "worker.register_answer": 1, "worker.heartbeat_answer": 8, "shard.heartbeat": 8,
    "shard.heartbeat_answer": 8, "shard.view_taken": 2, "load.partition_loaded": 8,
    "save.copied": 8,  # Each of its partitions, by the checkpoint at the end alone.
    "file.": 6, "state.": 3, "view.": 3,
}
TIMES_OF_A_SHARD = {"file.": 1}  # Its partitions share an object.


def of(table, point, otherwise):
    """The entry of the longest prefix of the point's name."""
    fitting = [prefix for prefix in table if point.startswith(prefix)]
    return table[max(fitting, key=len)] if fitting else otherwise


def points_of(program):
    """[(point, whether it can return an error)]; none where there are no failpoints."""
    listed = subprocess.run([str(BINARIES / program), "--version"], capture_output=True, text=True, check=True,
                            env={**os.environ, "CAPSTAN_FAILPOINTS": "list"}).stdout
    lines = [line.split() for line in listed.splitlines()]
    return [(words[0], words[1:] == ["error"]) for words in lines if "." in words[0]]


class Trial:
    """One process, one point, one action."""

    def __init__(self, program, point, action, seed):
        self.program, self.point, self.action = program, point, action
        self.victim = PROCESSES[program]
        draw = random.Random(f"{seed} {self.name()}")
        self.policy = of(OF_POLICY, point, draw.choice(sorted(POLICIES)))
        times = {**TIMES, **TIMES_OF_A_SHARD} if program == "ps" else TIMES
        self.nth = draw.randint(1, of(times, point, 1))

    def name(self):
        return f"{self.program} {self.point} {self.action}"

    def run(self):
        """The seconds of it all; AssertionError if a record was not trained exactly once an epoch."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "records.csv"
            write_ledger_file(data, RECORDS)
            overrides = ["partition_count=16", "checkpoint.every=1s", "checkpoint.keep=1"]
            with Crew(ledger_job([data], update=POLICIES[self.policy], epochs=2, batch=4), pace=PACE,
                      overrides=overrides, name=self.point) as crew:
                self.interrupt(crew)
                crew.environment[self.victim] = {"CAPSTAN_FAILPOINTS": f"{self.point}={self.action}:{self.nth}"}
                crew.begin_again()
                self.await_the_blow(crew)
                check("examples", crew.wait(240).examples, 2 * RECORDS)
                check("times each record was trained", set(ledger_times(crew.predict(data))), {2})
        return time.monotonic() - began

    def interrupt(self, crew):
        """So that the processes with failpoints also claim, load and adopt what others have left."""
        crew.until_examples(RECORDS // 4, timeout=120)
        crew.call("TakeCheckpoint", chief_pb2.TakeCheckpointRequest(), chief_pb2.TakeCheckpointReply)
        crew.kill_all()

    def await_the_blow(self, crew):
        """Until the process has come to its point and, if that has killed it, another is there in its place."""
        deadline = time.monotonic() + 120
        while f"failpoint {self.point} reached" not in crew.log(self.victim):
            if crew.processes["chief"].poll() == 0 or time.monotonic() > deadline:
                raise AssertionError(f"{self.victim} never came to {self.point}\n{crew.last_words()}")
            time.sleep(LINE_SECONDS)
        if self.action == "crash":
            check("the victim's end", crew.processes[self.victim].wait(10), -signal.SIGKILL)
            del crew.environment[self.victim]
            crew.add_again(self.victim)


def check(what, got, expected):
    if got != expected:
        raise AssertionError(f"{what}: {got}, expected {expected}")


def report(trial):
    """Runs it; whether all was well."""
    name = f"{trial.name()} ({trial.policy}, time {trial.nth})"
    try:
        print(f"ok     {name}: {trial.run():.1f} s", flush=True)
        return True
    except Exception:  # Whatever has gone wrong, the other points are tried.
        print(f"FAILED {name}\n{traceback.format_exc()}", flush=True)
        return False


def trials(seed):
    for program in PROCESSES:
        for point, returns_error in points_of(program):
            if (program, point) in NEVER or point.startswith(NEVER_OF):
                continue
            for action in ("crash", "error") if returns_error else ("crash",):
                yield Trial(program, point, action, seed)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--only", default="", help="regular expression over '<program> <point> <action>'")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--jobs", type=int, default=4, help="trials at a time")
    options = arguments.parse_args()
    chosen = [trial for trial in trials(options.seed) if re.search(options.only, trial.name())]
    if not chosen:
        print("SKIPPED: these programs are built without such failpoints (CMake option CAPSTAN_FAILPOINTS)")
        return SKIPPED
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        good = list(pool.map(report, chosen))
    print(f"{sum(good)} of {len(good)} points are survived (seed {options.seed})")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
