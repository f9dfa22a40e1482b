"""`capstan check` asks every process of a job by itself, each on the ports that all hosts share, as pods do."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import BINARIES, run_to_end
from held_port import HeldPort

JOB = """
job: checked
data: {format: synthetic, synthetic: {train_rows: 1M, eval_rows: 1k}}
model: {preset: fm, embedding_dim: 4}
worker_lease: 1s
heartbeat: 200ms
"""
HOSTS = {"chief": "127.0.0.2", "ps-0": "127.0.0.3", "ps-1": "127.0.0.4"}


class CheckTest(unittest.TestCase):

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "job.yaml").write_text(JOB)
        health, metrics = HeldPort("0.0.0.0"), HeldPort("0.0.0.0")  # The same two on each host.
        self.addCleanup(health.close)
        self.addCleanup(metrics.close)
        self.ports = ["--health-port", health.number, "--metrics-port", metrics.number]
        self.processes = {}
        self.addCleanup(lambda: [self.kill(name) for name in self.processes])

    def start(self, name, *arguments):
        command = [BINARIES / name.partition("-")[0], "--listen", f"{HOSTS[name]}:0", *self.ports, *arguments]
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen([str(word) for word in command], stdout=log, stderr=log)

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait(10)

    def crew(self, *settings, shards=2):
        ports = self.folder / "ports.json"
        self.start("chief", "--job", self.folder / "job.yaml", "--shards", 2, "--ports-file", ports,
                   *(word for setting in settings for word in ("--set", setting)))
        deadline = time.monotonic() + 20
        while not ports.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.chief = f"{HOSTS['chief']}:{json.loads(ports.read_text())['data']}"
        for index in range(shards):
            self.start(f"ps-{index}", "--chief", self.chief, "--index", index)

    def check(self, *flags):
        return run_to_end("capstan", "check", "--chief", self.chief, *self.ports, *flags, timeout=60)

    def test_each_process_is_asked_and_the_job_is_saved(self):
        self.crew(f"checkpoint.uri={self.folder / 'model'}")
        code, said = self.check("--wait=30", "--checkpoint")
        self.assertEqual(code, 0, said)
        for name, host in HOSTS.items():
            self.assertRegex(said, rf"{name} +{host}: ready, \d+ series of metrics")
        self.assertRegex(said, r"saved +\S+/model/checked/checkpoints/\S+")
        self.assertEqual(len(list(self.folder.glob("model/checked/checkpoints/*/MANIFEST.json"))), 1)

    def test_a_shard_that_has_not_come_is_waited_for_and_told(self):
        self.crew(shards=1)
        code, said = self.check("--wait=3")
        self.assertEqual(code, 1, said)
        self.assertIn("the job waits for shard 1\n", said)
        self.start("ps-1", "--chief", self.chief, "--index", 1)
        code, said = self.check("--wait=30")
        self.assertEqual(code, 0, said)
        self.assertIn("ps-1 ", said)

    def test_ports_at_which_nobody_answers_on_this_machine_are_told_to_be_others(self):
        self.crew()
        own, self.ports = self.ports, ["--health-port", 1, "--metrics-port", 1]
        code, said = self.check("--wait=0")
        self.assertEqual(code, 1, said)
        self.assertIn("the processes of `capstan train` have their health and metrics at ports of their own", said)
        self.ports = own
        code, said = self.check("--wait=30")
        self.assertEqual(code, 0, said)
        self.assertNotIn("ports of their own", said)

    def test_a_job_that_keeps_nothing_is_well_without_a_checkpoint(self):
        self.crew()
        code, said = self.check("--wait=30", "--checkpoint")
        self.assertEqual(code, 0, said)
        self.assertIn("checkpoint.uri", said)

    def test_a_shard_that_is_gone_is_told(self):
        self.crew()
        self.assertEqual(self.check("--wait=30")[0], 0)
        self.kill("ps-1")
        time.sleep(1.5)  # Its lease is over: until then the chief calls it serving.
        code, said = self.check("--wait=1")
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r"ps-0 +127.0.0.3: ready, \d+ series")
        self.assertRegex(said, r"ps-1 +127.0.0.4: .*, GET http://127.0.0.4:\d+/metrics: .*: Connection refused")
        self.assertIn("not every shard serves", said)

    def test_another_server_behind_the_metrics_port_is_told(self):
        self.crew()
        self.assertEqual(self.check("--wait=30")[0], 0)
        listener = socket.create_server((HOSTS["chief"], 0))
        self.addCleanup(listener.close)
        answer = b"HTTP/1.0 404 Not Found\r\n\r\n"
        child = os.fork()
        if child == 0:
            while True:
                peer, _ = listener.accept()
                peer.recv(4096)
                peer.sendall(answer)
                peer.close()
        self.addCleanup(lambda: (os.kill(child, 9), os.waitpid(child, 0)))
        code, said = run_to_end("capstan", "check", "--chief", self.chief, *self.ports[:2], "--metrics-port",
                                listener.getsockname()[1], "--wait=1", timeout=60)
        self.assertEqual(code, 1, said)
        self.assertRegex(said, r'chief +127.0.0.2: ready, .*/metrics: answered 404')


if __name__ == "__main__":
    unittest.main(verbosity=2)
