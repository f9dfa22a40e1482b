"""The file of a job that runs is changed, as `helm upgrade` does it: the job goes on as it was, also under the next chief,
and says what of the change it does not do, and how to have it."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from ledger import RATE, ledger_times, write_ledger_file
from ledger_case import LedgerCase, RECORDS

PENDING = "capstan_job_change_pending"
EPOCHS = 6  # Of jobs that are looked at after several restarts: they are not to be over by then.


class ChangedJobTest(LedgerCase):

    def test_a_job_whose_file_changes_goes_on_as_it_was_and_tells_of_the_change(self):
        with self.crew(epochs=EPOCHS, chief_flags=["--on-changed-job=keep"]) as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            before = crew.job_file.read_text()
            self.assertEqual(self.pending(crew), 0)
            self.change(crew, before.replace("batch_size: 4", "batch_size: 8"), "train.batch_size: 4 -> 8")
            crew.until(lambda: self.pending(crew) == 1, "the metric")
            timeline = crew.status().timeline
            crew.restart_chief()
            self.goes_on(crew, "train.batch_size: 4 -> 8")
            self.change(crew, before.replace("batch_size: 4", "batch_size: many"), "job.yaml:")
            crew.restart_chief()
            self.goes_on(crew, "job.yaml:")
            self.assertEqual(crew.status().timeline, timeline, "nothing was thrown away")
            crew.kill_all()
            crew.begin()
            self.goes_on(crew, "job.yaml:")
            self.change(crew, before, "")
            crew.until(lambda: self.pending(crew) == 0, "the metric")
            crew.hurry()
            self.check_exact(crew, EPOCHS)

    def test_a_file_with_mistakes_starts_nothing_over(self):
        with self.crew(chief_flags=["--on-changed-job=keep"]) as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            before = crew.job_file.read_text()
            crew.kill("chief")
            crew.job_file.write_text(before.replace("batch_size: 4", "batch_size: many"))
            crew.add_chief(crew.address, "--fresh-once=another time")
            self.assertEqual(crew.processes["chief"].wait(20), 2)
            crew.job_file.write_text(before)
            crew.add_chief(crew.address)
            crew.until_state("RUNNING")
            crew.hurry()
            self.check_exact(crew)

    def test_a_change_that_can_be_taken_up_awaits_the_next_chief(self):
        with self.crew(every=None, overrides=["checkpoint.keep=3"], chief_flags=["--on-changed-job=keep"]) as crew:
            crew.until_examples(RECORDS // 8)
            self.change(crew, crew.job_file.read_text() + "checkpoint: {every: 1s}\n", "taken up when the chief")
            crew.restart_chief()
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            self.assertEqual(crew.status().job_change, "")
            crew.hurry()
            self.check_exact(crew)

    def test_rounds_go_on_to_a_limit_that_is_raised(self):
        with self.crew("sync", every=None, batch=50, overrides=["train.max_steps=20"], chief_flags=["--on-changed-job=keep"]) as crew:
            crew.until_examples(5 * 3 * 50)
            timeline = crew.status().timeline
            crew.overrides[crew.overrides.index("train.max_steps=20")] = "train.max_steps=30"
            crew.restart_chief()
            last = crew.wait(120)
            self.assertEqual(last.timeline, timeline, "nothing was thrown away")
            self.assertGreater(last.examples, 20 * 3 * 50)  # The last batch of a task is smaller.
            self.assertLessEqual(last.examples, 30 * 3 * 50)

    def test_shards_train_a_fresh_start_as_its_file_says(self):
        with self.crew("sync", epochs=1) as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            crew.kill("chief")
            # One lane fewer would stand still, and twice the rate is twice the ledger, where a shard went by the job before.
            rate = f"learning_rate: {RATE}"
            text = crew.job_file.read_text().replace("lanes: 3", "lanes: 2")
            crew.job_file.write_text(text.replace(rate, f"learning_rate: {2 * RATE}"))
            crew.add_chief(crew.address, "--fresh-once=another rate")
            for index in range(crew.shards):
                self.assertEqual(crew.processes[f"ps-{index}"].wait(30), 1)
                self.assertIn("has begun anew", crew.log(f"ps-{index}"))
                crew.add_shard(index)
            last = crew.wait(180)
            self.assertEqual(last.examples, RECORDS)
            self.assertEqual(set(ledger_times(crew.predict(self.data))), {2})

    def test_data_that_come_while_the_job_runs_are_told_of_and_left_for_the_next_one(self):
        everything = f"data.train={self.folder.name}/*.csv"
        with self.crew(epochs=EPOCHS, overrides=[everything], chief_flags=["--on-changed-job=keep"]) as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            timeline = crew.status().timeline
            crew.kill("chief")
            write_ledger_file(self.data.with_name("tomorrow.csv"), RECORDS, first=RECORDS)
            with open(self.data, "a") as file:
                file.write("1,late\n")
            crew.add_chief(crew.address)
            self.goes_on(crew, "1 file more")
            self.assertIn("1 file longer", crew.status().job_change)
            crew.until(lambda: self.pending(crew) == 1, "the metric")
            self.assertEqual(crew.status().timeline, timeline, "nothing was thrown away")
            crew.kill_all()
            crew.begin()
            self.goes_on(crew, "1 file more")
            crew.hurry()
            last = crew.wait(180)
            self.assertEqual(last.examples, EPOCHS * RECORDS)
            self.assertEqual(ledger_times(crew.predict(self.data)), [EPOCHS] * RECORDS + [0])
            self.assertEqual(set(ledger_times(crew.predict(self.data.with_name("tomorrow.csv")))), {0})

    def test_data_that_go_stop_the_job_until_they_are_back(self):
        with self.crew(chief_flags=["--on-changed-job=keep"]) as crew:
            crew.until_examples(RECORDS // 8)
            text = self.data.read_text()
            crew.kill_all()  # Nobody reads what is not there.
            self.data.write_text(text[:len(text) // 2])
            crew.add_chief(crew.address)
            self.assertEqual(crew.processes["chief"].wait(20), 2)
            self.assertIn(f"1 file shorter ({self.data})", crew.log("chief"))
            self.data.write_text(text)
            crew.begin()
            crew.until_state("RUNNING")
            crew.hurry()
            self.check_exact(crew)

    def change(self, crew, text, told):
        crew.job_file.write_text(text)
        if told:
            crew.until(lambda: told in crew.status().job_change, f"word of {told!r}")
        else:
            crew.until(lambda: crew.status().job_change == "", "no change any more")

    def goes_on(self, crew, told):
        crew.until_state("RUNNING")
        crew.until(lambda: told in crew.status().job_change, f"word of {told!r}")
        examples = crew.status().examples
        crew.until(lambda: crew.status().examples > examples, "training that goes on")

    def pending(self, crew):
        return next(float(line.split()[-1]) for line in crew.scrape("chief").splitlines() if line.startswith(PENDING))


if __name__ == "__main__":
    unittest.main(verbosity=2)
