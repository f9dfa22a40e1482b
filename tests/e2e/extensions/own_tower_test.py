"""A tower of one's own, deploy/examples/extension, built into the programs: every command knows it, it trains what no other
tower of the job could learn, and its export scores with a formula of three lines."""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
BIN = pathlib.Path(os.environ["CAPSTAN_BIN"])
EXTENDED = pathlib.Path(os.environ["CAPSTAN_EXTENDED"]) / "bin"
VALUES, RECORDS = 6, 6000
JOB = """
job: own
data: {format: csv, train: train.csv, eval: test.csv, schema: {label: 0, categorical: "1-3"}}
model: {embedding_dim: 4, embedding_stddev: 0.1, towers: [{kind: linear}, {kind: field_weighted_fm}, {kind: bias}]}
optimizer: {sparse: {kind: adagrad, learning_rate: 0.2}, dense: {kind: adam, learning_rate: 0.01}}
train: {batch_size: 32, epochs: 3}
checkpoint: {uri: out}
"""
SCORE = """
import sys; sys.path.insert(0, "model")
import numpy as np, score
def field_weighted_fm(inputs, tensors, _):
    vectors = inputs.embedding.reshape(len(inputs.dense), inputs.fields, -1)
    a, b = np.triu_indices(inputs.fields, 1)
    return ((vectors[:, a] * vectors[:, b]).sum(2) @ tensors["weights"])[:, None]
score.TOWERS["field_weighted_fm"] = field_weighted_fm
for scores in score.Model("model").score_file("test.csv"):
    print(*scores, sep="\\n")
"""


def write_pairs(path, seed):
    """The label tells whether the first two columns are both even or both odd, which neither tells alone."""
    draw = random.Random(seed)
    with open(path, "w") as out:
        for _ in range(RECORDS):
            one, other, noise = (draw.randrange(VALUES) for _ in range(3))
            out.write(f"{int((one + other) % 2 == 0)},{one},{other},{noise}\n")


class OwnTowerTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "job.yaml").write_text(JOB)
        for seed, name in enumerate(("train.csv", "test.csv")):
            write_pairs(self.folder / name, seed)

    def run_it(self, *command, expect=0):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, check=False, timeout=120, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "TERM": "dumb"})
        self.assertEqual(done.returncode, expect, done.stdout)
        return done.stdout

    def test_it_is_checked_trained_evaluated_scored_and_exported(self):
        own = EXTENDED / "capstan"
        self.assertIn("4 dense parameters in 2 tensors", self.run_it(own, "config", "check", "job.yaml"))  # 3 pairs, and the bias.
        said = self.run_it(own, "train", "job.yaml", "--shards", 2, "--workers", 2)
        model = re.search(r"(?m)^ *model +(\S+)", said)[1]
        said = self.run_it(own, "evaluate", model, "test.csv")
        self.assertGreater(float(re.search(r"AUC +([0-9.]+)", said)[1]), 0.99, said)
        scores = [float(line) for line in self.run_it(own, "predict", model, "test.csv").splitlines()]
        self.assertEqual(len(scores), RECORDS)
        self.run_it(own, "checkpoint", "export", model, "model", "--python")
        exported = [float(line) for line in self.run_it("/usr/bin/python3", "-c", SCORE).splitlines()]
        self.assertEqual(len(exported), RECORDS)
        self.assertLess(max(abs(one - other) for one, other in zip(scores, exported)), 1e-5)

    def test_programs_without_it_say_how_it_is_built_in(self):
        said = self.run_it(BIN / "capstan", "config", "check", "job.yaml", expect=2)
        self.assertIn('kind "field_weighted_fm" is not one of', said)
        self.assertIn("capstan_add_programs(TOWERS ", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
