"""How long a killed shard and a killed chief of the quickstart's job are away; what RESULTS.md says.

    recovery_times.py --times 10

A process is started again at once, as a supervisor would. `ready` is from its first line in the log, when it has
been loaded and has opened its ports, to the moment it serves; `progress` from the kill to examples acknowledged by
it that were not before."""

import argparse
import datetime
import pathlib
import statistics
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from crew import Crew, run_to_end
from quality import EXAMPLES

SETTINGS = ["train.epochs=1000", "checkpoint.every=2s"]
FOLLOWS = {"ps-1": "serving", "chief": "this chief goes on where the one before ended"}


def when(crew, name, text, since):
    """The time of the first line with the text after so many bytes of the log; None if there is none."""
    for line in crew.log(name)[since:].splitlines():
        if text in line:
            return datetime.datetime.fromisoformat(line.split()[0].rstrip("Z"))
    return None


def kill_once(crew, name):
    crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
    examples = crew.status().examples
    since = len(crew.log(name))
    began = time.monotonic()
    crew.kill(name)
    crew.add_again(name)
    crew.until(lambda: when(crew, name, FOLLOWS[name], since), f"{name} again")
    lowest = min(examples, crew.status().examples)
    crew.until(lambda: crew.status().examples > lowest, "progress")
    progress = time.monotonic() - began
    ready = when(crew, name, FOLLOWS[name], since) - when(crew, name, "started", since)
    return ready.total_seconds(), progress


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--times", type=int, default=10)
    options = arguments.parse_args()
    folder = tempfile.TemporaryDirectory()
    code, said = run_to_end("capstan", "data", "generate", folder.name, "--rows", 1000000, "--eval-rows", 100000,
                            timeout=300)
    if code != 0:
        raise SystemExit(said)
    job = (EXAMPLES / "quickstart.yaml").read_text().replace("../../data/quickstart", folder.name)
    with folder, Crew(job, shards=2, workers=2, overrides=SETTINGS, exit_when_done=False) as crew:
        for name in FOLLOWS:
            ready, progress = zip(*(kill_once(crew, name) for _ in range(options.times)))
            print(f"{name}, {options.times} times: ready after {statistics.median(ready):.2f} s (at most "
                  f"{max(ready):.2f}), progress {statistics.median(progress):.2f} s after the kill (at most "
                  f"{max(progress):.2f})", flush=True)


if __name__ == "__main__":
    main()
