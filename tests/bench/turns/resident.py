"""What the processes of a crew have in memory at the most, by role, and what `capstan plan` says of them."""

import contextlib
import json
import subprocess
import sys
import threading

from train import tell

from crew import BINARIES
from ending import held

MIB = 1 << 20


def role_of(name):
    return name.split("-")[0]


class Resident(threading.Thread):
    """Looks until it is left. `largest`: {role: bytes of the largest process}; `together`: {role: bytes of all of them}."""

    def __init__(self, crew, every=0.25):
        super().__init__(daemon=True)  # Who is asked to end while this begins does not leave it: the program then ends without waiting for it.
        self.crew, self.every, self.ended = crew, every, threading.Event()
        self.largest, self.together = {}, {}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()

    def run(self):
        while not self.ended.wait(self.every):
            self.look()

    def look(self):
        now = {}
        for name in list(self.crew.processes):
            with contextlib.suppress(OSError, IndexError):  # It has just ended.
                found = self.crew.resident_bytes(name)
                now.setdefault(role_of(name), []).append(found)
        for role, found in now.items():
            self.largest[role] = max(self.largest.get(role, 0), *found)
            self.together[role] = max(self.together.get(role, 0), sum(found))


def planned_memory(crew, *options):
    """{role: bytes of one process} by `capstan plan`. Fails with what the plan says if the job does not fit."""
    settings = [word for value in crew.overrides for word in ("--set", value)]
    with held():  # Who is asked to end while a process begins would leave it behind.
        done = subprocess.run([BINARIES / "capstan", "plan", crew.job_file, "--shards", str(crew.shards), "--workers", str(crew.workers),
                               "--one-machine", "--step-seconds", "1", "--json", *settings, *options],
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"capstan plan ended with {done.returncode}: {done.stdout}")
    plan = json.loads(done.stdout)
    return {"ps": plan["shard_bytes"], "worker": plan["worker_bytes"], "chief": plan["chief_bytes"]}


def tell_memory(resident, plan):
    """The largest process of each role, beside what the plan says of it. `plan`: {role: bytes of one process}."""
    for role, planned in plan.items():
        largest = resident.largest[role]
        tell("", f"memory of the largest {role}", "MiB", largest / MIB)
        tell("", f"memory of the largest {role}, planned", "MiB", planned / MIB)
        tell("", f"memory of the largest {role} by the plan", "ratio", largest / planned)
