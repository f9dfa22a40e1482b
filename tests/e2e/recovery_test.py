"""A shard is lost, and the job goes on without loss but that of the updates since the last checkpoint, which are
trained again, or, with recovery: partial, counted."""

import pathlib
import signal
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import chief_pb2, has_failpoints
from ledger import ledger_times
from ledger_case import BATCH, LedgerCase, PACE, QUICK, RECORDS


class RecoveryTest(LedgerCase):

    def kill_each_shard(self, policy):
        with self.crew(policy) as crew:
            for index, part in ((0, 8), (1, 2)):
                crew.until_examples(RECORDS // part)
                crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
                crew.restart_shard(index)
                crew.until(lambda: len(crew.status().losses) == index + 1, "the recovery")
                self.assertIn(f"shard {index} was started anew", crew.status().losses[-1].cause)
                self.assertNotEqual(crew.status().losses[-1].checkpoint, "")
            crew.hurry()
            self.check_exact(crew)

    def test_async_survives_each_shard(self):
        self.kill_each_shard("async")

    def test_ssp_survives_each_shard(self):
        self.kill_each_shard("ssp")

    def test_sync_survives_each_shard(self):
        self.kill_each_shard("sync")

    def test_sync_ends_with_the_same_bits(self):
        with self.crew("sync", every=None, pace=QUICK) as crew:
            crew.wait(180)
            expected = crew.fingerprint()
        with self.crew("sync") as crew:
            crew.until_examples(RECORDS // 2)
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            crew.restart_shard(1)
            crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
            crew.hurry()
            crew.wait(180)
            self.assertEqual(crew.fingerprint(), expected)

    def test_without_a_checkpoint_it_begins_again(self):
        with self.crew(every=None) as crew:
            crew.until_examples(RECORDS // 8)
            crew.restart_shard(1)
            crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
            self.assertEqual(crew.status().losses[0].checkpoint, "")
            crew.hurry()
            self.check_exact(crew)

    @unittest.skipUnless(has_failpoints(), "these programs are built without CAPSTAN_FAILPOINTS")
    def test_a_shard_that_restores_is_alive_and_not_ready(self):
        with self.crew() as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            # Half of the 16 partitions, two at a time: four seconds.
            crew.environment["ps-0"] = {"CAPSTAN_FAILPOINTS": "load.partition_loaded=delay(1000)"}
            crew.kill("ps-0")
            logged = len(crew.log("ps-0"))
            crew.add_shard(0)
            seen, deadline = [], time.monotonic() + 60
            while "SERVING" not in seen and time.monotonic() < deadline:
                health = crew.health("ps-0")
                self.assertEqual(health["liveness"], "SERVING")
                seen.append(health["readiness"])
            self.assertGreater(seen.count("NOT_SERVING"), 3)
            crew.until(lambda: " loaded" in crew.log("ps-0")[logged:], "the partitions, before it is ready", timeout=2)
            crew.hurry()
            self.check_exact(crew)

    def test_with_partial_the_others_go_on_and_what_is_missing_is_told(self):
        with self.crew(every="1h", overrides=["recovery=partial"]) as crew:
            crew.until_examples(RECORDS // 4)
            crew.call("TakeCheckpoint", chief_pb2.TakeCheckpointRequest(), chief_pb2.TakeCheckpointReply)
            crew.until_examples(RECORDS)  # Much that is not saved, and that heartbeats have told of.
            crew.restart_shard(1)
            crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
            loss = crew.status().losses[0]
            self.assertIn("shard 1 was started anew", loss.cause)
            self.assertEqual((loss.examples, loss.timeline), (0, 1))
            last = crew.wait(180)
            self.assertEqual(last.examples, 2 * RECORDS)
            self.assertEqual(len(last.losses), 1)
            times = ledger_times(crew.predict(self.data))
            self.assertTrue(set(times) <= {0, 1, 2}, set(times))
            missing = sum(2 - each for each in times)
            self.assertGreater(missing, 0)
            self.assertLessEqual(missing, BATCH * last.losses[0].batches)
            self.assertGreater(last.losses[0].tables[0].updates, 0)

    def test_chief_and_shard_at_once(self):
        with self.crew() as crew:
            crew.until_examples(RECORDS // 8)
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            crew.kill("ps-1")
            crew.restart_chief()
            crew.until(lambda: "shard 1" in crew.status().waiting_for, "that it waits for the shard")
            crew.add_shard(1)
            crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
            crew.hurry()
            self.check_exact(crew)

    def test_a_shard_that_is_asked_to_stop_leaves_nothing_behind(self):
        with self.crew(every="1h", pace=4 * PACE) as crew:
            crew.until_examples(RECORDS // 4)
            self.assertEqual(crew.kill("ps-1", signal.SIGTERM), 0)
            # The other shard has taken what it had: nobody had to save, and nobody returns.
            status = crew.status()
            self.assertEqual([shard.partitions for shard in status.shards if shard.index == 0], [16])
            self.assertEqual(status.checkpoint.taken, 0)
            crew.add_shard(1)
            crew.until(lambda: [shard.partitions for shard in crew.status().shards] == [8, 8], "its partitions")
            crew.hurry()
            self.assertEqual(len(self.check_exact(crew).losses), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
