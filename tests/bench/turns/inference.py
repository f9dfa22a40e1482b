#!/usr/bin/python3
"""What `capstan serve` takes for a request: DeepFM over 39 columns, by one client and by eight, of one record and of a hundred;
beside a server of the same library that answers as many bytes at once.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/inference.py [--seconds 4]"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "recorder"))
from train import tell

BINARIES = pathlib.Path(os.environ["CAPSTAN_BIN"])
JOB = """
job: ctr
data: {format: synthetic, synthetic: {train_rows: 20000, eval_rows: 1000}}
model: {preset: deepfm, embedding_dim: 8, hidden: [64, 32]}
optimizer: {sparse: {kind: adagrad, learning_rate: 0.02}, dense: {kind: adam, learning_rate: 0.001}}
checkpoint: {uri: out}
"""
PATH = "/v2/models/ctr/infer"


def trained(folder):
    (folder / "job.yaml").write_text(JOB)
    subprocess.run([BINARIES / "capstan", "train", "job.yaml", "--plain", "--shards", "1", "--workers", "1", "--run-dir", "run"], cwd=folder,
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([BINARIES / "capstan", "data", "generate", "clicks", "--rows", "10", "--eval-rows", "100"], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)
    return folder / "out" / "ctr"


class Server:
    """A process whose first line tells its port, and which ends when its input does, or when it is told to."""

    def __init__(self, *command):
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = int(re.search(r"(\d+)(/\S*)?$", self.process.stdout.readline().strip())[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


def measure(server, body, connections, seconds):
    done = subprocess.run([BINARIES / "http_load", "ask", str(server.port), PATH, body, str(connections), str(seconds)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.split()
    count, took, p50, p99 = map(float, done)
    return count / took, p50, p99


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=4, help="of each case")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = trained(folder)
        lines = (folder / "clicks/test.csv").read_text().splitlines()
        with Server(BINARIES / "capstan", "serve", model, "--host", "127.0.0.1", "--port", "0") as serve:
            for records in (1, 100):
                body = folder / f"{records}.json"
                body.write_text(json.dumps({"inputs": [{"name": "records", "datatype": "BYTES", "shape": [records],
                                                        "data": lines[:records]}]}))
                with urllib.request.urlopen(f"http://127.0.0.1:{serve.port}{PATH}", body.read_bytes()) as answer:
                    (folder / "answer.json").write_bytes(answer.read())
                with Server(BINARIES / "http_load", "answer", folder / "answer.json") as bare:
                    for connections in (1, 8):
                        for what, server in (("capstan serve", serve), ("bare HTTP", bare)):
                            rate, p50, p99 = measure(server, body, connections, options.seconds)
                            case = f"{what}, {records} records a request, {connections} connections"
                            tell("", f"{case}, p50", "us", p50)
                            tell("", f"{case}, p99", "us", p99)
                            tell("", f"{case}", "records/s", rate * records)


if __name__ == "__main__":
    main()
