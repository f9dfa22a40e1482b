#!/usr/bin/python3
"""The turns of the promised size run to their end, and tell all that their sections show. They are run with few and small
processes; what they measure so is not looked at.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/turns_test.py"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

TURNS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TURNS.parent / "recorder"))
import results
import sections

PATIENCE_SECONDS = 200


class TurnsTest(unittest.TestCase):

    def tells(self, section, side, script, *arguments):
        """The script completes, and each row that the section has of this side finds what it shows."""
        done = subprocess.run([sys.executable, "-B", TURNS / script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=PATIENCE_SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        told = {result.case: result.value for result in results.parse(done.stdout)}
        with tempfile.TemporaryDirectory() as scratch:
            rows = section(sections.Context(os.environ["CAPSTAN_BIN"], scratch)).rows
        rows = [row for row in rows if (row.of or sections.CAPSTAN) == side]
        self.assertTrue(rows, section)
        for row in rows:
            found = [value for case, value in told.items() if re.fullmatch(row.ours, case)]
            self.assertEqual(len(found), 1, f"{row.what}: {told}")
            self.assertGreater(found[0], 0, row.what)

    def test_large(self):
        self.tells(sections.large, sections.CAPSTAN, "large.py", "--objects", "50", "--lanes", "4", "--shards", "2", "--workers", "2",
                   "--rounds", "4", "--width", "1000")

    def test_crowd(self):
        self.tells(sections.crowd, "sync", "crowd.py", "sync", "--shards", "2", "--workers", "2", "--tasks", "16")

    def test_lanes(self):
        with tempfile.TemporaryDirectory() as clicks:
            subprocess.run([pathlib.Path(os.environ["CAPSTAN_BIN"]) / "capstan", "data", "generate", "--force", "--rows", "40000",
                            "--eval-rows", "0", clicks], check=True, stdout=subprocess.DEVNULL)
            self.tells(sections.lanes, sections.CAPSTAN, "lanes.py", clicks, "--lanes", "2", "--rounds", "3")

    def test_chief(self):
        self.tells(sections.chief, sections.CAPSTAN, "chief.py", "--short")


if __name__ == "__main__":
    unittest.main(verbosity=2)
