"""Shards come and go while a job trains: nobody waits, nothing is thrown away, every record is trained exactly once.
chaos/move_failpoints_test.py kills chief and shards meanwhile."""

import pathlib
import signal
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import BINARIES
from ledger_case import LedgerCase, QUICK, RECORDS

PARTITIONS = 16
SLOW = 60  # Milliseconds a step: workers that would train for longer than any test takes.


class MovesTest(LedgerCase):

    def setUp(self):
        super().setUp()
        self.stood_still = []  # Seconds, of the last switch after each change.

    def crew(self, policy, **settings):
        return super().crew(policy, every=None, epochs=1, **{"pace": SLOW, "workers": 2, **settings})

    # ---- what happens ----

    def owned(self, crew, status=None):
        """{shard: partitions}, of those that own any."""
        return {shard.index: shard.partitions for shard in (status or crew.status()).shards if shard.partitions > 0}

    def until_owners(self, crew, *owners):
        """Until these have all partitions, each its share, and everybody has heard of it."""
        share = PARTITIONS // len(owners)
        def even():
            status = crew.status()
            owned = self.owned(crew, status)
            return not status.moves.under_way and set(owned) == set(owners) and min(owned.values()) >= share // 2
        crew.until(even, f"partitions on {owners}", 30)

    def grow(self, crew, *joining):
        for index in joining:
            crew.add_shard(index)
        self.until_owners(crew, *sorted({*self.owned(crew), *joining}))
        self.stood_still.append(crew.status().moves.seconds)

    def shrink(self, crew, *leaving):
        for index in leaving:
            crew.processes[f"ps-{index}"].send_signal(signal.SIGTERM)
        for index in leaving:
            self.assertEqual(crew.processes[f"ps-{index}"].wait(20), 0)
        self.assertFalse(set(self.owned(crew)) & set(leaving))
        self.stood_still.append(crew.status().moves.seconds)

    def check_undisturbed(self, crew, timeline):
        """Every record once an epoch, and no return to a checkpoint."""
        crew.hurry()
        last = self.check_exact(crew, epochs=1)
        self.assertEqual(last.timeline, timeline)
        self.assertEqual([loss.cause for loss in last.losses], [])
        return last

    def up_and_down(self, policy):
        """2 -> 4 -> 1 -> 3 shards, and one of them restarted; the crew, to be looked at, when the job is over."""
        crew = self.crew(policy)
        self.addCleanup(crew.__exit__, None, None, None)
        crew.__enter__()
        crew.until_examples(200)
        timeline = crew.status().timeline
        self.grow(crew, 2, 3)
        moved = crew.status().moves.moved
        self.assertGreaterEqual(moved, PARTITIONS // 2 - 1)
        self.shrink(crew, 0, 2, 3)  # Of them 0 has the partition with the rounds.
        self.assertEqual(self.owned(crew), {1: PARTITIONS})
        self.grow(crew, 0, 3)
        self.shrink(crew, 1)
        self.grow(crew, 1)  # Restarted: emptied before, and filled after.
        trained = crew.status().examples
        crew.until_examples(trained + 40)
        self.check_undisturbed(crew, timeline)
        print(f"{policy}: partitions stood still for at most {1000 * max(self.stood_still):.0f} ms", file=sys.stderr)
        return crew

    def test_async(self):
        self.up_and_down("async")

    def test_ssp(self):
        self.up_and_down("ssp")

    def test_sync_ends_with_the_bits_of_a_run_that_nobody_disturbed(self):
        moved = self.up_and_down("sync")
        with self.crew("sync", pace=QUICK) as alone:
            self.check_exact(alone, epochs=1)
            difference = subprocess.run([BINARIES / "capstan", "checkpoint", "diff", moved.manifest().parent,
                                         alone.manifest().parent], check=True, capture_output=True, text=True)
            self.assertEqual(moved.fingerprint(), alone.fingerprint(), difference.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
