"""An optimizer of one's own, deploy/examples/extension, built into the programs: the reader of job.yaml knows it and its settings, and
the shards follow its rule."""

import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
BIN = pathlib.Path(os.environ["CAPSTAN_BIN"])
EXTENDED = pathlib.Path(os.environ["CAPSTAN_EXTENDED"]) / "bin"
RECORDS, EPOCHS, RATE = 64, 5, 0.125
# A weight a record, which begins at 0; all labels are 1, so every gradient has one sign.
JOB = f"""
job: own
data: {{format: csv, train: train.csv, schema: {{label: 0, categorical: "1"}}}}
model: {{towers: [{{kind: linear}}]}}
optimizer: {{sparse: {{kind: lion, learning_rate: {RATE}%s}}}}
train: {{batch_size: 8, epochs: {EPOCHS}}}
checkpoint: {{uri: out}}
"""


class OwnOptimizerTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.job_file = self.folder / "job.yaml"
        self.job_file.write_text(JOB % "")
        (self.folder / "train.csv").write_text("".join(f"1,r{number}\n" for number in range(RECORDS)))

    def run_it(self, *command, expect=0):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, check=False, timeout=120, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "TERM": "dumb"})
        self.assertEqual(done.returncode, expect, done.stdout)
        return done.stdout

    def test_each_update_is_one_step_of_the_rate_whatever_the_gradient(self):
        own = EXTENDED / "capstan"
        self.assertIn("lion, learning rate 0.125", self.run_it(own, "config", "check", "job.yaml"))
        said = self.run_it(own, "train", "job.yaml", "--shards", 2, "--workers", 2)
        model = re.search(r"(?m)^ *model +(\S+)", said)[1]
        scores = [float(line) for line in self.run_it(own, "predict", model, "train.csv").splitlines()]
        self.assertEqual(len(scores), RECORDS)
        for score in scores:
            self.assertAlmostEqual(math.log(score / (1 - score)), EPOCHS * RATE, delta=1e-4)

    def test_its_settings_are_read_and_those_of_others_refused(self):
        self.job_file.write_text(JOB % ", beta2: 1.5, momentum: 0.9")
        said = self.run_it(EXTENDED / "capstan", "config", "check", "job.yaml", expect=2)
        self.assertIn("optimizer.sparse.beta2: ", said)
        self.assertIn("optimizer.sparse.momentum: is not a setting of lion", said)

    def test_programs_without_it_name_the_kinds_that_they_know(self):
        said = self.run_it(BIN / "capstan", "config", "check", "job.yaml", expect=2)
        self.assertIn("optimizer.sparse.kind: ", said)
        self.assertIn("one of sgd, momentum, adagrad", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
