"""What watches a job on a real cluster: Prometheus with the scrape configuration that the chart ships, and the HorizontalPodAutoscaler.
Needs the cluster of $CAPSTAN_KUBE, whose Prometheus and metrics API it starts. Skips, loudly, without it."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from cluster import KUBE, Namespace, Release, merged, require_cluster, run, skip
from cluster_external_metrics import ExternalMetrics
from cluster_jobs import steady, synthetic
from cluster_prometheus import ClusterPrometheus

SPEED = 60  # Of time, for the rules: five minutes are five seconds.


def until(condition, what, timeout=120):
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come within {timeout} s")
        time.sleep(1)


class LoadTest(unittest.TestCase):

    @classmethod
    def serve_metrics(cls):
        """Of pods and nodes, until the last of these tests: they take a while to come."""
        run(KUBE, "metrics-server", "up")
        cls.addClassCleanup(run, KUBE, "metrics-server", "down")

    def test_prometheus_sees_every_pod_once_under_the_promised_labels(self):
        with Namespace("capstan-e2e-scrape") as namespace, ClusterPrometheus() as prometheus:
            release = Release(namespace, "ctr", synthetic(2000000))
            release.install("--wait", "--timeout=120s")
            everybody = f'up{{namespace="{namespace.name}"}} == 1'
            until(lambda: len(prometheus.query(everybody)) == 4, "chief, two shards and a worker")
            seen = {(one["job_name"], one["role"], one.get("shard")) for one in prometheus.query(everybody)}
            self.assertEqual(seen, {("ctr", "chief", None), ("ctr", "ps", "ps-0"), ("ctr", "ps", "ps-1"),
                                    ("ctr", "worker", None)})
            self.assertEqual({one["pod"] for one in prometheus.query(everybody) if one["role"] != "worker"},
                             {"ctr-chief-0", "ctr-ps-0", "ctr-ps-1"})
            until(lambda: prometheus.query(f'capstan_worker_steps_total{{namespace="{namespace.name}",role="worker"}} > 0'),
                  "a step of the worker")

    def test_an_alert_tells_of_memory_that_is_nearly_used_up(self):
        with Namespace("capstan-e2e-memory") as namespace:
            with ClusterPrometheus([(namespace.name, "ctr", SPEED)]) as prometheus:
                release = Release(namespace, "ctr", merged(synthetic(50_000_000), {"worker": steady(20)}))
                release.install()
                release.until_examples(20000)
                resident = f'capstan_process_resident_bytes{{namespace="{namespace.name}",role="worker"}}'
                until(lambda: prometheus.values(resident), "what a worker's memory is")
                self.assertNotIn("MemoryNearLimit", prometheus.firing(namespace.name))
                memory = f"{int(max(prometheus.values(resident)) / 0.92) >> 10}Ki"
                release.values = merged(release.values, {"worker": {
                    "resources": {"requests": {"memory": memory}, "limits": {"memory": memory}}}})
                release.upgrade()
                until(lambda: "MemoryNearLimit" in prometheus.firing(namespace.name), f"an alert for a limit of {memory}")

    def test_the_autoscaler_adds_workers_under_load(self):
        self.serve_metrics()
        with Namespace("capstan-e2e-hpa") as namespace:
            release = Release(namespace, "ctr", {
                **synthetic(4000000), "worker": {"autoscaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 2}}})
            release.install()
            # A worker asks for 10m of a CPU, and takes what it gets.
            until(lambda: namespace.get("deployment", "ctr-worker")["spec"]["replicas"] == 2, "a second worker", 180)
            release.until_workers(2)

    def test_the_autoscaler_adds_shards_under_load_and_takes_one_away_when_nobody_trains(self):
        """Their partitions move meanwhile, and nobody returns to a checkpoint."""
        self.serve_metrics()
        at_once = {"stabilizationWindowSeconds": 0}  # For a test: the chart's own behaviour waits for ten minutes.
        with Namespace("capstan-e2e-hpa-ps") as namespace:
            release = Release(namespace, "ctr", {
                **synthetic(50_000_000), "ps": {
                    "resources": {"requests": {"cpu": "100m"}},  # One that trains takes several times as much, one at rest a tenth.
                    "autoscaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 2, "targetMemoryUtilizationPercentage": None,
                                    "behavior": {"scaleUp": at_once, "scaleDown": at_once}}}})
            release.install()
            release.goes_on()
            def owners(count):
                def there(status):
                    return sum(int(shard.get("partitions", 0)) > 0 for shard in status["shards"]) == count
                return there
            old = release.until(owners(2), "partitions on a second shard", 240)
            release.scale(0)
            status = release.until(owners(1), "all partitions on one shard", 240)
            self.assertEqual(status["timeline"], old["timeline"])
            self.assertEqual(status["losses"], [])
            until(lambda: len(release.pods("ps")) == 1, "one pod")

    def test_the_autoscaler_follows_what_the_chief_recommends(self):
        """As many workers as there are lanes, though more may come; the fewest after the end."""
        lanes = {"policy": "sync", "lanes": 3}
        with (Namespace("capstan-e2e-recommended") as namespace, ClusterPrometheus(), ExternalMetrics(namespace)):
            release = Release(namespace, "ctr", {
                **synthetic(750_000, update={"sparse": lanes, "dense": lanes}),  # Five minutes at the pace of three workers.
                "worker": {**steady(160), "autoscaling": {
                    "enabled": True, "minReplicas": 1, "maxReplicas": 5, "recommendedWorkers": True,
                    "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}}})
            release.install()
            release.until_workers(3, 180)
            time.sleep(20)  # A round of the autoscaler, in which it could overshoot.
            autoscaler = namespace.get("hpa", "ctr-worker")["status"]
            self.assertEqual((autoscaler["currentReplicas"], autoscaler["desiredReplicas"]), (3, 3))
            release.hurry()
            until(lambda: namespace.get("deployment", "ctr-worker")["spec"]["replicas"] == 1, "one worker after the end", 300)


if __name__ == "__main__":
    require_cluster()
    if not KUBE:
        skip("no $CAPSTAN_KUBE to start Prometheus and the metrics API with")
    unittest.main(verbosity=2)
