"""Frozen tensors are pulled once in a timeline, and never pushed: by the bytes of real shards, and what a program that changes them is told."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, SYNC, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

from crew import series  # noqa: E402
from python_crew import PythonCrew  # noqa: E402

FROZEN = 4_000_000  # Numbers.
BYTES = 4 * FROZEN
JOB = CLICKS % (20000, "user: deepfm.py")
ENVIRONMENT = {"FROZEN": str(FROZEN)}


class FrozenTest(unittest.TestCase):

    def bytes_of(self, crew, what, method):
        """Those that the only shard has sent or received since it began."""
        found = series(crew.scrape("ps-0"), f"capstan_server_{what}_bytes_total")
        return sum(value for labels, value in found.items() if f'"{method.lower()}"' in labels.lower())

    def pulled(self, crew):
        return self.bytes_of(crew, "response", "Pull")

    def check(self, job, **more):
        with PythonCrew(job, workers=1, shards=1, environment=ENVIRONMENT | {"PACE": "0.05"}, **more) as crew:
            crew.until_examples(20 * 125)
            self.assertGreater(self.pulled(crew), BYTES)
            before = self.pulled(crew)
            crew.until_examples(60 * 125)
            self.assertLess(self.pulled(crew) - before, BYTES, "forty steps pull what changes")
            self.assertLess(self.bytes_of(crew, "request", "Push"), 3 * BYTES, "rows and what is trained")
            return crew

    def test_forty_steps_pull_less_than_once_what_is_frozen(self):
        self.check(JOB, name="async")
        self.check(JOB + SYNC, name="sync")

    def test_after_a_return_to_a_checkpoint_they_are_pulled_again(self):
        with PythonCrew(JOB + SYNC, workers=1, shards=1, environment=ENVIRONMENT | {"PACE": "0.05"}, name="again") as crew:
            crew.until_examples(1000)
            timeline = crew.status().timeline
            crew.restart_shard(0)
            crew.until(lambda: crew.status().timeline > timeline, "the return")
            crew.until_examples(2000)
            self.assertGreater(self.pulled(crew), BYTES, "another process, which has sent nothing before")

    def test_a_program_that_writes_to_them_is_told(self):
        with PythonCrew(JOB, workers=1, name="touches", environment={"FROZEN": "10", "TOUCH": "1"}) as crew:
            self.assertEqual(crew.end_of("worker-0"), 3)
            self.assertIn("TypeError: parameter fixed.weight has changed, and was frozen (requires_grad=False)", crew.log("worker-0").splitlines()[-1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
