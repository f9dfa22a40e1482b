"""Data found bad while training ends the job with exit code 2 and says where; up to a declared limit it is
left out and counted."""

import os
import pathlib
import re
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew, chief_pb2, run_to_end, series, view_pb2
from ledger import ledger_job, ledger_times, write_ledger_file

RECORDS = 20000
BAD_LINE = 12345


class BadDataTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.data = self.folder / "records.csv"
        write_ledger_file(self.data, RECORDS)

    def tearDown(self):
        self.scratch.cleanup()

    def spoil(self, *replacements):
        """Replaces lines, counted from 1."""
        lines = self.data.read_text().splitlines(keepends=True)
        for number, line in replacements:
            lines[number - 1] = line + "\n"
        self.data.write_text("".join(lines))

    def job(self, batch=64):
        return ledger_job([self.data], batch=batch)

    def train(self, *more):
        """Exit code and words of `capstan train`."""
        job = self.folder / "job.yaml"
        job.write_text(self.job() + f"checkpoint: {{uri: {self.folder}/model}}\n")
        return run_to_end("capstan", "train", job, "--shards", 1, "--workers", 2, "--run-dir",
                          self.folder / "run", "--set", "data.task_bytes=32KiB", *more, timeout=60)

    def test_bad_records_end_the_training_with_file_and_line(self):
        for line, expected in (
                ("1,r0012344,surplus", r"3 columns|columns"),
                ("one,r0012344", r"label"),
                ("7,r0012344", r"label"),  # Not of the logistic loss's domain.
        ):
            with self.subTest(line):
                write_ledger_file(self.data, RECORDS)
                self.spoil((BAD_LINE, line))
                code, said = self.train()
                self.assertEqual(code, 2, said)
                self.assertRegex(said, re.escape(f"{self.data}:{BAD_LINE}"))
                self.assertRegex(said, expected)
                self.assertEqual(list(self.folder.glob("model/**/MANIFEST.json")), [], "a model was written")

    def test_evaluation_data_that_do_not_fit_are_refused_before_anything_is_trained(self):
        held_out = self.folder / "held_out.csv"
        for content, expected in (
                ("1,r0000001\n>50K,r0000002\n", f"{held_out}:2: column 0: label"),
                ("income,name\n1,r0000001\n", "data.header: true"),
                ("1,r0000001\n1,r0000002,surplus\n", f"{held_out}:2: 3 columns, expected 2"),
        ):
            with self.subTest(expected):
                held_out.write_text(content)
                began = time.monotonic()
                code, said = self.train("--set", f"data.eval={held_out}")
                self.assertLess(time.monotonic() - began, 20, said)
                self.assertEqual(code, 2, said)
                self.assertIn(expected, said)
                self.assertEqual(list(self.folder.glob("model/**/*")), [], "something was begun")
                code, said = run_to_end("capstan", "config", "check", self.folder / "job.yaml", "--set",
                                        f"data.eval={held_out}")
                self.assertEqual(code, 2, said)
                self.assertIn(expected, said)

    def test_evaluation_data_found_bad_at_the_end_lose_no_model(self):
        held_out = self.folder / "held_out.csv"
        lines = [f"1,r{number:07d}\n" for number in range(RECORDS)]
        lines[BAD_LINE - 1] = "1,r0012344,surplus\n"
        held_out.write_text("".join(lines))
        code, said = self.train("--set", f"data.eval={held_out}")
        self.assertEqual(code, 0, said)
        self.assertIn(f"{held_out}:{BAD_LINE}: 3 columns, expected 2", said)
        self.assertEqual(len(list(self.folder.glob("model/**/MANIFEST.json"))), 1, "the model")

    def test_up_to_the_limit_they_are_left_out_counted_and_shown(self):
        self.spoil((BAD_LINE, "1,r0012344,surplus"), (15000, "one,r0014999"))
        with Crew(self.job(), overrides=["data.task_bytes=32KiB", "data.max_bad_records=2"],
                  exit_when_done=False) as crew:
            last = crew.until_state("COMPLETED", "FAILED")
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            self.assertEqual(last.examples, RECORDS - 2)
            self.assertEqual(last.bad_records, 2)
            shown = "\n".join(last.bad_record_examples)
            for line in (BAD_LINE, 15000):
                self.assertIn(f"{self.data}:{line}", shown)
            crew.until(lambda: series(crew.scrape("chief"), "capstan_bad_records_total")[""] == 2, "the count")
            # The good records were trained once each, and nothing of the bad ones.
            write_ledger_file(self.data, RECORDS)
            times = ledger_times(crew.predict(self.data))
            self.assertEqual({i for i, n in enumerate(times) if n != 1}, {BAD_LINE - 1, 14999})

    def test_each_counts_once_though_workers_are_killed_and_come_and_epochs_read_it_again(self):
        spoilt = range(500, RECORDS, 1000)
        self.spoil(*((line, "bad,record") for line in spoilt))
        crew = Crew(self.job(), workers=3, pace=10, exit_when_done=False,
                    overrides=["data.task_bytes=32KiB", f"data.max_bad_records={len(spoilt)}", "train.epochs=2"])
        with crew:
            for step, name in enumerate(("worker-0", "worker-1", "worker-2"), start=1):
                crew.until_examples(step * RECORDS // 2)
                crew.kill(name)
                crew.add_worker(name if step < 3 else "worker-3")
            last = crew.until_state("COMPLETED", "FAILED", timeout=120)
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            self.assertEqual(last.bad_records, len(spoilt))
            self.assertEqual(last.examples, 2 * (RECORDS - len(spoilt)))

    def test_one_more_than_the_limit_fails(self):
        self.spoil(*((BAD_LINE + i, "bad,record") for i in range(3)))
        with Crew(self.job(), overrides=["data.task_bytes=32KiB", "data.max_bad_records=2"]) as crew:
            last = crew.wait(expect=2)
            self.assertEqual(last.failure_kind, chief_pb2.FAILURE_KIND_BAD_INPUT)
            # Said by the worker that met all three, or by the chief that adds up.
            self.assertRegex(last.reason, r"more (bad records )?than (data\.)?max_bad_records")
            self.assertRegex(last.reason, re.escape(f"{self.data}:") + r"1234\d")

    def test_a_pipe_in_the_place_of_a_file_is_named_and_not_waited_for(self):
        second = self.folder / "second.csv"
        write_ledger_file(second, RECORDS, first=RECORDS)
        with Crew(ledger_job([self.data, second], batch=16), workers=1, pace=2) as crew:
            crew.until_examples(16)
            second.unlink()
            os.mkfifo(second)
            last = crew.wait(expect=2)
            self.assertIn(f"{second}: is not a regular file", last.reason)

    def test_a_file_that_vanishes_is_named(self):
        second = self.folder / "second.csv"
        write_ledger_file(second, RECORDS, first=RECORDS)
        job = ledger_job([self.data, second], batch=16)
        with Crew(job, workers=1, pace=2) as crew:
            crew.until_examples(16)
            second.unlink()
            last = crew.wait(expect=2)
            self.assertIn(str(second), last.reason)


if __name__ == "__main__":
    unittest.main(verbosity=2)
