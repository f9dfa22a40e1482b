#!/usr/bin/python3
"""The turns of the promised size, and that of the build, run to their end, and tell all that their sections show. They are run with few
and small processes, and with a compiler that does nothing; what they measure so is not looked at.

    CAPSTAN_BIN=build/bin CAPSTAN_PROTO=proto tests/bench/turns/turns_test.py"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest

TURNS = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(TURNS.parent / "recorder"))
import frame
import results
import sections

PATIENCE_SECONDS = 200
# Each with a chief, two shards and two workers.
PROCESSES = 5
LARGE = ("large.py", "--objects", "50", "--lanes", "4", "--shards", "2", "--workers", "2", "--rounds", "4", "--width", "1000")
CROWD = ("crowd.py", "sync", "--shards", "2", "--workers", "2", "--tasks", "16")


class TurnsTest(unittest.TestCase):

    def tells(self, section, side, script, *arguments, path=()):
        """The script completes, and each row that the section has of this side finds what it shows; the rows. `path`: folders of programs
        that stand for those of the machine."""
        environment = {**os.environ, "PATH": os.pathsep.join([*map(str, path), os.environ["PATH"]])}
        done = subprocess.run([sys.executable, "-B", TURNS / script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=PATIENCE_SECONDS, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout)
        told = {result.case: result.value for result in results.parse(done.stdout)}
        with tempfile.TemporaryDirectory() as scratch:
            rows = section(frame.Context(os.environ["CAPSTAN_BIN"], scratch)).rows
        rows = [row for row in rows if (row.of or frame.CAPSTAN) == side]
        self.assertTrue(rows, section)
        for row in rows:
            found = [value for case, value in told.items() if re.fullmatch(row.ours, case)]
            self.assertEqual(len(found), 1, f"{row.what}: {told}")
            self.assertGreater(found[0], 0, row.what)
        return rows

    def compares_with_the_plan(self, rows):
        self.assertTrue(any("by the plan" in row.ours for row in rows), rows)

    def test_large(self):
        self.compares_with_the_plan(self.tells(sections.large, frame.CAPSTAN, *LARGE))

    def test_crowd(self):
        self.compares_with_the_plan(self.tells(sections.crowd, "sync", *CROWD))

    def test_a_turn_that_is_asked_to_end_leaves_no_process_behind(self):
        for script, *arguments in (LARGE, CROWD):
            with self.subTest(script), tempfile.TemporaryDirectory() as scratch:
                turn = subprocess.Popen([sys.executable, "-B", TURNS / script, *arguments], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, env={**os.environ, "TMPDIR": scratch})
                children = pathlib.Path(f"/proc/{turn.pid}/task/{turn.pid}/children")
                deadline = time.monotonic() + PATIENCE_SECONDS
                while len(started := children.read_text(encoding="ascii").split()) < PROCESSES:
                    self.assertIsNone(turn.poll(), "it has ended by itself")
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
                turn.terminate()
                turn.wait(PATIENCE_SECONDS)
                left = [int(pid) for pid in started if pathlib.Path("/proc", pid).exists()]
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                self.assertEqual(left, [])

    def test_build(self):
        """Of programs that are there at once, and not from ccache."""
        with tempfile.TemporaryDirectory() as scratch:
            tools, folder = pathlib.Path(scratch) / "tools", pathlib.Path(scratch) / "cold"
            tools.mkdir()
            for tool, does in (("cmake", "true"), ("ninja", 'mkdir "$2/bin"; cd "$2/bin"; for program in capstan chief ps worker; do echo 1 >$program; done')):
                (tools / tool).write_text(f'#!/bin/sh\n[ "$CCACHE_DISABLE" = 1 ] || exit 9\n{does}\n')
                (tools / tool).chmod(0o755)
            folder.mkdir()
            (folder / "of-an-earlier-build").touch()
            rows = self.tells(sections.build, frame.CAPSTAN, "build.py", "--folder", folder, path=[tools])
            self.assertEqual(len(rows), 1)
            self.assertFalse(folder.exists())

    def test_lanes(self):
        with tempfile.TemporaryDirectory() as clicks:
            subprocess.run([pathlib.Path(os.environ["CAPSTAN_BIN"]) / "capstan", "data", "generate", "--force", "--rows", "40000",
                            "--eval-rows", "0", clicks], check=True, stdout=subprocess.DEVNULL)
            self.tells(sections.lanes, frame.CAPSTAN, "lanes.py", clicks, "--lanes", "2", "--rounds", "3")

    def test_chief(self):
        self.tells(sections.chief, frame.CAPSTAN, "chief.py", "--short")


class WatchTest(unittest.TestCase):

    def test_a_process_that_fails_ends_the_turn_which_would_wait_for_it_for_ever(self):
        sys.path.insert(0, str(TURNS))
        import train
        failed = subprocess.Popen([sys.executable, "-c", "import sys; sys.exit(3)"])
        failed.wait()
        crew = types.SimpleNamespace(processes={"worker-0": failed}, last_words=lambda: "no module of that name",
                                     status=lambda: types.SimpleNamespace(state=None, examples=0, examples_expected=1))
        with self.assertRaises(SystemExit) as ended:
            train.watch(crew)
        self.assertEqual(ended.exception.code, "worker-0 ended while the job went on\nno module of that name")


if __name__ == "__main__":
    unittest.main(verbosity=2)
