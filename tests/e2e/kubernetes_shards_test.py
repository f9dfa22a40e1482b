"""Shards of a running job on a real cluster that come and go, are restarted and evicted, or die and have backups: nobody misses them,
and every record counts once. Skips, loudly, without a cluster."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from cluster import merged, require_cluster
from cluster_hit import moved, share
from recovery_case import POLICIES, RecoveryCase


class ShardsTest(RecoveryCase):

    def paired(self, shards):
        """Whether so many shards own partitions, and each of these has a backup."""
        def done(status):
            owned = [int(shard.get("partitions", 0)) for shard in status["shards"]]
            return (sum(count > 0 for count in owned) == shards and
                    int(status["replicas"].get("paired", 0)) == sum(owned) and
                    not status["moves"].get("under_way", 0))
        return done

    def test_with_replicas_shards_that_are_deleted_by_force_are_missed_by_nobody(self):
        """They have two seconds. What they have not handed over by then their backups take over. Shard 0 coordinates the
        rounds of the synchronous job, too."""
        for policy in ({"policy": "async"}, {"policy": "sync", "lanes": 3}):
            with self.subTest(policy=policy["policy"]), self.namespace("backups", policy) as namespace:
                release = self.ledger_release(namespace, policy, job={"replicas": 1}, ps={"replicas": 3})
                for pod in ("ctr-ps-1", "ctr-ps-0"):
                    old = release.until(self.paired(3), "a backup of each partition")
                    def replaced(status):  # It is back, and has its share again.
                        return moved(status) > moved(old) and self.paired(3)(status)
                    status, cost = self.hit(release, f"{policy['policy']}: {pod} killed, with replicas",
                                            lambda: release.delete_pod(pod, force=True), replaced)
                    self.check_nothing_lost(cost, status, old)
                self.check_ledger(release)

    def test_shards_that_come_and_go_are_missed_by_nobody(self):
        """2 -> 4 -> 1 -> 3 shards in the middle of training, all restarted, and one evicted, in each policy."""
        for policy in POLICIES:
            with self.subTest(policy=policy["policy"]), self.namespace("shards", policy) as namespace:
                release = self.ledger_release(namespace, policy)
                def upgrade(count):
                    release.values = merged(release.values, {"ps": {"replicas": count}})
                    release.upgrade()
                def scale(count):
                    namespace.kubectl("scale", "statefulset/ctr-ps", f"--replicas={count}")
                # An upgrade of the chart is the same as kubectl scale.
                changes = [(f"{count} shards", lambda count=count: change(count), share(count))
                           for count, change in ((4, upgrade if policy["policy"] == "async" else scale), (1, scale), (3, scale))]
                for what, blow, renewed in changes:
                    self.check_missed_by_nobody(release, f"{policy['policy']}: {what}", blow, renewed)
                self.check_missed_by_nobody(release, f"{policy['policy']}: all shards restarted", lambda: self.restart_shards(namespace), share(3))
                self.check_missed_by_nobody(release, f"{policy['policy']}: ctr-ps-0 evicted", lambda: release.evict("ctr-ps-0"),
                                            self.replaced(release, "ctr-ps-0", share(3)))
                self.check_ledger(release)

    def replaced(self, release, pod, renewed):
        """As hit's `renewed`: there is another pod of that name, too."""
        def uid():
            return [one["metadata"]["uid"] for one in release.pods("ps") if one["metadata"]["name"] == pod]
        before = uid()
        return lambda status: uid() not in ([], before) and renewed(status)

    def restart_shards(self, namespace):
        """As an upgrade of their image does: one after the other, each when the one before is ready."""
        namespace.kubectl("rollout", "restart", "statefulset/ctr-ps")
        namespace.kubectl("rollout", "status", "statefulset/ctr-ps", "--timeout=180s")

    def check_missed_by_nobody(self, release, what, blow, renewed):
        old = release.status()
        status, cost = self.hit(release, what, blow, renewed)
        self.check_nothing_lost(cost, status, old)
        self.assertEqual(status["term"], old["term"], "the chief was restarted without need")


if __name__ == "__main__":
    require_cluster()
    unittest.main(verbosity=2)
