"""The deep examples beside PyTorch, which trains them here and now with the same towers, optimizers and batches.

Needs real data, and a Python with torch and NumPy: CAPSTAN_TORCH_PYTHON, or the one that runs this."""

import os
import pathlib
import statistics
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import quality
from crew import DATA

PYTHON = os.environ.get("CAPSTAN_TORCH_PYTHON", sys.executable)
REFERENCE = quality.ROOT / "tests" / "bench" / "models" / "torch_reference.py"
SPREAD = 0.003     # AUC by which medians of other releases of PyTorch may differ.


def has_torch():
    look = "import sys, importlib.util as found; sys.exit(not (found.find_spec('numpy') and found.find_spec('torch')))"
    return subprocess.run([PYTHON, "-c", look], check=False).returncode == 0


class QualityTorchTest(unittest.TestCase):

    def test_every_deep_example_is_as_good_as_pytorch(self):
        for name, written in quality.PYTORCH.items():
            with self.subTest(example=name):
                kind = name.removeprefix("criteo-").replace("-", "_")
                said = subprocess.run([PYTHON, str(REFERENCE), str(DATA / "criteo"), kind], check=True, text=True,
                                      stdout=subprocess.PIPE, timeout=900).stdout
                theirs = statistics.median(float(auc) for auc in said.split()[1:])
                ours = quality.median("auc", quality.runs_that_decide(lambda seed, name=name: quality.train(name, seed=seed), "auc",
                                                                      lambda value, bar=theirs - quality.BEHIND: value >= bar))
                print(f"{name}: auc {ours:.4f}, PyTorch {theirs:.4f}", flush=True)
                self.assertAlmostEqual(theirs, written, delta=SPREAD, msg="quality.py has another")
                self.assertGreaterEqual(ours, theirs - quality.BEHIND)


if __name__ == "__main__":
    if not quality.data_is_there():
        print(f"SKIPPED: no real data in {DATA} (deploy/datasets makes it, or CAPSTAN_DATA names its folder)")
        sys.exit(quality.SKIPPED)
    if not has_torch():
        print(f"SKIPPED: {PYTHON} has no torch (Debian: python3-torch; CAPSTAN_TORCH_PYTHON names another Python that has); "
              "the examples are still held to what PyTorch reached before: e2e/quality")
        sys.exit(quality.SKIPPED)
    unittest.main(verbosity=2)
