"""`capstan plan --measure` of a program of the user's own: what its model declares and takes is known without being said."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from python_data import EXAMPLES, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path[:0] = [os.environ["PYTHONPATH"]]

from crew import BINARIES  # noqa: E402

LEAST_OF_PYTORCH = 100 << 20


class PlanTest(unittest.TestCase):
    def plan(self, *options):
        with tempfile.TemporaryDirectory(prefix="capstan-plan-test-") as folder:
            for name in ("deepfm.py", "deepfm.yaml"):
                shutil.copy(EXAMPLES / name, folder)
            return subprocess.run([BINARIES / "capstan", "plan", "deepfm.yaml", "--measure", "--json", *options], cwd=folder,
                                  capture_output=True, text=True, timeout=180, check=False)

    def test_a_program_is_measured_with_what_it_declares_and_takes(self):
        planned = self.plan("--worker", f"{sys.executable} deepfm.py")
        self.assertEqual(planned.returncode, 0, planned.stderr)
        said = json.loads(planned.stdout)
        self.assertGreater(said["compute_seconds"], 0)
        self.assertGreater(said["worker_bytes"], LEAST_OF_PYTORCH)
        self.assertGreater(said["pushed_bytes"], 0)

    def test_a_program_that_is_not_named_or_fails_is_told(self):
        unnamed = self.plan()
        self.assertEqual(unnamed.returncode, 2, unnamed.stderr)
        self.assertIn("--worker", unnamed.stderr)
        failing = self.plan("--worker", f"{sys.executable} nothing.py")
        self.assertEqual(failing.returncode, 2, failing.stderr)
        self.assertIn("worker-0", failing.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
