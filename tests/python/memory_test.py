"""A worker of a program of one's own takes no more memory after hundreds of steps than after its first ones, whatever the records lack."""

import pathlib
import tempfile
import unittest

from python_data import LIKES, SYNC, job_of_images, skip_if_lacking, write_likes

if __name__ == "__main__":
    skip_if_lacking()

from python_crew import PythonCrew  # noqa: E402

WIDTH = 250_000  # Further weights: a step holds them and their gradient, 2 MB.
BATCH = 50
STEPS = 200
MOST = 80  # MB. Steps that nobody lets go would be 400.


class MemoryTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def held(self, crew):
        """MB of the worker's own memory."""
        status = pathlib.Path(f"/proc/{crew.processes['worker-0'].pid}/status").read_text()
        return int(status.split("RssAnon:")[1].split()[0]) / 1000

    def check_grows_no_more(self, job, example, program="program.py"):
        with PythonCrew(job, example=example, environment={"WIDTH": str(WIDTH)}, workers=1, name=example, program=program) as crew:
            crew.until_examples(40 * BATCH)
            before = self.held(crew)
            crew.until_examples((40 + STEPS) * BATCH)
            after = self.held(crew)
        print(f"{example}: {before:.0f} MB, {STEPS} steps later {after:.0f} MB", flush=True)
        self.assertLess(after - before, MOST)

    def test_records_without_keys(self):
        job = job_of_images(self.folder).replace("clip_norm: 1", "clip_norm: 1, epochs: 1000")
        self.check_grows_no_more(job + SYNC, "cnn")

    def test_records_without_numbers(self):
        for name, seed in (("train", 1), ("test", 2)):
            write_likes(self.folder / f"{name}.csv", 4000, seed)
        job = LIKES % (self.folder / "train.csv", self.folder / "test.csv")
        job = job.replace(", numeric: [price]", "").replace("epochs: 6", "epochs: 1000")
        self.check_grows_no_more(job, "recommender")

    def test_records_without_keys_in_numpy(self):
        job = job_of_images(self.folder).replace("clip_norm: 1", "clip_norm: 1, epochs: 1000")
        self.check_grows_no_more(job + SYNC, "numpy_softmax", "numpy_program.py")


if __name__ == "__main__":
    unittest.main(verbosity=2)
