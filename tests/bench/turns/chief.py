#!/usr/bin/python3
"""What the chief has to do at any size: a worker's heartbeat, by the number of workers, with 100 shards; ten million tasks, and
what the shards keep of a million streams that are closed; a hundred thousand objects of a store whose answers take 20 ms.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/chief.py [--short]"""

import argparse
import json
import subprocess

from train import tell

from crew import BINARIES

KINDS = {"BM_HeartbeatOfATask": "a task's heartbeat", "BM_HeartbeatOfALane": "a lane's heartbeat",
         "BM_HeartbeatOfEightThreads": "eight threads' heartbeat", "BM_HeartbeatOfEightLanes": "eight lanes' heartbeat",
         "BM_HeartbeatOfEightThreadsSsp": "eight threads' heartbeat, ssp",
         "BM_HeartbeatAtTheEndOfTheTasks": "eight threads' heartbeat, no task left", "BM_EightTasksEnd": "eight tasks end",
         "BM_EightTasksEndSsp": "eight tasks end, ssp", "BM_TheLastTasksEnd": "the last eight tasks end",
         "BM_TheLastTasksEndSsp": "the last eight tasks end, ssp"}


def heartbeats(*options):
    said = subprocess.run([BINARIES / "bench_chief", "--benchmark_format=json", *options], check=True, capture_output=True, text=True).stdout
    for run in json.loads(said)["benchmarks"]:
        kind, workers = run["name"].split("/")[:2]
        tell("", f"{KINDS[kind]}, {workers} workers", run["time_unit"], run["cpu_time"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="1,000 workers alone, as few heartbeats as can be, a thousand objects")
    short = parser.parse_args().short
    heartbeats(*(["--benchmark_filter=/1000", "--benchmark_min_time=0"] if short else []))
    subprocess.run([BINARIES / "tasks_bench"], check=True)
    subprocess.run([BINARIES / "plan_bench", *(["1000"] if short else [])], check=True)


if __name__ == "__main__":
    main()
