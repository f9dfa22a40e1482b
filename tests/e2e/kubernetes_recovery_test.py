"""What a user may do to the pods of a running job on a real cluster: delete them, in order and by force, and start the job over.
Training completes, every record counts once, and what a deletion cost is told. Skips, loudly, without a cluster."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from cluster import Namespace, merged, require_cluster
from cluster_hit import emptied_and_filled, later
from cluster_jobs import RECORDS
from recovery_case import EVERY, HEARTBEAT, POLICIES, RecoveryCase


class RecoveryTest(RecoveryCase):

    def check_since_checkpoint(self, cost):
        """A pod that is killed costs what was trained since the last checkpoint was begun: at most an interval ago,
        and the time that one takes."""
        self.assertLessEqual(cost.again, cost.trained_in(EVERY + 2 * cost.took + HEARTBEAT))

    def test_each_role_is_deleted_while_workers_push_and_every_record_counts_once(self):
        for policy in POLICIES:
            with self.subTest(policy=policy["policy"]), self.namespace("kill", policy) as namespace:
                release = self.ledger_release(namespace, policy)
                for pod, force in (("ctr-ps-0", False), ("ctr-ps-1", True), ("ctr-chief-0", False),
                                   ("ctr-chief-0", True)):
                    old = release.status()
                    renewed = emptied_and_filled(old)
                    if "chief" in pod or force:
                        renewed = later(old, "term" if "chief" in pod else "timeline")
                    what = f"{policy['policy']}: {pod} {'killed' if force else 'deleted'}"
                    status, cost = self.hit(release, what, lambda: release.delete_pod(pod, force), renewed)
                    if "ps" in pod and force:
                        self.check_since_checkpoint(cost)
                    else:  # A chief's end throws nothing away, either.
                        self.check_nothing_lost(cost, status, old)
                victim = release.pods("worker")[0]["metadata"]["name"]
                release.delete_pod(victim, force=True)
                self.check_ledger(release)

    def test_a_job_starts_over_once_and_not_at_each_restart_of_its_chief(self):
        with Namespace("capstan-e2e-fresh") as namespace:
            release = self.ledger_release(namespace, {"policy": "async"}, chief={"freshStart": "first"})
            half = int(release.until_examples(RECORDS // 4)["examples"])
            term = int(release.status()["term"])
            release.delete_pod("ctr-chief-0", force=True)
            release.until(lambda status: int(status["term"]) > term, "the next chief")
            self.assertGreaterEqual(int(release.goes_on()["examples"]), half)
            release.values = merged(release.values, {"chief": {"freshStart": "second"}})
            release.upgrade()
            release.until(lambda status: int(status["term"]) > term + 1, "the chief that starts over")
            self.assertLess(int(release.goes_on()["examples"]), half)
            self.check_ledger(release)


if __name__ == "__main__":
    require_cluster()
    unittest.main(verbosity=2)
