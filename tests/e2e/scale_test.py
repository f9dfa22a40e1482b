"""Three shards and twenty workers in one small job, in every policy, and ten and a hundred in rounds, of which some are killed.
`tests/scale` has ten and a hundred in every policy."""

import contextlib
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import view_pb2
from ledger import ledger_times, write_ledger_file
from scale import crowd

SHARDS, WORKERS = 3, 20
TASK_RECORDS = 128
RECORDS = 8 * WORKERS * TASK_RECORDS
IDLE_WORKER_BYTES = 40 << 20  # The bar.


def connections(pid, port):
    """How many TCP connections the process has to this port."""
    mine = set()
    for descriptor in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # Closed meanwhile.
            mine.add(os.readlink(descriptor))
    sockets = [line.split() for family in ("tcp", "tcp6")
               for line in pathlib.Path(f"/proc/{pid}/net/{family}").read_text().splitlines()[1:]]
    return sum(socket[2].endswith(f":{port:04X}") and socket[3] == "01" and f"socket:[{socket[9]}]" in mine for socket in sockets)


class ScaleTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.data = pathlib.Path(self.scratch.name) / "records.csv"
        write_ledger_file(self.data, RECORDS)

    def tearDown(self):
        self.scratch.cleanup()

    def completes(self, policy):
        with crowd(policy, self.data, SHARDS, WORKERS) as crew:
            last = crew.until_state("COMPLETED", "FAILED", timeout=60)
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            self.assertEqual(last.examples, RECORDS)
            crew.until(lambda: len(crew.status().workers) == WORKERS, "every worker", 60)
            self.assertEqual(crew.status().tasks.expirations, 0, "a live worker was taken for dead")
            if policy != "aggregate":
                self.assertEqual(set(ledger_times(crew.predict(self.data))), {1})

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

    def test_a_hundred_workers_and_ten_shards_outlive_a_worker_a_shard_and_the_chief(self):
        workers, shards, patience = 100, 10, 240
        records = 4 * workers * TASK_RECORDS
        write_ledger_file(self.data, records)
        with crowd("sync", self.data, shards, workers, ["checkpoint.every=2s"]) as crew:
            crew.until(lambda: len(crew.status().workers) == workers, "every worker", patience)
            for part, name in ((0.2, "worker-7"), (0.4, "ps-3"), (0.6, "chief")):
                crew.until_examples(part * records, patience)
                crew.kill(name)
                crew.hang_up()
                crew.add_again(name)
            last = crew.until_state("COMPLETED", "FAILED", timeout=patience)
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            self.assertEqual(last.examples, records)
            self.assertEqual(set(ledger_times(crew.predict(self.data))), {1})

    def test_an_idle_worker_is_small(self):
        with crowd("async", self.data, SHARDS, workers=2) as crew:
            crew.until_state("COMPLETED", timeout=60)
            crew.add_worker("late")  # There is nothing left to do for it.
            crew.until(lambda: "parked" in crew.log("late"), "parking")
            self.assertLess(crew.resident_bytes("late"), IDLE_WORKER_BYTES)

    def test_the_threads_of_a_worker_share_a_connection_to_each_shard(self):
        # Under ssp eight of them do, as those that wait for slower ones must not take all calls of a connection.
        for policy, threads, expected in (("async", 12, 1), ("ssp", 4, 1), ("ssp", 12, 2)):
            with self.subTest(policy=policy, threads=threads), \
                    crowd(policy, self.data, 2, 1, overrides=[f"train.compute_threads={threads}"]) as crew:
                crew.until_examples(RECORDS // 4)
                worker = crew.processes["worker-0"].pid
                for shard in ("ps-0", "ps-1"):
                    self.assertEqual(connections(worker, crew.ports(shard)["data"]), expected, shard)
                crew.until_state("COMPLETED", timeout=60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
