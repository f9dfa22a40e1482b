"""Data of eleven kinds as strangers bring it, each trained by `capstan train` with a job of keys that docs/job-yaml.md tells of,
reaches what scikit-learn reaches on the same bytes; strangers/README.md tells of each kind.

Where scikit-learn can be imported, its numbers are not taken from strangers/reference.json but measured again."""

import csv
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent / "strangers"
sys.path.insert(0, str(HERE))
import generate

CAPSTAN = pathlib.Path(os.environ["CAPSTAN_BIN"]) / "capstan"
REFERENCE = json.loads((HERE / "reference.json").read_text())["kinds"]

# By how much a kind may be worse than its reference. AUC and accuracy: a difference; RMSE: a part of it.
BOUNDS = {
    "sparse_text": 0.005,
    "click_log": 0.005,
    "census": 0.005,
    "pairs": 0.05,  # Of what nobody can exceed, with 75 records a user.
    "ratings": -0.05,  # Ridge does not know which user likes which genre.
    "regression": 0.01,
    "images": 0.01,
    "classes": 0.01,
    "fraud": 0.01,
    "sessions": 0.005,
    "series": 0.01,
}


def measured_again(kind, folder):
    """The reference's value by the scikit-learn of this machine; None without it."""
    try:
        import reference
    except ImportError:
        return None
    return reference.REFERENCES[kind][2](folder)


class StrangersTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-strangers-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def train(self):
        """The last evaluation: {metric: value}."""
        done = subprocess.run([CAPSTAN, "train", "job.yaml", "--plain", "--shards", "2", "--workers", "2", "--run-dir", "run"],
                              cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        (curve,) = self.folder.glob("run/model/*/curve.csv")
        with open(curve, encoding="utf-8") as lines:
            last = [point for point in csv.DictReader(lines) if point["eval_logloss"] or point["eval_rmse"]][-1]
        return {name.removeprefix("eval_"): float(value) for name, value in last.items()
                if name.startswith("eval_") and value}

    def check(self, kind):
        expected = REFERENCE[kind]
        metric, reference = expected["metric"], expected["value"]
        generate.generate(kind, self.folder)
        self.assertEqual(generate.digest(self.folder), expected["data"],
                         "generate.py makes other data than reference.json was measured with: run reference.py")
        again = measured_again(kind, self.folder)
        if again is not None:
            self.assertAlmostEqual(again, reference, delta=0.002, msg="run reference.py")
            reference = again
        shutil.copy(HERE / "jobs" / f"{kind}.yaml", self.folder / "job.yaml")
        begin = time.monotonic()
        value = self.train()[metric]
        bar = reference * (1 + BOUNDS[kind]) if metric == "rmse" else reference - BOUNDS[kind]
        print(f"{kind}: {metric} {value:.4f}, {expected['model']} {reference:.4f}, bar {bar:.4f}, "
              f"{time.monotonic() - begin:.1f} s", flush=True)
        if metric == "rmse":
            self.assertLessEqual(value, bar)
        else:
            self.assertGreaterEqual(value, bar)

    def test_every_kind_has_a_job_a_reference_a_bound_and_a_line_in_the_readme(self):
        jobs = {file.stem for file in (HERE / "jobs").glob("*.yaml")}
        described = set(re.findall(r"^\| `(\w+)` \|", (HERE / "README.md").read_text(), re.MULTILINE))
        for names in (jobs, set(REFERENCE), set(BOUNDS), described):
            self.assertEqual(names, set(generate.KINDS))


def test_of(kind):
    return lambda self: self.check(kind)


for _kind in generate.KINDS:
    setattr(StrangersTest, f"test_{_kind}", test_of(_kind))


if __name__ == "__main__":
    unittest.main(verbosity=2)
