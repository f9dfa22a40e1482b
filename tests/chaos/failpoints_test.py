"""A process dies, or gets an error, at each of its failpoints in turn; the job goes on, and every record is trained
exactly once an epoch.

The points are those that the programs themselves list (capstan/base/failpoint.h). One of them alone:
    failpoints_test.py --only 'ps load.unloaded crash'
With another --seed points are tried under other policies, and at other times if they are passed often."""

import pathlib
import random
import sys
import tempfile
import time

import failpoints
from failpoints import check
from crew import Crew, chief_pb2
from ledger import ledger_job, ledger_times, write_ledger_file

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
                failpoints.await_the_blow(crew, self.victim, self.point, self.action)
                check("examples", crew.wait(240).examples, 2 * RECORDS)
                check("times each record was trained", set(ledger_times(crew.predict(data))), {2})
        return time.monotonic() - began

    def interrupt(self, crew):
        """So that the processes with failpoints also claim, load and adopt what others have left."""
        crew.until_examples(RECORDS // 4, timeout=120)
        crew.call("TakeCheckpoint", chief_pb2.TakeCheckpointRequest(), chief_pb2.TakeCheckpointReply)
        crew.kill_all()


def trials(seed):
    for program in PROCESSES:
        for point, returns_error in failpoints.points_of(program):
            if (program, point) in NEVER or point.startswith(failpoints.OF_MOVES):
                continue
            for action in ("crash", "error") if returns_error else ("crash",):
                yield Trial(program, point, action, seed)


if __name__ == "__main__":
    sys.exit(failpoints.main(__doc__, trials))
