#!/usr/bin/python3
"""`capstan plan --measure` trains a job for a while, plans by what its batches cost, and leaves nothing behind.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/e2e/plan_test.py"""

import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

from crew import BINARIES

JOB = """
job: planned
data:
  format: synthetic
  synthetic: {train_rows: 200000, eval_rows: 10000}
model: {preset: deepfm, embedding_dim: 4, hidden: [16]}
train: {batch_size: 256}
checkpoint: {uri: kept}
"""


class PlanTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="capstan-plan-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "temporary").mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.folder / "temporary")}

    def command(self, *options, job=JOB):
        (self.folder / "job.yaml").write_text(job, encoding="utf-8")
        return [BINARIES / "capstan", "plan", "job.yaml", *options]

    def plan(self, *options, job=JOB):
        return subprocess.run(self.command(*options, job=job), cwd=self.folder, env=self.environment, capture_output=True, text=True,
                              timeout=120, check=False)

    def left_behind(self):
        return sorted(path.name for path in (self.folder / "temporary").iterdir())

    def test_what_is_measured_is_planned_by_and_saved(self):
        measured = self.plan("--measure", "--save-rates", "rates", "--workers", "3", "--json")
        self.assertEqual(measured.returncode, 0, measured.stderr)
        self.assertIn("is trained for about 8s", measured.stderr)
        said = json.loads(measured.stdout)
        self.assertGreater(said["compute_seconds"], 0)
        self.assertGreater(said["worker_bytes"], 0)
        rates = dict(line.split(" ", 1) for line in (self.folder / "rates").read_text(encoding="utf-8").splitlines())
        self.assertIn("with planned, one worker and one shard", rates["origin"])
        self.assertGreater(float(rates["batch.planned.compute_seconds"]), 0)
        self.assertGreater(float(rates["batch.planned.read_seconds"]), 0)
        again = self.plan("--rates", "rates", "--workers", "3", "--json")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertAlmostEqual(json.loads(again.stdout)["examples_per_second"] / said["examples_per_second"], 1, delta=0.01)
        self.assertEqual(self.left_behind(), [])
        self.assertFalse((self.folder / "kept").exists(), "the job's own checkpoint.uri is not touched")

    def test_a_job_that_ends_before_it_is_measured_is_refused(self):
        job = JOB.replace("train: {", "train: {max_steps: 3, ")
        refused = self.plan("--measure", job=job)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("--measure: planned: it ended before it had been measured", refused.stderr)
        self.assertEqual(self.left_behind(), [])

    def test_an_interrupt_stops_all_and_leaves_nothing_behind(self):
        with subprocess.Popen(self.command("--measure"), cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True) as measuring:
            deadline = time.monotonic() + 60
            while not list((self.folder / "temporary").glob("*/worker-0.ports")) and time.monotonic() < deadline:
                time.sleep(0.05)
            measuring.send_signal(signal.SIGINT)
            _, error = measuring.communicate(timeout=60)
        self.assertEqual(measuring.returncode, 1, error)
        self.assertIn("stopped", error)
        self.assertEqual(self.left_behind(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
