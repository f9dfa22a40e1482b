#!/usr/bin/python3
"""What scraping /metrics costs: how long a scrape takes while a job trains, and what it takes from the pushes.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/scrape.py [--seconds 6] [--pairs 8] [--every 0.1]

At one scrape every five seconds the effect is below what can be measured, so all processes are scraped far more often,
in turns with phases without; the effect is divided by how much more often."""

import argparse
import pathlib
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "recorder"))
from crew import Crew, series
from results import percentile
from train import tell

REAL_PERIOD = 5.0
JOB = """
job: scrape
data: {format: synthetic, synthetic: {train_rows: 500M, eval_rows: 0}}
model: {preset: deepfm, embedding_dim: 8, hidden: [32]}
optimizer: {sparse: {kind: adagrad, learning_rate: 0.02}, dense: {kind: adam, learning_rate: 0.001}}
update: {sparse: {policy: ssp, staleness: 4}, dense: {policy: ssp, staleness: 4}}
train: {batch_size: 256}
"""
NAMES = ("chief", "ps-0", "ps-1", "worker-0", "worker-1")


def pushes(crew):
    return sum(sum(series(crew.scrape(name), "capstan_server_push_requests_total").values()) for name in ("ps-0", "ps-1"))


class Scraper:
    """Scrapes every process every `period` seconds, until it is left."""

    def __init__(self, crew, period):
        self.crew, self.period, self.took, self.stop = crew, period, {name: [] for name in NAMES}, threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()

    def run(self):
        while not self.stop.wait(self.period):
            for name in NAMES:
                begin = time.monotonic()
                self.crew.scrape(name)
                self.took[name].append(time.monotonic() - begin)


def rate(crew, seconds):
    """Pushes a second."""
    first, begin = pushes(crew), time.monotonic()
    time.sleep(seconds)
    return (pushes(crew) - first) / (time.monotonic() - begin)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=6, help="of each phase")
    arguments.add_argument("--pairs", type=int, default=8, help="of phases")
    arguments.add_argument("--every", type=float, default=0.1, help="seconds between scrapes of everybody")
    options = arguments.parse_args()
    ratios, took = [], {name: [] for name in NAMES}
    with Crew(JOB, name="scrape") as crew:
        crew.until_examples(50000)
        for _ in range(options.pairs):
            alone = rate(crew, options.seconds)
            with Scraper(crew, options.every) as scraper:
                beside = rate(crew, options.seconds)
            ratios.append(beside / alone)
            for name in NAMES:
                took[name] += scraper.took[name]
    times = sum(len(one) for one in took.values()) / len(NAMES) / (options.pairs * options.seconds)
    for name, one in took.items():
        milliseconds = [1e3 * seconds for seconds in one]
        for what, value in (("median", percentile(milliseconds, 50)), ("p99", percentile(milliseconds, 99)),
                            ("longest", max(milliseconds))):
            tell("", f"scrape of {name}, {what}", "ms", value)
    lost = 1 - statistics.median(ratios)
    tell("", f"fewer pushes at {times:.0f} scrapes a second", "%", 100 * lost)
    tell("", f"fewer pushes at one every {REAL_PERIOD:g} s", "%", 100 * lost / (times * REAL_PERIOD))


if __name__ == "__main__":
    main()
