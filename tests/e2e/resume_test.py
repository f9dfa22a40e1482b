"""A job that was killed, whole or only its chief, goes on from what is stored: every record is trained exactly once
an epoch, and a synchronous model ends with the very same bits."""

import json
import os
import pathlib
import socket
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from freezing import frozen
from ledger import ledger_times
from ledger_case import LedgerCase, QUICK, RECORDS


class ResumeTest(LedgerCase):

    # ---- everything ----

    def kill_everything_twice(self, policy):
        with self.crew(policy) as crew:
            for part in (8, 2):
                crew.until_examples(RECORDS // part)
                crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
                crew.kill_all()
                crew.begin()
                self.assertNotEqual(crew.until_resumed(), "")
            crew.hurry()
            last = self.check_exact(crew)
            self.assertLessEqual(len(last.losses), 2)

    def test_async_after_everything_was_killed_twice(self):
        self.kill_everything_twice("async")

    def test_ssp_after_everything_was_killed_twice(self):
        self.kill_everything_twice("ssp")

    def test_sync_after_everything_was_killed_twice(self):
        self.kill_everything_twice("sync")

    def test_sync_ends_with_the_same_bits_on_another_number_of_shards(self):
        with self.crew("sync", every=None, pace=QUICK) as crew:
            crew.wait(180)
            expected = crew.fingerprint()
        with self.crew("sync") as crew:
            crew.until_examples(RECORDS // 2)
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            crew.kill_all()
            crew.shards = 3
            crew.begin()
            crew.until_resumed()
            crew.hurry()
            crew.wait(180)
            self.assertEqual(crew.fingerprint(), expected)

    # ---- the chief ----

    def kill_the_chief_twice(self, policy):
        with self.crew(policy, every=None) as crew:
            for part in (8, 2):
                crew.until_examples(RECORDS // part)
                timeline = crew.status().timeline
                crew.restart_chief()
                began = time.monotonic()
                status = crew.until_state("RUNNING", "COMPLETED")
                crew.until(lambda: crew.status().waiting_for == "", "the shards")
                self.assertLess(time.monotonic() - began, 10)
                self.assertEqual(status.timeline, timeline, "nothing was thrown away")
            crew.hurry()
            last = self.check_exact(crew)
            self.assertEqual(len(last.losses), 0)
            self.assertEqual(last.term, 3)

    def test_async_survives_its_chief(self):
        self.kill_the_chief_twice("async")

    def test_ssp_survives_its_chief(self):
        self.kill_the_chief_twice("ssp")

    def test_sync_survives_its_chief(self):
        self.kill_the_chief_twice("sync")

    def test_training_goes_on_without_a_chief(self):
        with self.crew() as crew:
            crew.until_examples(RECORDS // 8)
            before = crew.scrape("worker-0")
            crew.kill("chief")
            time.sleep(1)
            after = crew.scrape("worker-0")
            self.assertNotEqual(steps(before), steps(after))
            for name in ("ps-0", "worker-0"):  # No pod is killed because the chief is away.
                self.assertEqual(crew.health(name)["liveness"], "SERVING", name)
            crew.add_chief(crew.address)
            crew.until_state("RUNNING")
            crew.hurry()
            self.check_exact(crew)

    def test_a_chief_that_wakes_up_after_another_has_come_stops(self):
        with self.crew() as crew:
            crew.until_examples(RECORDS // 8)
            old = crew.processes["chief"]
            with frozen(old):
                crew.add_chief("127.0.0.1:0", name="successor")
                crew.ports("successor")
            self.assertEqual(old.wait(20), 1)
            self.assertIn("another chief has taken this job over", crew.log("chief"))
            self.assertEqual(json.loads(state_file(crew).read_text())["term"], "2")

    def test_a_second_chief_is_refused_while_the_first_answers(self):
        with self.crew() as crew:
            crew.until_examples(RECORDS // 8)
            crew.add_chief("127.0.0.1:0", name="second")
            self.assertEqual(crew.processes["second"].wait(20), 2)
            said = crew.log("second")
            self.assertIn(f"the chief at {crew.address} on {socket.gethostname()} has had it since", said)
            self.assertIn("--take-over", said)
            self.assertEqual(json.loads(state_file(crew).read_text())["term"], "1")
            crew.hurry()
            last = self.check_exact(crew)
            self.assertEqual(len(last.losses), 0, "the first was not disturbed")

    def test_a_second_chief_takes_over_when_told_to(self):
        with self.crew() as crew:
            crew.until_examples(RECORDS // 8)
            old = crew.processes["chief"]
            crew.add_chief("127.0.0.1:0", "--take-over", name="second")
            self.assertEqual(old.wait(20), 1)
            self.assertIn("another chief has taken this job over", crew.log("chief"))

    def test_who_is_found_at_the_address_of_a_dead_chief_keeps_nobody_waiting(self):
        with self.crew() as crew:
            crew.until_examples(RECORDS // 8)
            old = crew.address
            crew.kill_all()
            with socket.create_server(("127.0.0.1", int(old.rpartition(":")[2]))):  # Never says a word.
                began = time.monotonic()
                crew.begin()
                self.assertLess(time.monotonic() - began, 8)
            old = crew.address
            crew.kill_all()
            with self.crew() as other:  # A job of the same name and term, kept elsewhere.
                other.kill_all()
                other.add_chief(old)
                other.ports("chief")
                crew.begin()
                crew.until_state("RUNNING")
                crew.hurry()
                self.check_exact(crew)

    # ---- what the store holds ----

    def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(self):
        with self.crew() as crew:
            crew.until(lambda: crew.status().checkpoint.taken >= 2, "2 checkpoints")
            crew.kill_all()
            newest = crew.manifest().parent
            victim = max(newest.glob("partition-*"), key=lambda path: path.stat().st_size)
            content = bytearray(victim.read_bytes())
            content[len(content) // 2] ^= 1
            victim.write_bytes(content)
            crew.begin()
            self.assertNotIn(newest.name, crew.until_resumed())
            self.assertIn("cannot load", crew.log("chief"))
            crew.hurry()
            self.check_exact(crew)

    def test_another_configuration_is_refused_with_the_difference(self):
        with self.crew() as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            crew.kill_all()
            crew.overrides.append("train.batch_size=8")
            crew.add_chief("127.0.0.1:0")
            self.assertEqual(crew.processes["chief"].wait(20), 2)
            self.assertIn("train.batch_size: 4 -> 8", crew.log("chief"))
            # --fresh starts over beside it.
            crew.begin("--fresh")
            crew.until_state("RUNNING", "COMPLETED")
            self.assertEqual(len(crew.status().losses), 0)
            crew.hurry()
            self.check_exact(crew)
            self.assertTrue((state_file(crew).parent / "chief-1.json").exists())

    def test_a_completed_job_says_so(self):
        with self.crew(exit_when_done=False, pace=QUICK) as crew:
            model = crew.until_state("COMPLETED", timeout=180).model_uri
            crew.restart_chief()
            status = crew.until_state("COMPLETED")
            self.assertEqual(status.model_uri, model)
            self.assertEqual(status.examples, 2 * RECORDS)

    def test_another_job_begins_with_its_parameters(self):
        with self.crew(exit_when_done=False, pace=QUICK) as crew:
            model = crew.until_state("COMPLETED", timeout=180).model_uri
            crew.kill_all()
            crew.exit_when_done = True
            crew.overrides = ["partition_count=16", f"checkpoint.uri={crew.folder / 'second'}"]
            crew.begin("--from", model)
            last = crew.wait(180)
            self.assertEqual(last.examples, 2 * RECORDS)
            scores = crew.predict_with(last.model_uri, self.data)
            self.assertEqual(set(ledger_times(scores)), {4})

    def test_another_optimizer_goes_on_with_its_weights(self):
        with self.crew(exit_when_done=False, pace=QUICK) as crew:
            model = crew.until_state("COMPLETED", timeout=180).model_uri
            before = crew.predict(self.data)
            crew.kill_all()
            crew.exit_when_done = True
            # With rate 0 nothing moves: what comes out is what was taken over.
            crew.overrides = ["partition_count=16", f"checkpoint.uri={crew.folder / 'second'}",
                              "optimizer.sparse.kind=adagrad", "optimizer.sparse.learning_rate=1e-30"]
            crew.begin("--from", model)
            last = crew.wait(180)
            self.assertEqual(crew.predict_with(last.model_uri, self.data), before)

    def test_keeps_as_many_checkpoints_as_asked(self):
        # At least ten seconds on any machine, and a checkpoint a second.
        with self.crew(exit_when_done=False, epochs=4, pace=4) as crew:
            crew.until(lambda: crew.status().checkpoint.taken >= 5, "5 checkpoints", timeout=120)
            crew.until(lambda: len(crew.manifests()) <= 4, "pruning")
            self.assertGreaterEqual(len(crew.manifests()), 3)


def steps(scrape):
    return [line for line in scrape.splitlines() if line.startswith("capstan_worker_steps_total")]


def state_file(crew):
    return next(crew.folder.glob("model/*/state/chief.json"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
