"""What a user may do to the pods of a running job on a real cluster: delete, evict, upgrade, take them down. Training
completes, every record counts once, and what a deletion cost is told. Skips, loudly, without a cluster."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from cluster import KUBE, Namespace, Release, merged, require_cluster, run
from cluster_jobs import RECORDS, claim, in_bucket, ledger, ledger_times, record_lines, records, synthetic

EPOCHS = 3  # So that the job is still running at the last blow.
COMPLETED = ("JOB_STATE_COMPLETED", EPOCHS * RECORDS)
# What is saved first costs no training; the chief counts what was reported between the checkpoint's beginning and the
# freeze, which is sent again and found in the ledgers: at most what is trained while a checkpoint is taken.
REPORTED_MEANWHILE = RECORDS // 10


def lost(status):
    return sum(int(loss["examples"]) for loss in status["losses"])


class RecoveryTest(unittest.TestCase):

    def ledger_release(self, namespace, policy, **more):
        namespace.apply(claim("models"), records(record_lines()))
        values = merged(ledger(policy, every="3s"), {"job": {"train": {"epochs": EPOCHS}}, **more})
        release = Release(namespace, "ctr", values)
        release.install()
        release.scale(2)
        release.until_workers(2)
        return release

    def check_ledger(self, release):
        release.wait_job("complete", timeout=420)
        status = release.status()
        self.assertEqual((status["state"], int(status["examples"])), COMPLETED)
        self.assertEqual(ledger_times(release, status["model_uri"]), {EPOCHS: RECORDS})
        return status

    def hit(self, release, what, blow, renewed):
        """Does it in the middle of training; the status when training goes on, and prints what it cost.

        `renewed(status)`: what was hit is back."""
        before = release.until(lambda status: int(status["checkpoint"]["step"]) > 0, "a checkpoint")
        begin = time.monotonic()
        blow()
        release.until(renewed, f"{what}: what was hit comes back")
        status = release.goes_on()
        self.assertEqual(status["state"], "JOB_STATE_RUNNING", "the job was over before it was hit")
        again = lost(status) - lost(before)
        print(f"{what}: trains again after {time.monotonic() - begin:.1f} s, {again} examples sent again", flush=True)
        return status, again

    def test_each_role_is_deleted_while_workers_push_and_every_record_counts_once(self):
        for policy in ({"policy": "async"}, {"policy": "sync", "lanes": 3}):
            with self.subTest(policy=policy["policy"]), Namespace("capstan-e2e-kill") as namespace:
                release = self.ledger_release(namespace, policy)
                for pod, force in (("ctr-ps-0", False), ("ctr-ps-1", True), ("ctr-chief-0", False),
                                   ("ctr-chief-0", True)):
                    old = release.status()
                    def renewed(status):
                        key = "term" if "chief" in pod else "timeline"
                        return int(status[key]) > int(old[key])
                    what = f"{policy['policy']}: {pod} {'killed' if force else 'deleted'}"
                    status, again = self.hit(release, what, lambda: release.delete_pod(pod, force), renewed)
                    if "chief" in pod:
                        self.assertEqual(status["timeline"], old["timeline"], "a chief's end throws nothing away")
                        self.assertEqual(again, 0)
                    elif not force:
                        self.assertLessEqual(again, REPORTED_MEANWHILE, "what has its grace period is saved first")
                victim = release.pods("worker")[0]["metadata"]["name"]
                release.delete_pod(victim, force=True)
                self.check_ledger(release)

    def test_an_evicted_shard_is_saved_first(self):
        with Namespace("capstan-e2e-evict") as namespace:
            release = self.ledger_release(namespace, {"policy": "async"})
            timeline = int(release.status()["timeline"])
            _, again = self.hit(release, "ctr-ps-0 evicted", lambda: release.evict("ctr-ps-0"),
                                lambda status: int(status["timeline"]) > timeline)
            self.assertLessEqual(again, REPORTED_MEANWHILE)
            self.check_ledger(release)

    def test_an_upgrade_to_more_shards_and_to_fewer_goes_on_from_a_checkpoint(self):
        with Namespace("capstan-e2e-shards") as namespace:
            release = self.ledger_release(namespace, {"policy": "async"})
            for count in (4, 1):
                def upgrade():
                    release.values = merged(release.values, {"ps": {"replicas": count}})
                    release.upgrade()
                def there(status):
                    serving = [shard for shard in status["shards"] if shard["state"] == "serving"]
                    rows = [int(shard["report"]["rows"]) for shard in serving]
                    return len(status["shards"]) == len(serving) == count and min(rows) > 0
                _, again = self.hit(release, f"{count} shards", upgrade, there)
                self.assertLessEqual(again, REPORTED_MEANWHILE, "it is saved before its partitions are dealt anew")
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

    def uninstall(self, release):
        """The seconds until the last pod has gone."""
        begin = time.monotonic()
        release.helm("uninstall", "--wait", "--timeout=150s")
        release.namespace.kubectl("wait", "--for=delete", "pod", "--all", "--timeout=120s")
        return time.monotonic() - begin

    def test_a_bucket_keeps_the_job_through_an_outage_and_an_uninstall(self):
        """MinIO of ../shared/kube; the store is away for a while, and everything is taken down and installed again."""
        with Namespace("capstan-e2e-bucket") as namespace:
            bucket = f"ctr-{int(time.time())}"
            run(KUBE, "s3", "up", "--bucket", bucket)
            values = merged(synthetic(400000, train={"batch_size": 64}), in_bucket(bucket, every="3s"))
            release = Release(namespace, "ctr", values)
            namespace.apply(release.values.pop("secret"))
            release.install()
            saved = int(release.until(lambda status: int(status["checkpoint"]["taken"]) > 0, "a checkpoint")
                        ["checkpoint"]["taken"])
            run(KUBE, "s3", "down")
            release.until(lambda status: int(status["checkpoint"]["failures"]) > 0, "a checkpoint that fails")
            self.assertEqual(release.status()["state"], "JOB_STATE_RUNNING", "training does not wait for the store")
            run(KUBE, "s3", "up", "--bucket", bucket)
            before = release.until(lambda status: int(status["checkpoint"]["taken"]) > saved, "the next checkpoint")
            took = self.uninstall(release)
            release.install()
            status = release.goes_on()
            print(f"uninstalled within {took:.1f} s, at {before['examples']} examples or later; goes on at "
                  f"{status['examples']}", flush=True)
            self.assertGreaterEqual(int(status["examples"]), int(before["checkpoint"]["examples"]))
            release.wait_job("complete", timeout=300)
            status = release.status()
            self.assertEqual((status["state"], int(status["examples"])), ("JOB_STATE_COMPLETED", 400000))
            self.assertGreater(status["evaluations"][-1]["metrics"]["auc"], 0.70)
            self.uninstall(release)
            left = run(KUBE, "s3", "curl", f"/{bucket}?list-type=2").stdout
            self.assertIn("ctr/state/chief.json", left)
            self.assertIn("MANIFEST.json", left)


if __name__ == "__main__":
    require_cluster()
    unittest.main(verbosity=2)
