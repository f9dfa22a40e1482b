"""With replicas: 1 each partition is on two shards. One that dies is replaced by those that back it up: nobody returns
to a checkpoint, nothing that was acknowledged is lost, and synchronous jobs end with the bits of a run without it."""

import contextlib
import pathlib
import signal
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import BINARIES, watch_view
from freezing import frozen
from ledger import ledger_times
from ledger_case import LedgerCase, QUICK, RECORDS

PARTITIONS = 16
SHARDS = 3
SLOW = 30  # Milliseconds a step: the job lasts until all is said.
LEASE = 1.0  # Seconds, of a shard.
SOON = 0.8  # Seconds within which a shard whose process has ended is replaced.
SILENT = 2 * LEASE  # The same, if it is only silent.


class ReplicasTest(LedgerCase):

    def crew(self, policy, **settings):
        overrides = ["replicas=1", f"shard_lease={LEASE}s", *settings.pop("overrides", ())]
        return super().crew(policy, every=None, epochs=1, overrides=overrides,
                            **{"pace": SLOW, "workers": 2, "shards": SHARDS, **settings})

    # ---- what happens ----

    def until_paired(self, crew, shards=SHARDS, timeout=40):
        """Until every partition has a backup, and so many shards have their share."""
        def paired():
            status = crew.status()
            at_work = [shard for shard in status.shards if shard.partitions > 0]
            return (status.replicas.paired == PARTITIONS and not status.moves.under_way and
                    len(at_work) >= shards)
        crew.until(paired, f"a backup of each partition, on {shards} shards", timeout)
        return crew.status()

    def until_replaced(self, crew, before):
        """Until another promotion than those before has come; seconds from now."""
        begin = time.monotonic()
        crew.until(lambda: crew.status().replicas.promotions > before.replicas.promotions, "a promotion", 20)
        return time.monotonic() - begin

    def until_more(self, crew, examples=40):
        crew.until_examples(crew.status().examples + examples, 30)

    def check_undisturbed(self, crew, timeline, shares=frozenset({6})):
        """Every record once, with so many sixths of its gradient, and no return to a checkpoint."""
        crew.hurry()
        last = crew.wait(180)
        self.assertEqual(last.examples, RECORDS)
        self.assertLessEqual(set(ledger_times(crew.predict(self.data), whole=6)), shares)
        self.assertEqual(last.timeline, timeline)
        self.assertEqual([loss.cause for loss in last.losses], [])
        return last

    def kill_each(self, policy, victims=(0, 1), shares=frozenset({6})):
        """One shard after the other, each once all partitions have a backup again; the crew when the job is over. Shard 0
        coordinates rounds."""
        crew = self.crew(policy)
        self.addCleanup(crew.__exit__, None, None, None)
        crew.__enter__()
        crew.until_examples(40)
        took = []
        for victim in victims:
            before = self.until_paired(crew)
            self.until_more(crew)
            crew.kill(f"ps-{victim}")
            took.append(self.until_replaced(crew, before))
            self.until_more(crew)
            self.assertEqual(crew.status().timeline, before.timeline)
            crew.add_shard(victim)
        self.check_undisturbed(crew, before.timeline, shares)
        print(f"{policy}: replaced after {', '.join(f'{1000 * each:.0f}' for each in took)} ms", file=sys.stderr)
        self.assertLess(sorted(took)[len(took) // 2], SOON)
        return crew

    def test_async(self):
        self.kill_each("async")

    def test_aggregate(self):
        """Each record is part of one mean: of three, or of those that were queued when a copy was taken."""
        self.kill_each("aggregate", shares={2, 3, 6})

    def test_ssp(self):
        self.kill_each("ssp")

    def test_backup_workers(self):
        self.kill_each("backup")

    def test_sync_ends_with_the_bits_of_a_run_that_nobody_disturbed(self):
        killed = self.kill_each("sync", victims=(0, 1, 2))
        with super().crew("sync", every=None, epochs=1, pace=QUICK) as alone:
            self.check_exact(alone, epochs=1)
            difference = subprocess.run([BINARIES / "capstan", "checkpoint", "diff", killed.manifest().parent,
                                         alone.manifest().parent], check=True, capture_output=True, text=True)
            self.assertEqual(killed.fingerprint(), alone.fingerprint(), difference.stdout)

    def test_a_shard_that_is_frozen_is_replaced_after_its_lease_and_harmless_when_it_wakes(self):
        for policy in ("async", "sync"):
            with self.subTest(policy), self.crew(policy) as crew:
                crew.until_examples(40)
                before = self.until_paired(crew)
                with frozen(crew.processes["ps-0"]):
                    took = self.until_replaced(crew, before)
                    self.until_more(crew)
                print(f"{policy}: a silent shard was replaced after {took:.2f} s", file=sys.stderr)
                self.assertLess(took, SILENT)
                self.until_more(crew)
                self.check_undisturbed(crew, before.timeline)

    def test_a_shard_that_is_killed_while_it_leaves_is_missed_by_nobody(self):
        """As a pod that is deleted by force: it is asked to leave, and ended a moment later."""
        with contextlib.ExitStack() as stack:
            # Both at a time: most of what follows is the wait until a shard that has come has its share.
            crews = [stack.enter_context(self.crew(policy, pace=5 * SLOW)) for policy in ("async", "sync")]
            for crew in crews:
                crew.until_examples(40)
            timelines = [self.until_paired(crew).timeline for crew in crews]
            for round, grace in enumerate((0.02, 0.1, 0.3, 0.6, 1.5)):
                leaver = round % SHARDS
                for crew in crews:
                    crew.processes[f"ps-{leaver}"].terminate()
                    time.sleep(grace)
                    crew.kill(f"ps-{leaver}")
                for crew in crews:
                    self.until_more(crew)
                    crew.add_shard(leaver)
                for crew in crews:
                    self.until_paired(crew)
                self.assertEqual([crew.status().timeline for crew in crews], timelines, f"killed after {grace} s")
            for crew, timeline in zip(crews, timelines):
                self.check_undisturbed(crew, timeline)

    def test_backups_are_in_another_zone_than_owners(self):
        crew = self.crew("async", shards=4)
        zones = {index: "west" if index % 2 else "east" for index in range(4)}
        for index, zone in zones.items():
            crew.environment[f"ps-{index}"] = {"CAPSTAN_ZONE": zone}
        with crew:
            self.until_paired(crew, shards=4)
            view = watch_view(crew.address)
            apart = {zones[view.owners[pair.partition]] != zones[pair.backup] for pair in view.pairs}
            self.assertEqual(apart, {True})
            said = subprocess.run([BINARIES / "capstan", "shards", "--chief", crew.address], check=True,
                                  capture_output=True, text=True).stdout
            self.assertIn("west", said)
            self.check_undisturbed(crew, crew.status().timeline)

    def test_where_both_copies_are_lost_all_return_to_a_checkpoint(self):
        with self.crew("async", overrides=["checkpoint.every=1s"], shards=2) as crew:
            crew.until_examples(40)
            before = self.until_paired(crew, shards=2)
            crew.until_checkpoints(1)
            crew.kill("ps-0")
            crew.kill("ps-1")
            crew.add_shard(0)
            crew.add_shard(1)
            crew.until(lambda: crew.status().timeline > before.timeline, "another timeline", 30)
            self.until_paired(crew, shards=2)
            crew.hurry()
            self.check_exact(crew, epochs=1)

    def test_a_chief_that_is_killed_with_a_shard_is_missed_by_nobody(self):
        with self.crew("sync") as crew:
            crew.until_examples(40)
            before = self.until_paired(crew)
            crew.hang_up()
            crew.kill("chief")
            crew.kill("ps-1")
            crew.add_chief(crew.address)
            crew.until(lambda: crew.status().replicas.promotions > 0, "a promotion by the next chief", 30)
            self.until_more(crew)
            crew.add_shard(1)
            self.until_paired(crew)
            self.check_undisturbed(crew, before.timeline)

    def test_shards_that_are_restarted_one_after_the_other_leave_no_partition_alone(self):
        with self.crew("ssp", pace=3 * SLOW) as crew:
            crew.until_examples(40)
            before = self.until_paired(crew)
            for index in range(SHARDS):
                crew.processes[f"ps-{index}"].send_signal(signal.SIGTERM)
                self.assertEqual(crew.processes[f"ps-{index}"].wait(30), 0)
                crew.add_shard(index)
                self.until_paired(crew)
            self.check_undisturbed(crew, before.timeline)


if __name__ == "__main__":
    unittest.main(verbosity=2)
