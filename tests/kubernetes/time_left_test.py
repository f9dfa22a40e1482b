"""Tests of the cluster that would not be over in time are left out, each as a whole, and told. Here there is no cluster."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
sys.dont_write_bytecode = True
from time_left import lack

# In the place of ctest: says what it is told, and what a test has said that was skipped.
CTEST = """#!/bin/bash
echo "until $CAPSTAN_UNTIL without a cluster: ${CAPSTAN_NO_CLUSTER:-no}"
echo "1/1 Test #7: e2e/kubernetes_shards ....***Skipped   0.10 sec"
mkdir -p "$2/Testing/Temporary"
printf 'Output:\\nSKIPPED: kubernetes_shards typically takes a while\\n' >"$2/Testing/Temporary/LastTest.log$ENDING"
exit "$CODE"
"""


class TimeLeftTest(unittest.TestCase):

    def test_a_test_begins_if_what_it_typically_takes_fits_into_the_time_that_is_left(self):
        limits = {"CAPSTAN_UNTIL": "1000", "CAPSTAN_TYPICAL_SECONDS": "300"}
        self.assertIsNone(lack("kubernetes_shards", limits, now=700))
        self.assertEqual(lack("kubernetes_shards", limits, now=701.5), "kubernetes_shards typically takes 300 s, and 299 s are left for it")
        self.assertIn("0 s are left", lack("kubernetes_shards", limits, now=2000))

    def test_where_nobody_says_until_when_every_test_begins(self):
        self.assertIsNone(lack("kubernetes_shards", {"CAPSTAN_TYPICAL_SECONDS": "300"}))

    def test_every_test_of_the_cluster_skips_with_one_line_before_it_asks_for_the_cluster(self):
        files = sorted((ROOT / "tests/e2e").glob("kubernetes*_test.py"))
        self.assertGreaterEqual(len(files), 9)
        limits = {"CAPSTAN_UNTIL": str(int(time.time())), "CAPSTAN_TYPICAL_SECONDS": "60", "KUBECONFIG": "of-no-cluster"}
        for file in files:
            with self.subTest(file.name):
                done = subprocess.run([sys.executable, "-B", file], env={**os.environ, **limits}, capture_output=True, text=True)
                name = file.stem.removesuffix("_test")
                self.assertEqual((done.returncode, done.stdout), (77, f"SKIPPED: {name} typically takes 60 s, and 0 s are left for it\n"),
                                 done.stderr)

    def test_every_test_of_the_cluster_says_what_it_typically_takes(self):
        listed = dict(re.findall(r"(?m)^capstan_cluster_test\((\w+) (\d+)\b", (ROOT / "tests/e2e/CMakeLists.txt").read_text()))
        self.assertEqual(sorted(listed), sorted(file.stem.removesuffix("_test") for file in (ROOT / "tests/e2e").glob("kubernetes*_test.py")))
        self.assertTrue(all(60 <= int(seconds) <= 1200 for seconds in listed.values()), listed)

    def stage(self, seconds, code=0, ending=""):
        """What tests/kubernetes/run says that may take so many seconds, and what it leaves in its log. `code`: how ctest ends, `ending`:
        of the name of the log that it leaves."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            ctest = folder / "ctest"
            ctest.write_text(CTEST)
            ctest.chmod(0o755)
            environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "KUBECONFIG": "of-no-cluster", "CODE": str(code),
                           "ENDING": ending}
            done = subprocess.run([ROOT / "tests/kubernetes/run", folder, str(seconds)], env=environment, capture_output=True, text=True)
            self.assertEqual(done.returncode, code, done.stderr)
            return done.stdout, (folder / "kubernetes.log").read_text()

    def test_the_stage_says_until_when_there_is_time_and_why_tests_were_skipped(self):
        begun = int(time.time())
        said, log = self.stage(1800)
        until = int(re.search(r"until (\d+) without a cluster: no\n", said)[1])
        self.assertTrue(begun + 1800 <= until <= time.time() + 1800, until - begun)
        self.assertEqual(said, log)
        self.assertTrue(log.endswith("\nSKIPPED: kubernetes_shards typically takes a while\n"), log)
        _, log = self.stage(1800, code=8, ending=".tmp")
        self.assertIn("\nSKIPPED: kubernetes_shards", log, "when ctest was ended, too")

    def test_without_twenty_minutes_there_is_no_cluster(self):
        self.assertIn("without a cluster: 19 minutes are left", self.stage(1199)[0])
        self.assertIn("without a cluster: 0 minutes are left", self.stage(-300)[0])

    def test_the_summary_of_a_run_tells_what_was_skipped_and_why(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write("1/2 Test #7: e2e/kubernetes_shards ....***Skipped   0.10 sec\n2/2 Test #8: e2e/kubernetes .... Passed  9 sec\n"
                      "100% tests passed, 0 tests failed out of 2\nSKIPPED: kubernetes_shards typically takes 700 s, and 90 s are left for it\n")
            log.flush()
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", 'source tests/lib/stages.sh; touch "$0"; summary "$0"', log.name], cwd=ROOT,
                                  env={**os.environ, "MINUTES": "87"}, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn(f"!! SKIPPED in {log.name}:\n1/2 Test #7: e2e/kubernetes_shards ....***Skipped   0.10 sec\n"
                          "SKIPPED: kubernetes_shards typically takes 700 s, and 90 s are left for it\n", done.stdout)
            self.assertIn("\n1 passed, 0 failed\n", done.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
