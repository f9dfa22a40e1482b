"""A release whose checkpoints are in a bucket, on a real cluster: the store is away for a while, everything is taken down and installed
again, and the keys of a worker's pod write nothing. Skips, loudly, without a cluster, and without $CAPSTAN_KUBE, which starts
the store."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
import cluster_store
from cluster import KUBE, Namespace, Release, merged, require_cluster, run, store_up
from cluster_jobs import RECORDS, claim, in_bucket, ledger, ledger_times, record_lines, records, steady, synthetic

EPOCHS = 3  # Four minutes at the pace of two workers.


@unittest.skipUnless(KUBE, "no $CAPSTAN_KUBE to start an object store in the cluster with")
class StoreTest(unittest.TestCase):

    def uninstall(self, release):
        """The seconds until the last pod has gone."""
        begin = time.monotonic()
        release.helm("uninstall", "--wait", "--timeout=150s")
        release.namespace.kubectl("wait", "--for=delete", "pod", "--all", "--timeout=120s")
        return time.monotonic() - begin

    def test_a_bucket_keeps_the_job_through_an_outage_and_an_uninstall(self):
        """MinIO of $CAPSTAN_KUBE; the store is away for a while, and everything is taken down and installed again."""
        with Namespace("capstan-e2e-bucket") as namespace:
            bucket = f"ctr-{int(time.time())}"
            store_up(bucket)
            values = merged(synthetic(400000, train={"batch_size": 64}), in_bucket(bucket, every="3s"),
                            {"worker": steady(20)})
            release = Release(namespace, "ctr", values)
            namespace.apply(*release.values.pop("secrets"))
            release.install()
            saved = int(release.until(lambda status: int(status["checkpoint"]["taken"]) > 0, "a checkpoint")
                        ["checkpoint"]["taken"])
            run(KUBE, "s3", "down")
            release.until(lambda status: int(status["checkpoint"]["failures"]) > 0, "a checkpoint that fails")
            self.assertEqual(release.status()["state"], "JOB_STATE_RUNNING", "training does not wait for the store")
            store_up(bucket)
            before = release.until(lambda status: int(status["checkpoint"]["taken"]) > saved, "the next checkpoint")
            took = self.uninstall(release)
            release.install()
            status = release.goes_on()
            print(f"uninstalled within {took:.1f} s, at {before['examples']} examples or later; goes on at "
                  f"{status['examples']}", flush=True)
            self.assertGreaterEqual(int(status["examples"]), int(before["checkpoint"]["examples"]))
            self.assertEqual(status["state"], "JOB_STATE_RUNNING", "the job was over before it was taken down")
            release.hurry()
            release.wait_job("complete", timeout=300)
            status = release.status()
            self.assertEqual((status["state"], int(status["examples"])), ("JOB_STATE_COMPLETED", 400000))
            self.assertGreater(status["evaluations"][-1]["metrics"]["auc"], 0.70)
            self.uninstall(release)
            for folder, file in (("state", "chief.json"), ("checkpoints", "MANIFEST.json")):
                # A page of at most 1000.
                left = run(KUBE, "s3", "curl", f"/{bucket}?list-type=2&prefix=models%2Fctr%2F{folder}%2F").stdout
                self.assertIn(file, left)

    def check_refused(self, keys, method, path):
        status, said = cluster_store.ask(method, path, keys, *(["--data-binary", "forged"] if method == "PUT" else []))
        self.assertEqual(status, 403, f"{method} {path}: {said}")
        self.assertIn("<Code>AccessDenied</Code>", said, f"{method} {path}")

    def test_with_the_keys_of_a_workers_pod_the_data_are_read_and_nothing_is_written(self):
        """The workers read the job's data with them, while the chief and the shards save it with theirs."""
        with Namespace("capstan-e2e-keys") as namespace:
            bucket = f"keys-{int(time.time())}"
            data, folder = f"{bucket}/train/records.csv", f"/{bucket}/models/ctr"
            store_up(bucket)
            cluster_store.put(f"/{data}", record_lines())
            values = merged(ledger({"policy": "async"}), in_bucket(bucket, every="3s"),
                            {"job": {"data": {"train": f"s3://{data}"}, "train": {"epochs": EPOCHS}}})
            namespace.apply(claim("models"), records(record_lines()), *values.pop("secrets"))
            release = Release(namespace, "ctr", values)
            release.install()
            release.scale(2)
            saved = release.until(lambda status: int(status["checkpoint"]["taken"]) > 0, "a checkpoint")["checkpoint"]
            keys = cluster_store.keys_of(namespace, release.pods("worker")[0])
            for pod in (*release.pods("chief"), *release.pods("ps")):
                self.assertNotEqual(cluster_store.keys_of(namespace, pod), keys, pod["metadata"]["name"])
            self.assertEqual(cluster_store.ask("GET", f"/{data}", keys), (200, record_lines()))
            checkpoint = f"{folder}/checkpoints/{saved['uri'].rpartition('/')[2]}"
            for path in (f"{checkpoint}/mine", f"{checkpoint}/MANIFEST.json", f"{folder}/state/chief.json", f"/{data}"):
                self.check_refused(keys, "PUT", path)
                self.check_refused(keys, "DELETE", path)
            self.check_refused(keys, "GET", f"{folder}/state/chief.json")
            after = release.until(lambda status: int(status["checkpoint"]["taken"]) > int(saved["taken"]), "the next checkpoint")
            self.assertEqual(int(after["checkpoint"]["failures"]), 0)
            release.hurry()
            release.wait_job("complete", timeout=420)
            status = release.status()
            self.assertEqual((status["state"], int(status["examples"])), ("JOB_STATE_COMPLETED", EPOCHS * RECORDS))
            self.assertEqual(ledger_times(release, status["model_uri"], f"s3://{data}"), {EPOCHS: RECORDS})


if __name__ == "__main__":
    require_cluster()
    unittest.main(verbosity=2)
