"""A chief or a shard dies, or gets an error, at each step of a move, of a pair and of a promotion in turn: partitions still
come to where they should be, and every record is trained exactly once.

The points are those that the programs themselves list (capstan/base/failpoint.h). One of them alone:
    move_failpoints_test.py --only 'ps move.frozen crash'
With another --seed points are tried under other policies, and at other times if they are passed often."""

import dataclasses
import pathlib
import random
import signal
import sys
import tempfile
import time

import failpoints
from failpoints import check
from crew import Crew
from ledger import ledger_job, ledger_times, write_ledger_file
from ledger_case import POLICIES

RECORDS = 6000
PARTITIONS = 16
SLOW = 60  # Milliseconds a step: the job lasts until all is said.
DRAWN = ("async", "ssp", "sync")
EITHER = None  # Whether everybody returns to a checkpoint depends on what had a backup by then.


@dataclasses.dataclass(frozen=True)
class Scene:
    """What brings the step about. With `replicas` each partition has a backup before it begins, unless the shard armed is there from the start."""
    shards: int
    replicas: bool
    begin: object  # begin(crew): what happens to a job that trains.
    owners: set  # The shards that own partitions in the end.


def join(crew):
    crew.add_shard(2)


def grow(crew):
    until_settled(crew, {0, 1, 2}, replicas=True)
    crew.add_shard(3)


def leave(crew):
    until_settled(crew, {0, 1, 2}, replicas=True)
    crew.processes["ps-0"].send_signal(signal.SIGTERM)


def lose(crew):
    until_settled(crew, {0, 1, 2}, replicas=True)
    crew.kill("ps-0")
    crew.add_shard(0)


def nothing(crew):
    """Pairs are made as soon as the job begins."""


JOIN = Scene(shards=2, replicas=False, begin=join, owners={0, 1, 2})
PAIR = Scene(shards=3, replicas=True, begin=nothing, owners={0, 1, 2})
GROW = dataclasses.replace(PAIR, begin=grow, owners={0, 1, 2, 3})
LEAVE = dataclasses.replace(PAIR, begin=leave)
LOSE = dataclasses.replace(PAIR, begin=lose)


@dataclasses.dataclass(frozen=True)
class Step:
    """At which process a point is tried."""
    scene: Scene
    victim: str
    returns: object = False  # Whether its death makes everybody return to a checkpoint; an error never does.
    within: int = 1  # It dies at any of so many times.
    after: int = 0  # So often it passes the point before.
    policy: str = ""
    others: tuple = ()  # ((process, what it is armed with), ...): without their death nobody comes to the point.


SOURCE = Step(JOIN, "ps-0", returns=True)
TARGET = Step(JOIN, "ps-2")
CHIEF = Step(JOIN, "chief")
# Pairs have been made when it has told, or heard of, so many operations; most often all of them.
TOLD = Step(PAIR, "ps-1", returns=EITHER, after=300, within=100)
STEPS = {
    "move.copy_begun": dataclasses.replace(SOURCE, within=3),
    "move.copy_read": dataclasses.replace(SOURCE, within=2),
    "move.piece_sent": dataclasses.replace(SOURCE, within=6),
    "move.copied": dataclasses.replace(SOURCE, within=2),
    "move.delta": dataclasses.replace(SOURCE, within=3),
    "move.frozen": SOURCE,
    "move.rest_read": SOURCE,
    "move.rest_sent": SOURCE,
    "move.left": SOURCE,
    "move.piece_received": dataclasses.replace(TARGET, within=6),
    "move.piece_taken": dataclasses.replace(TARGET, within=6),
    "move.copy_decoded": dataclasses.replace(TARGET, within=4),
    "move.changes_applied": dataclasses.replace(TARGET, within=4),
    "move.rest_applied": dataclasses.replace(TARGET, within=2),
    "move.complete": dataclasses.replace(TARGET, within=2),
    "move.serving": dataclasses.replace(TARGET, returns=EITHER),
    "order.move": CHIEF,
    "order.move_finish": CHIEF,
    # The target dies, so the batch is cancelled, and the source goes on as if nothing had been.
    "move.thawed": dataclasses.replace(SOURCE, others=(("ps-2", "move.rest_applied=crash"),)),
    # The source dies, and what the target has of it is worth nothing.
    "move.stage_dropped": dataclasses.replace(TARGET, returns=True, others=(("ps-0", "move.rest_read=crash"),)),
    "move.backup_awaited": Step(LEAVE, "ps-0"),
    "replica.adopted": dataclasses.replace(TOLD, after=0, within=4),
    "replica.told": TOLD,
    "replica.received": TOLD,
    "replica.taken": TOLD,
    "replica.replayed": TOLD,
    "replica.coordinator_told": dataclasses.replace(TOLD, victim="ps-0", policy="sync", after=20, within=20),
    # Whoever gives some of what it has to a new shard backs it up from then on: nothing is without a backup meanwhile.
    "replica.stood_down": Step(GROW, "ps-0", policy="sync"),
    "replica.promoted": Step(LOSE, "ps-1", returns=True),
}


def until_settled(crew, owners, replicas):
    def settled():
        status = crew.status()
        owning = {shard.index for shard in status.shards if shard.partitions > 0}
        paired = status.replicas.paired == PARTITIONS or not replicas
        return owning == owners and paired and not status.moves.under_way
    crew.until(settled, f"partitions on {sorted(owners)}" + (", and a backup of each" if replicas else ""), 90)


class Trial:
    """One process, one point, one action."""

    def __init__(self, program, point, action, seed):
        self.program, self.point, self.action = program, point, action
        self.step = STEPS[point]
        draw = random.Random(f"{seed} {self.name()}")
        self.policy = self.step.policy or draw.choice(DRAWN)
        self.nth = self.step.after + draw.randint(1, self.step.within)

    def name(self):
        return f"{self.program} {self.point} {self.action}"

    def run(self):
        """The seconds of it all; AssertionError if something is not as it should be."""
        began = time.monotonic()
        scene, step = self.step.scene, self.step
        with tempfile.TemporaryDirectory() as folder:
            data = pathlib.Path(folder) / "records.csv"
            write_ledger_file(data, RECORDS)
            overrides = [f"partition_count={PARTITIONS}", "checkpoint.every=1s"]
            if scene.replicas:
                overrides += ["replicas=1", "shard_lease=1s"]
            crew = Crew(ledger_job([data], update=POLICIES[self.policy], batch=4), shards=scene.shards, pace=SLOW,
                        overrides=overrides, name=self.point)
            armed = {step.victim: f"{self.point}={self.action}:{self.nth}", **dict(step.others)}
            crew.environment.update({name: {"CAPSTAN_FAILPOINTS": points} for name, points in armed.items()})
            with crew:
                self.disturb(crew)
                until_settled(crew, scene.owners, scene.replicas)
                crew.hurry()
                last = crew.wait(240)
                check("examples", last.examples, RECORDS)
                check("times each record was trained", set(ledger_times(crew.predict(data))), {1})
                returns = step.returns if self.action == "crash" else False
                if returns is not EITHER:
                    check(f"returns to a checkpoint, of {list(last.losses)}", len(last.losses) > 0, returns)
        return time.monotonic() - began

    def disturb(self, crew):
        """Until the process has come to its point and, if that has killed it, another is there in its place."""
        crew.until_examples(40)
        self.step.scene.begin(crew)
        crew.hang_up()  # A chief that is killed waits for nobody's call.
        for name, points in self.step.others:
            failpoints.await_the_blow(crew, name, *points.split("="))
        failpoints.await_the_blow(crew, self.step.victim, self.point, self.action)


def trials(seed):
    for program in ("chief", "ps"):
        for point, returns_error in failpoints.points_of(program):
            if point.startswith(failpoints.OF_MOVES):
                for action in ("crash", "error") if returns_error else ("crash",):
                    yield Trial(program, point, action, seed)


if __name__ == "__main__":
    sys.exit(failpoints.main(__doc__, trials))
