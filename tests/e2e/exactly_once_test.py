"""Every record is trained exactly once an epoch, whatever happens to the workers."""

import collections
import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew
from ledger import ledger_job, ledger_times
from ledger_case import LedgerCase, PACE, POLICIES, RECORDS


class ExactlyOnceTest(LedgerCase):

    def crew(self, policy, train="", epochs=2, **settings):
        return Crew(ledger_job([self.data], update=POLICIES[policy], epochs=epochs, train=train), name=policy,
                    **settings)

    def check(self, crew):
        last = crew.wait()
        self.assertEqual(last.examples, 2 * RECORDS)
        self.assertEqual(set(ledger_times(crew.predict(self.data))), {2})

    def check_aggregated(self, crew):
        """Each record was part of one mean: a third of its gradient counts, or, where fewer were gathered when they
        were flushed, a half or all of it. Trained twice it would count for two thirds or more, lost for nothing."""
        self.assertEqual(crew.wait().examples, RECORDS)
        sixths = collections.Counter(ledger_times(crew.predict(self.data), whole=6))
        self.assertLessEqual(set(sixths), {2, 3, 6}, sixths)
        self.assertGreater(sixths[2], RECORDS * 3 // 4, sixths)

    def kill_one_and_bring_it_back(self, policy, how=signal.SIGKILL):
        with self.crew(policy, workers=3, pace=PACE) as crew:
            crew.until_examples(RECORDS // 8)
            code = crew.kill("worker-1", how)
            self.assertEqual(code, -how if how == signal.SIGKILL else 0)
            crew.until_examples(RECORDS // 4)
            crew.add_worker("worker-1")
            self.check(crew)

    def test_a_round_waits_for_a_dead_worker_until_its_lease_is_over_and_one_step(self):
        """To the tenth of a second, with times that are given: ChiefLanesTest. Here in whole leases."""
        lease = 5.0
        with Crew(ledger_job([self.data], update=POLICIES["sync"], epochs=4).replace("worker_lease: 2s", "worker_lease: 5s"),
                  workers=3, pace=PACE, exit_when_done=False) as crew:
            crew.until(lambda: len(crew.status().workers) == 3, "every worker, so that each has a lane")
            crew.until_examples(crew.status().examples + RECORDS // 8)
            killed = time.monotonic()
            crew.kill("worker-1")
            crew.until(lambda: crew.status().tasks.expirations == 1, "the end of the lease", 2 * lease)
            # What the dead one had told of is not older than its lease's last renewal, a heartbeat before.
            self.assertGreater(time.monotonic() - killed, lease - 1)
            stood = crew.status().round
            crew.until(lambda: crew.status().round > stood + 1, "rounds with its heir", killed + 2 * lease - time.monotonic())

    def test_async_survives_a_killed_worker(self):
        self.kill_one_and_bring_it_back("async")

    def test_async_survives_a_worker_asked_to_stop(self):
        self.kill_one_and_bring_it_back("async", signal.SIGTERM)

    def test_ssp_survives_a_killed_worker(self):
        self.kill_one_and_bring_it_back("ssp")

    def test_sync_survives_a_killed_worker(self):
        self.kill_one_and_bring_it_back("sync")

    def test_sync_survives_a_worker_asked_to_stop(self):
        self.kill_one_and_bring_it_back("sync", signal.SIGTERM)

    def test_sync_with_backup_workers_survives_a_killed_worker(self):
        self.kill_one_and_bring_it_back("backup")

    def test_backup_workers_drop_gradients_but_no_record(self):
        with self.crew("backup", workers=4, pace={"worker-3": 20}) as crew:
            self.check(crew)

    def test_several_compute_threads_train_every_record_once(self):
        for policy in ("async", "ssp", "sync", "backup"):
            with self.subTest(policy), self.crew(policy, train="compute_threads: 3", workers=2) as crew:
                self.check(crew)

    def test_a_worker_of_several_compute_threads_may_die(self):
        for policy in ("async", "sync"):
            with self.subTest(policy), self.crew(policy, train="compute_threads: 2", workers=2, pace=PACE) as crew:
                crew.until_examples(RECORDS // 8)
                crew.kill("worker-1")
                crew.add_worker("worker-1")
                self.check(crew)

    def test_every_worker_may_die(self):
        with self.crew("async", workers=2, pace=PACE) as crew:
            crew.until_examples(RECORDS // 8)
            crew.kill("worker-0")
            crew.kill("worker-1")
            crew.add_worker("worker-2")
            self.check(crew)

    def test_aggregation_counts_every_record_once(self):
        with self.crew("aggregate", epochs=1, workers=3) as crew:
            self.check_aggregated(crew)

    def test_aggregation_survives_a_killed_worker(self):
        with self.crew("aggregate", epochs=1, workers=3, pace=PACE) as crew:
            crew.until_examples(RECORDS // 8)
            crew.kill("worker-1")
            crew.until_examples(RECORDS // 4)
            crew.add_worker("worker-1")
            self.check_aggregated(crew)


if __name__ == "__main__":
    unittest.main(verbosity=2)
