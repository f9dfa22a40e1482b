"""What a user may do to the pods of a running job on a real cluster: delete, evict, upgrade, take them down. Training
completes, every record counts once, and what a deletion cost is told. Skips, loudly, without a cluster."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from cluster import Namespace, Release, merged, require_cluster
from cluster_hit import emptied_and_filled, hit, later, moved, share
from cluster_jobs import RECORDS, claim, ledger, ledger_times, record_lines, records

EVERY = 3  # Seconds between checkpoints.
POLICIES = ({"policy": "async"}, {"policy": "ssp", "staleness": 4}, {"policy": "sync", "lanes": 3})
HEARTBEAT = 0.2  # Seconds; a worker's acknowledged batches are known to the chief this much later.


class RecoveryTest(unittest.TestCase):

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

    def paired(self, shards):
        """Whether so many shards own partitions, and each of these has a backup."""
        def done(status):
            owned = [int(shard.get("partitions", 0)) for shard in status["shards"]]
            return (sum(count > 0 for count in owned) == shards and
                    int(status["replicas"].get("paired", 0)) == sum(owned) and
                    not status["moves"].get("under_way", 0))
        return done

    def check_nothing_lost(self, cost, status, old):
        self.assertEqual(status["timeline"], old["timeline"], "nobody returns to a checkpoint")
        self.assertEqual(cost.again, 0)

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
