"""Each update policy does what it promises when one worker is ten times as slow as the others."""

import math
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew, series, view_pb2
from ledger import ledger_job, ledger_times, write_ledger_file

BATCH = 1024
FAST, SLOW = 20, 200  # Milliseconds a step: sleeps, which need no core.
RECORD_BYTES = 11  # Of the ledger's file.


def crowd(workers):
    """`workers` workers; the last one is ten times as slow as the others."""
    return {f"worker-{i}": SLOW if i == workers - 1 else FAST for i in range(workers)}


class PoliciesTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.data = pathlib.Path(self.scratch.name) / "records.csv"

    def tearDown(self):
        self.scratch.cleanup()

    def crew(self, update, records, workers=3, pace=None, overrides=(), batch=BATCH, **settings):
        self.records = records
        write_ledger_file(self.data, records)
        return Crew(ledger_job([self.data], update=update, batch=batch), workers=workers,
                    pace=crowd(workers) if pace is None else pace, exit_when_done=False,
                    overrides=[f"data.task_bytes={4 * batch * RECORD_BYTES}", "partition_count=8",
                               *overrides], **settings)

    def finish(self, crew, timeout=60):
        """Until the job is completed: every record was trained exactly once."""
        last = crew.until_state("COMPLETED", "FAILED", timeout=timeout)
        self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
        self.assertEqual(last.examples, self.records)
        self.assertEqual(set(ledger_times(crew.predict(self.data))), {1})
        return last

    def steps(self, crew, name):
        return series(crew.scrape(name), "capstan_worker_steps_total").get("", 0)

    @staticmethod
    def runs(crew):
        return crew.status().state == view_pb2.JOB_STATE_RUNNING

    def sum_of(self, crew, name):
        return sum(series(crew.scrape("ps-0"), name).values())

    def test_a_schedule_is_followed_though_the_job_is_over_before_the_first_heartbeat(self):
        # With a warm-up over the first half three quarters of the records are trained with at least half of
        # the full rate, and count as trained once.
        batch, batches = 64, 200
        with self.crew("sparse: {policy: async}", batch * batches, batch=batch,
                       pace=4,
                       overrides=["heartbeat=20s", "worker_lease=60s",
                                  f"data.task_bytes={batch * batches * RECORD_BYTES // 3}",
                                  f"optimizer.sparse.schedule={{warmup_examples: {batch * batches // 2}}}"]) as crew:
            crew.until_state("COMPLETED", timeout=60)
            times = ledger_times(crew.predict(self.data))
            self.assertEqual(set(times), {0, 1})
            self.assertAlmostEqual(sum(times) / len(times), 0.75, delta=0.08)

    # ---- ssp ----

    def lags_of_ssp(self, staleness, batches):
        """Every lag that was seen, and the seconds that pulls waited.

        Who joins starts at the slowest clock that the chief has heard of, which may be some steps old: the
        others wait until it has come within the bound. Lags count from then on, and once each has finished a step of its own: what was
        granted to the others before it joined is over by then."""
        lags, settled = set(), set()
        with self.crew(f"sparse: {{policy: ssp, staleness: {staleness}}}", batches * BATCH) as crew:
            crew.until_examples(1)
            crew.until(lambda: all(self.steps(crew, f"worker-{index}") > 0 for index in range(3)) or not self.runs(crew), "a step of each")
            while self.runs(crew):
                for shard in ("ps-0", "ps-1"):
                    text = crew.scrape(shard)
                    spread = series(text, "capstan_clock_spread_steps").get("", 0)
                    if series(text, "capstan_clock_members").get("") == 3 and spread <= staleness + 1:
                        settled.add(shard)
                    if shard in settled:
                        lags.add(spread)
            waited = self.sum_of(crew, "capstan_server_pull_wait_seconds_sum")
            self.finish(crew)
        return lags, waited

    def test_ssp_keeps_the_fast_within_the_bound_and_makes_them_wait_exactly_there(self):
        # A pull is granted to a worker that has finished at most `staleness` clocks more than the slowest;
        # once it has finished that very step it is one further. There it waits: the bound is reached.
        for staleness in (0, 2, 5):
            with self.subTest(staleness=staleness):
                lags, waited = self.lags_of_ssp(staleness, batches=60)
                self.assertEqual(max(lags), staleness + 1)
                self.assertGreater(waited, 0.5)

    def test_ssp_whose_bound_is_out_of_reach_waits_for_nobody(self):
        lags, waited = self.lags_of_ssp(1000, batches=150)
        self.assertGreater(max(lags), 10)
        self.assertLess(waited, 0.05)

    def test_ssp_takes_in_who_joins_late_and_lets_go_who_is_out_of_data(self):
        # Few tasks: at the end the fast ones find none, while the slow one works on; a newcomer starts at
        # the slowest clock and holds nobody up.
        with self.crew("sparse: {policy: ssp, staleness: 1}", 60 * BATCH, workers=2) as crew:
            crew.until_examples(15 * BATCH)
            crew.add_worker("worker-9")
            crew.until(lambda: crew.ports_file("worker-9").exists(), "the newcomer")
            crew.until(lambda: self.steps(crew, "worker-9") > 0, "the newcomer's first step")
            self.finish(crew)

    # ---- async ----

    def test_async_waits_for_nobody(self):
        with self.crew("sparse: {policy: async}", 200 * BATCH) as crew:
            self.finish(crew)
            slow, fast = self.steps(crew, "worker-2"), self.steps(crew, "worker-0")
            self.assertGreater(slow, 0)
            self.assertGreater(fast, 2 * slow)
            self.assertEqual(self.sum_of(crew, "capstan_server_pull_wait_seconds_count"), 0)

    def test_aggregation_makes_one_update_of_k_gradients(self):
        versions = {}
        for k in (1, 4):
            # One partition: every gradient reaches it, so its version counts the updates.
            with self.crew(f"sparse: {{policy: async, aggregate: {k}}}", 50 * BATCH, shards=1, pace=0,
                           overrides=["partition_count=1"]) as crew:
                crew.until_state("COMPLETED")
                # A worker tells of its last step a moment later.
                crew.until(lambda: sum(series(crew.scrape(f"worker-{i}"), "capstan_worker_samples_total")[""]
                                       for i in range(3)) == self.records, "the last steps")
                pushes = sum(self.steps(crew, f"worker-{i}") for i in range(3))
                versions[k] = math.ceil(pushes / k)  # The leftovers make one more.
                crew.until(lambda: self.sum_of(crew, "capstan_model_version") == versions[k],
                           f"version {versions[k]}", timeout=5)
                self.assertEqual(self.sum_of(crew, "capstan_aggregation_queued_gradients"), 0)
        self.assertGreater(versions[1], 3 * versions[4])

    # ---- sync ----

    def test_backup_workers_drop_what_comes_late_and_nothing_else(self):
        # How much faster it is: CoordinatorTest.ABackupWorkerGivesThePaceOfTheFast, in virtual time.
        for backup in (0, 1):
            update = f"sparse: {{policy: sync, lanes: 4, backup_workers: {backup}}}"
            with self.subTest(backup=backup), self.crew(update, 4 * 15 * BATCH, workers=4) as crew:
                self.finish(crew)
                late = sum(series(crew.scrape(f"worker-{i}"), "capstan_worker_late_gradients_total")[""]
                           for i in range(4))
                self.assertEqual(late > 0, backup > 0)

    def test_sync_takes_in_who_joins_late_and_goes_on_when_lanes_run_out(self):
        # 28 tasks on three lanes: one lane has data when the others have none.
        batch, tasks = 128, 28
        update = "sparse: {policy: sync, lanes: 3}"
        with self.crew(update, tasks * 4 * batch, workers=1, pace=0, batch=batch) as crew:
            crew.until_examples(5 * 4 * batch)
            crew.add_worker("worker-1")
            self.finish(crew)


if __name__ == "__main__":
    unittest.main(verbosity=2)
