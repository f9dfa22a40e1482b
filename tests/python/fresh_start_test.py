"""A job begins anew while a program trains it: real processes on loopback, whose worker has outlived the chief."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

from python_crew import PythonCrew  # noqa: E402

# Longer than any test.
JOB = CLICKS % (20000, "user: factorization_machine.py") + "update: {sparse: {policy: async}, dense: {policy: async}}"
LONG = ["train.epochs=1000"]
TELLS_SCALE = "(print('scale', float(batch.scale[0]), flush=True), losses, gradients)[1:]"
SETTINGS = {"train.batch_size=125": "train.batch_size=100", "train.gradient=mean": "train.gradient=sum"}


class FreshStartTest(unittest.TestCase):

    def crew(self, overrides=(), **more):
        return PythonCrew(JOB, example="factorization_machine", program="numpy_program.py", name="fresh", shards=1, workers=1,
                          overrides=[*LONG, *overrides], environment={"PACE": "0.02", "MISTAKE": TELLS_SCALE}, **more)

    def scales(self, text):
        return {round(1 / float(scale)) for scale in re.findall(r"^scale (\S+)$", text, re.MULTILINE)}

    def change(self, crew, changes):
        crew.overrides = [changes.get(setting, setting) for setting in crew.overrides]

    def test_a_worker_that_lives_declares_its_model_to_the_run_that_begins_anew(self):
        with self.crew() as crew:
            crew.until_examples(1000)
            crew.kill("chief")
            crew.add_chief(crew.address, "--fresh-once=another")
            crew.until_examples(1000, timeout=30)
            self.assertIsNone(crew.processes["worker-0"].poll(), "the same process trains")
            self.assertEqual(crew.log("worker-0").count("the job's model is declared"), 2)

    def test_a_worker_whose_program_was_given_other_settings_ends_and_the_next_one_has_the_new_ones(self):
        with self.crew(overrides=list(SETTINGS)) as crew:
            crew.until_examples(1000)
            crew.kill("chief")
            self.change(crew, SETTINGS)
            crew.add_chief(crew.address, "--fresh-once=another")
            self.assertEqual(crew.end_of("worker-0"), 1)
            before = crew.log("worker-0")
            self.assertIn("job clicks is another one than this program was given: train.batch_size was 125 and is 100; train.gradient was mean and "
                          "is sum; it ends, to be started again", before)
            self.assertIn(125, self.scales(before))
            self.assertNotIn(1, self.scales(before), "no step of the new job")
            self.assertNotIn("fails", " ".join(crew.status().warnings), "nothing is wrong with the program")
            crew.add_worker("worker-0")
            self.assertEqual(crew.end_of("ps-0"), 1, "its batches are others")
            crew.add_shard(0)
            crew.until_examples(1000)
            self.assertEqual(self.scales(crew.log("worker-0")[len(before):]), {1})

    def test_a_program_is_given_the_job_that_goes_on_and_not_what_its_file_has_become(self):
        with self.crew(overrides=[*SETTINGS, "checkpoint.every=1s"], chief_flags=["--on-changed-job=keep"]) as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            self.change(crew, SETTINGS)
            crew.restart_chief()
            crew.add_worker("worker-1")
            crew.until(lambda: "scale" in crew.log("worker-1"), "a step of the new worker")
            self.assertIn(125, self.scales(crew.log("worker-1")))
            self.assertNotIn(1, self.scales(crew.log("worker-1")))
            for name in ("worker-0", "worker-1"):
                self.assertIsNone(crew.processes[name].poll(), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
