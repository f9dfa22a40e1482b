"""A job on a real cluster whose pods are hit while it trains: what its tests share."""

import unittest

from cluster import Namespace, Release, merged
from cluster_hit import hit
from cluster_jobs import RECORDS, claim, ledger, ledger_times, record_lines, records

EVERY = 3  # Seconds between checkpoints.
POLICIES = ({"policy": "async"}, {"policy": "ssp", "staleness": 4}, {"policy": "sync", "lanes": 3})
HEARTBEAT = 0.2  # Seconds; a worker's acknowledged batches are known to the chief this much later.


class RecoveryCase(unittest.TestCase):

    epochs = 3  # Four minutes at the pace of two workers.

    def namespace(self, what, policy):
        """One for each policy: nobody waits until the pods of the one before have gone."""
        return Namespace(f"capstan-e2e-{what}-{policy['policy']}")

    def ledger_release(self, namespace, policy, **more):
        namespace.apply(claim("models"), records(record_lines()))
        values = merged(ledger(policy, every=f"{EVERY}s"), {"job": {"train": {"epochs": self.epochs}}}, more)
        release = Release(namespace, "ctr", values)
        release.install()
        release.scale(2)
        release.until_workers(2)
        release.goes_on()  # A job that has not begun has no timeline yet.
        return release

    def check_ledger(self, release):
        release.hurry()
        release.wait_job("complete", timeout=420)
        status = release.status()
        self.assertEqual((status["state"], int(status["examples"])), ("JOB_STATE_COMPLETED", self.epochs * RECORDS))
        self.assertEqual(ledger_times(release, status["model_uri"]), {self.epochs: RECORDS})
        return status

    def hit(self, release, what, blow, renewed):
        """As cluster_hit.hit, which it prints."""
        status, cost = hit(release, what, blow, renewed)
        print(f"{what}: {cost}", flush=True)
        return status, cost

    def check_nothing_lost(self, cost, status, old):
        self.assertEqual(status["timeline"], old["timeline"], "nobody returns to a checkpoint")
        self.assertEqual(cost.again, 0)
