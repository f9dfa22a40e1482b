"""What the tests share that let processes die at named points (capstan/base/failpoint.h)."""

import argparse
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from crew import BINARIES, LINE_SECONDS

SKIPPED = 77  # CTest's SKIP_RETURN_CODE.
# Steps of moves, pairs and promotions: move_failpoints_test.py brings them about; in the other test's jobs there are none.
OF_MOVES = ("move.", "order.move", "replica.")


def points_of(program):
    """[(point, whether it can return an error)]; none where there are no failpoints."""
    listed = subprocess.run([str(BINARIES / program), "--version"], capture_output=True, text=True, check=True,
                            env={**os.environ, "CAPSTAN_FAILPOINTS": "list"}).stdout
    lines = [line.split() for line in listed.splitlines()]
    return [(words[0], words[1:] == ["error"]) for words in lines if "." in words[0]]


def await_the_blow(crew, victim, point, action):
    """Until the process has come to its point and, if that has killed it, another is there in its place."""
    deadline = time.monotonic() + 120
    while f"failpoint {point} reached" not in crew.log(victim):
        if crew.processes["chief"].poll() == 0 or time.monotonic() > deadline:
            raise AssertionError(f"{victim} never came to {point}\n{crew.last_words()}")
        time.sleep(LINE_SECONDS)
    if action == "crash":
        check("the victim's end", crew.processes[victim].wait(10), -signal.SIGKILL)
        del crew.environment[victim]
        crew.add_again(victim)


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


def main(description, trials):
    """Runs those of trials(seed) that the command line names; the exit status."""
    arguments = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
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

