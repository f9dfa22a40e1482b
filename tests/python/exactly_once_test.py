"""What a program of one's own trains asynchronously is trained exactly once an epoch, rows and dense tensors, though a worker, a shard and
the chief are killed."""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path.insert(0, os.environ["PYTHONPATH"])
import capstan_ps  # noqa: E402
from crew import BINARIES  # noqa: E402
from ledger import write_ledger_file  # noqa: E402
from program_ledger import PROGRAM, program_job, times_trained  # noqa: E402
from python_crew import PythonCrew  # noqa: E402

RECORDS, EPOCHS = 6000, 2
PACE = "0.01"  # Seconds a step: three workers train for 10 s at the least.


class ExactlyOnceTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.data = pathlib.Path(scratch.name) / "records.csv"
        write_ledger_file(self.data, RECORDS)
        os.environ["CAPSTAN"] = str(BINARIES / "capstan")

    def check(self, policy):
        with PythonCrew(program_job(self.data, policy, EPOCHS), program=PROGRAM, workers=3, name="ledger", environment={"PACE": PACE},
                        overrides=["partition_count=16", "checkpoint.every=1s"]) as crew:
            crew.until_examples(RECORDS // 8)
            crew.kill("worker-1")
            crew.until_checkpoints(1)
            crew.restart_shard(0)
            crew.until(lambda: crew.status().losses, "the return to a checkpoint")
            self.goes_on(crew)
            term = crew.status().term
            crew.restart_chief()
            crew.until(lambda: crew.status().term > term, "another chief")
            self.goes_on(crew)
            crew.add_worker("worker-1")
            self.assertEqual(crew.wait().examples, EPOCHS * RECORDS)
            self.assertEqual(times_trained(capstan_ps.load(crew.manifest().parent)), ({EPOCHS: RECORDS}, EPOCHS * RECORDS))

    @staticmethod
    def goes_on(crew):
        stood = crew.status().examples
        crew.until_examples(stood + 40)

    def test_async_survives_a_killed_worker_shard_and_chief(self):
        self.check("{policy: async}")

    def test_ssp_survives_a_killed_worker_shard_and_chief(self):
        self.check("{policy: ssp, staleness: 2}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
