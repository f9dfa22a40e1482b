"""Many shards and many workers in one small job, in every policy.

3 shards and 20 workers; with CAPSTAN_SCALE=all 10 and 100, which wants some minutes of two cores. Times and
memory are printed.
"""

import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew, view_pb2
from ledger import ledger_job, ledger_times, write_ledger_file

ALL = os.environ.get("CAPSTAN_SCALE") == "all"
SHARDS, WORKERS = (10, 100) if ALL else (3, 20)
TASKS, BATCH = 8 * WORKERS, 32
RECORDS = TASKS * 128
IDLE_WORKER_BYTES = 40 << 20  # The bar.
TIMEOUT = 240 if ALL else 60
# A hundred processes on two cores may be silent for a while without being dead.
PATIENCE = "worker_lease: 10s\nheartbeat: 500ms\n" if ALL else "worker_lease: 4s\nheartbeat: 300ms\n"

POLICIES = {
    "async": "{policy: async}",
    "aggregate": "{policy: async, aggregate: 4}",
    "ssp": "{policy: ssp, staleness: 3}",
    "sync": f"{{policy: sync, lanes: {WORKERS}}}",
    "backup": f"{{policy: sync, lanes: {WORKERS}, backup_workers: {WORKERS // 10}}}",
}


class ScaleTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.data = pathlib.Path(self.scratch.name) / "records.csv"
        write_ledger_file(self.data, RECORDS)

    def tearDown(self):
        self.scratch.cleanup()

    def crew(self, policy):
        job = ledger_job([self.data], update=f"sparse: {POLICIES[policy]}", batch=BATCH)
        job = job.replace("worker_lease: 2s\nheartbeat: 200ms\n", PATIENCE)
        return Crew(job, shards=SHARDS, workers=WORKERS, name=policy, exit_when_done=False,
                    overrides=["data.task_bytes=1408", "partition_count=64"])

    def completes(self, policy):
        began = time.monotonic()
        with self.crew(policy) as crew:
            started = time.monotonic()
            last = crew.until_state("COMPLETED", "FAILED", timeout=TIMEOUT)
            done = time.monotonic()
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            self.assertEqual(last.examples, RECORDS)
            crew.until(lambda: len(crew.status().workers) == WORKERS, "every worker", TIMEOUT)
            self.assertEqual(crew.status().tasks.expirations, 0, "a live worker was taken for dead")
            workers = [crew.resident_bytes(f"worker-{i}") for i in range(WORKERS)]
            shards = [crew.resident_bytes(f"ps-{i}") for i in range(SHARDS)]
            if policy != "aggregate":
                self.assertEqual(set(ledger_times(crew.predict(self.data))), {1})
        print(f"{policy}: {SHARDS} shards, {WORKERS} workers: started in {started - began:.1f} s, done after "
              f"{done - started:.1f} s ({last.global_step} steps); MiB of a worker {max(workers) / 2**20:.0f}, "
              f"of a shard {max(shards) / 2**20:.0f}", file=sys.stderr)
        return workers

    def test_async(self):
        self.completes("async")

    def test_aggregation(self):
        self.completes("aggregate")

    def test_ssp(self):
        self.completes("ssp")

    def test_sync_with_a_lane_a_worker(self):
        self.completes("sync")

    def test_sync_with_backup_workers(self):
        self.completes("backup")

    def test_an_idle_worker_is_small(self):
        with self.crew("async") as crew:
            crew.until_state("COMPLETED", timeout=TIMEOUT)
            crew.add_worker("late")  # There is nothing left to do for it.
            crew.until(lambda: "parked" in crew.log("late"), "parking")
            self.assertLess(crew.resident_bytes("late"), IDLE_WORKER_BYTES)


if __name__ == "__main__":
    unittest.main(verbosity=2)
