"""Every record is trained exactly once an epoch, whatever happens to the workers."""

import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew
from ledger import ledger_job, ledger_times
from ledger_case import LedgerCase, POLICIES, RECORDS


class ExactlyOnceTest(LedgerCase):

    def crew(self, policy, train="", **settings):
        return Crew(ledger_job([self.data], update=POLICIES[policy], epochs=2, train=train), name=policy,
                    **settings)

    def check(self, crew):
        last = crew.wait()
        self.assertEqual(last.examples, 2 * RECORDS)
        times = ledger_times(crew.predict(self.data))
        if crew.aggregates:  # The mean of 3 gradients is a third of each, or half of each when flushed.
            self.assertEqual(len(times), RECORDS)
            return
        self.assertEqual(set(times), {2})

    def kill_one_and_bring_it_back(self, policy, how=signal.SIGKILL):
        slow = {"worker-0": 20, "worker-1": 20, "worker-2": 20}
        with self.crew(policy, workers=3, slow=slow) as crew:
            crew.aggregates = False
            crew.until_examples(RECORDS // 8)
            code = crew.kill("worker-1", how)
            self.assertEqual(code, -how if how == signal.SIGKILL else 0)
            crew.until_examples(RECORDS // 4)
            crew.add_worker("worker-1")
            self.check(crew)

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
        with self.crew("backup", workers=4, slow={"worker-3": 50}) as crew:
            crew.aggregates = False
            self.check(crew)

    def test_several_compute_threads_train_every_record_once(self):
        for policy in ("async", "ssp", "sync", "backup"):
            with self.subTest(policy), self.crew(policy, train="compute_threads: 3", workers=2) as crew:
                crew.aggregates = False
                self.check(crew)

    def test_a_worker_of_several_compute_threads_may_die(self):
        slow = {"worker-0": 20, "worker-1": 20}
        for policy in ("async", "sync"):
            with self.subTest(policy), self.crew(policy, train="compute_threads: 2", workers=2, slow=slow) as crew:
                crew.aggregates = False
                crew.until_examples(RECORDS // 8)
                crew.kill("worker-1")
                crew.add_worker("worker-1")
                self.check(crew)

    def test_every_worker_may_die(self):
        with self.crew("async", workers=2, slow={"worker-0": 20, "worker-1": 20}) as crew:
            crew.aggregates = False
            crew.until_examples(RECORDS // 8)
            crew.kill("worker-0")
            crew.kill("worker-1")
            crew.add_worker("worker-2")
            self.check(crew)

    def test_aggregation_counts_every_record(self):
        with self.crew("aggregate", workers=3) as crew:
            crew.aggregates = True
            self.check(crew)


if __name__ == "__main__":
    unittest.main(verbosity=2)
